// This table says which instructions need threads together.
#include "interpreter/vm/prepared.h"

namespace tandem::interpreter {
namespace {

Meets meetsOfGroup(int64_t group) {
  return Group(group) == Group::Block ? Meets::Block : Group(group) == Group::Warp ? Meets::Warp : Meets::None;
}

}  // namespace

Meets meetsOf(const Prepared& i) {
  switch (i.op) {
    case Op::ThreadBarrier:
    case Op::GridBarrier:
    case Op::Wait:
    case Op::SmemRead: return Meets::Block;
    // A thing that a whole program does once is done by the threads that come last.
    case Op::Return:
    case Op::Load:
    case Op::Store:
    case Op::BlockLoad:
    case Op::BlockStore:
    case Op::Notify:
    case Op::Print:
    case Op::Collect: return Meets::Top;
    case Op::SmemAlloc: return i.a == kNone ? Meets::None : Meets::Top;
    case Op::AtomicRmw:
    case Op::AtomicCas: return i.immediateCount > 2 && i.as<imm::AtomicRmw>().perThread ? Meets::None : Meets::Top;
    case Op::WarpBarrier:
    case Op::TensormapPublish:
    case Op::NamedBarrier: return Meets::Warp;
    case Op::Ballot: return i.a == kNone ? Meets::None : Meets::NamedThreads;
    case Op::Shuffle: return Meets::NamedThreads;
    case Op::Put: return meetsOfGroup(i.as<imm::Put>().group);
    case Op::Get: return meetsOfGroup(i.as<imm::Get>().group);
    case Op::Barrier: return meetsOfGroup(i.as<imm::Barrier>().group);
    case Op::PutSignal: return meetsOfGroup(i.as<imm::PutSignal>().group);
    case Op::Broadcastmem: return meetsOfGroup(i.as<imm::Broadcastmem>().group);
    case Op::Fcollect: return meetsOfGroup(i.as<imm::Fcollect>().group);
    default: return Meets::None;
  }
}

}  // namespace tandem::interpreter
