// cp.async: copies of 4 to 16 bytes from global to shared memory by each thread.
#include "emulator/instructions/copies.h"

namespace tandem::emulator {
namespace {

struct ThreadCopyDetail {
  Address to, from;
  uint32_t bytes = 0;
  enum class Source : uint8_t { All, Bytes, Unless } source = Source::All;
  Slot amount = 0;  // how many bytes are read; of Unless a predicate that leaves all out. The rest is zero.
};

Outcome copyByThreads(Warp& warp, const Instruction& in, Mask active) {
  const auto& d = *static_cast<const ThreadCopyDetail*>(in.detail);
  eachLane(active, [&](unsigned lane) {
    uint32_t count = d.bytes;
    if (d.source == ThreadCopyDetail::Source::Bytes) count = warp.get<uint32_t>(d.amount, lane);
    if (d.source == ThreadCopyDetail::Source::Unless && (warp.predicate(d.amount) >> lane & 1)) count = 0;
    if (count > d.bytes) throw Fault(Fault::IllegalInstruction, "cp.async reads more bytes than it writes", int(lane));
    std::byte* to = d.to.reach(warp, d.bytes, d.bytes, lane);
    if (Order* order = warp.order()) order->writeByCopy(warp, in, lane, to, d.bytes);
    std::memset(to, 0, d.bytes);
    if (count) std::memcpy(to, d.from.reach(warp, count, d.bytes, lane), count);
  });
  return Outcome::Next;
}

enum : uint16_t { kCommitCopies, kWaitForCopies, kWaitForAllCopies };  // Instruction::form

Outcome groupCopies(Warp& warp, const Instruction& in, Mask) {
  if (Order* order = warp.order()) {
    if (in.form == kCommitCopies) order->commitCopies(warp);
    if (in.form == kWaitForCopies) order->waitForCopies(warp, uint32_t(in.immediate));
    if (in.form == kWaitForAllCopies) order->waitForAllCopies(warp);
  }
  return Outcome::Next;
}

// All copies of the thread are complete: without .noinc the phase waits for this arrival in addition, which has come.
Outcome arriveForCopies(Warp& warp, const Instruction& in, Mask active) {
  const auto& d = *static_cast<const Address*>(in.detail);
  if (in.form)
    eachLaneOfUnit(active, [&](unsigned lane) {
      changeBarrier(warp, d.space, d.of(warp, lane), lane, [&](Mbarrier& barrier, const std::byte* at) {
        if (Order* order = warp.order()) order->arrive(warp, lane, at, true);
        barrier.arrive(1);
      });
    });
  return Outcome::Next;
}

}  // namespace

void decodeThreadCopy(Decoder& d) {
  bool isCommit = d.take("commit_group"), isWait = d.take("wait_group");
  if (isCommit || isWait || d.take("wait_all")) {
    d.out.handler = groupCopies;
    d.out.form = isCommit ? kCommitCopies : isWait ? kWaitForCopies : kWaitForAllCopies;
    if (isWait) d.out.immediate = constantOf(d, 0);
    return;
  }
  d.ignore({"ca", "cg", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B", "b64"});
  if (d.take("mbarrier")) {
    if (!d.take("arrive")) d.fail("it is not emulated");
    d.out.form = d.take("noinc");
    d.out.handler = arriveForCopies;
    d.out.detail = d.keepDetail(Address{d.address(0), d.takeSpace()});
    return;
  }
  ThreadCopyDetail detail;
  auto [to, from] = takeSpaces(d);
  detail.to = {d.address(0), to};
  detail.from = {d.address(1), from};
  detail.bytes = uint32_t(constantOf(d, 2));
  if (d.count() > 3) {
    bool isPredicate = d.registerBits(3) == 1;
    detail.source = isPredicate ? ThreadCopyDetail::Source::Unless : ThreadCopyDetail::Source::Bytes;
    detail.amount = isPredicate ? d.readPredicate(d.operand(3)) : d.read(3, Type::B32);
  }
  d.out.handler = copyByThreads;
  d.out.detail = d.keepDetail(detail);
}

}  // namespace tandem::emulator
