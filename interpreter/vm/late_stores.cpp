#include "interpreter/vm/late_stores.h"
#include "interpreter/memory/access.h"
#include "interpreter/memory/observer.h"
#include "interpreter/vm/registers.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

constexpr uint32_t kMostLate = 4;      // stores of a program
constexpr uint32_t kMostPassing = 16;  // looks that go before them

// A strong store or look of one thread, or an update whose old value nobody uses.
bool isStrong(const Prepared& i) {
  if (i.op == Op::AtomicRmw)
    return i.immediateCount > 2 && i.as<imm::AtomicRmw>().perThread && !i.resultUsed && i.c == kNone;
  return i.immediateCount <= 2 || !i.as<imm::St>().weak;
}

// The address of the only active thread.
Address addressOf(Machine& m, Run& run, const Prepared& i) {
  return heapAddress(m, run.rank, rawInteger(m, run, i.a, isLanes(run, i.a) ? run.firstActiveLane() : 0));
}

bool isAlone(const Run& run, const Prepared& i, const RegisterInfo& value) {
  return run.activeLanes() == 1 && run.info(i.a).extent != Extent::Tile && value.vectorLength == 1 && isStrong(i);
}

}  // namespace

bool mayBeLate(Machine& m, Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  if ((i.op != Op::St && i.op != Op::AtomicRmw) || !isAlone(run, i, run.info(i.b))) return false;
  if (run.late.size() == kMostLate || Scope(i.as<imm::St>().scope) == Scope::Cta) return false;
  uint32_t bytes = run.info(i.b).elemBytes;
  Address address = addressOf(m, run, i);
  const Allocation* a = m.arena.find(address);
  return a && !a->freed && !a->shared && address + bytes <= a->end && address % bytes == 0;  // else told at the store
}

void takeLate(Machine& m, Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  uint32_t bytes = run.info(i.b).elemBytes, lane = run.firstActiveLane();
  // A store of all threads that there are is the tile code's, as in the store's own handler.
  bool isOfTile = i.op == Op::St && run.mask.all && !isLanes(run, i.a) && !isLanes(run, i.b);
  Run::LateStore store{&i, isOfTile ? kTileCode : lane, bytes, addressOf(m, run, i)};
  memcpy(store.value.data(), data(m, run, i.b) + (isLanes(run, i.b) ? lane * bytes : 0), bytes);
  run.late.push_back(store);
  for (uint32_t k = 0; k < i.releaseCount && run.parked.empty(); ++k) setBuffer(m, run, i.releases[k], nullptr);
  ++run.pc;
  ++m.counters.instructions;
}

bool isPassed(const Prepared& i) {
  switch (i.op) {
    case Op::Constant:
    case Op::Copy:
    case Op::MaskedCopy:
    case Op::Splat:
    case Op::Unary:
    case Op::Binary:
    case Op::Compare:
    case Op::Select:
    case Op::Convert:
    case Op::AddPtr:
    case Op::Rank:
    case Op::NumRanks:
    case Op::SymmAt:
    case Op::Tid:
    case Op::Jump:
    case Op::Branch:
    case Op::ForTest:
    case Op::LoopBack:
    case Op::IfBegin:
    case Op::IfElse:
    case Op::IfEnd:
    case Op::LoopBegin:
    case Op::LoopTest:
    case Op::LoopEnd: return true;
    case Op::ThreadFence: return Semantic(i.as<imm::ThreadFence>().semantic) != Semantic::SeqCst;
    default: return false;
  }
}

bool mayPass(Machine& m, Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  if (i.op != Op::Ld) return isPassed(i);
  if (!isAlone(run, i, run.info(i.r)) || run.passing.looks == kMostPassing) return false;
  Address address = addressOf(m, run, i);
  uint64_t bytes = run.info(i.r).elemBytes;
  auto isThere = [&](const Run::LateStore& s) { return address < s.address + s.bytes && s.address < address + bytes; };
  return std::none_of(run.late.begin(), run.late.end(), isThere);
}

void notePassing(Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  if (!run.late.empty() && i.op == Op::Ld)
    run.passing = {run.passing.looks + 1, run.late.front().at->location, i.location};
}

bool storeFirst(Machine& m, Run& run) {
  const Run::LateStore store = run.late.front();
  run.late.erase(run.late.begin());
  if (run.late.empty()) run.passing.looks = 0;
  Accessor who(m, run, *store.at);
  who.type = run.info(store.at->b).elem;
  who.semantic = Semantic(store.at->as<imm::St>().semantic);
  who.scope = Scope(store.at->as<imm::St>().scope);
  who.synchronises = true;
  who.lane = store.lane;
  if (store.at->op == Op::AtomicRmw) {
    std::array<uint8_t, 8> old{};
    return updateMemory(who, RmwOp(store.at->sub), *who.type, store.address, store.value.data(), old.data());
  }
  if (!writeMemory(who, store.address, store.value.data(), store.bytes, store.bytes)) return false;
  recordWriter(who, store.address, store.bytes);
  return true;
}

bool storeLate(Machine& m, Run& run) {
  while (!run.late.empty())
    if (!storeFirst(m, run)) return false;
  return !m.failed;
}

}  // namespace tandem::interpreter
