// cp.async.bulk and cp.reduce.async.bulk: bytes that lie side by side, and what tensors' copies have in common with them.
#include "emulator/instructions/copies.h"
#include "emulator/instructions/families.h"

namespace tandem::emulator {
namespace {

struct BulkCopyDetail : BulkCopy {
  Address to, from;
  Slot bytes = 0;
  Type type{};  // of a reduction
};

constexpr size_t kBulkAlignment = 16;

Outcome copyInBulk(Warp& warp, const Instruction& in, Mask active) {
  const auto& d = *static_cast<const BulkCopyDetail*>(in.detail);
  eachLaneOfUnit(active, [&](unsigned lane) {
    auto bytes = warp.get<uint32_t>(d.bytes, lane);
    if (bytes % kBulkAlignment)
      throw Fault(Fault::MisalignedAddress, "a copy in bulk of " + std::to_string(bytes) + " bytes", int(lane));
    if (bytes == 0) return;
    const std::byte* from = d.from.reach(warp, bytes, kBulkAlignment, lane);
    eachDestination(warp, d, d.to.of(warp, lane), lane, [&](uint64_t address, uint64_t barrier) {
      std::byte* to = warp.reach(d.to.space, address, bytes, kBulkAlignment, lane);
      observe(warp, in, d, lane, from, bytes, barrier, Access::Read);
      observe(warp, in, d, lane, to, bytes, barrier, Access::Write);
      if (!d.reduction)
        std::memmove(to, from, bytes);
      else if (!reduceInto(*d.reduction, d.type, to, from, bytes))
        throw Fault(Fault::IllegalInstruction, "there is no such reduction of the type", int(lane));
      completeBytes(warp, d, bytes, barrier, lane);
    });
  });
  return Outcome::Next;
}

enum : uint16_t { kPrefetch, kCommitStores, kWaitForStores };  // Instruction::form

Outcome groupStores(Warp& warp, const Instruction& in, Mask) {
  if (Order* order = warp.order()) {
    if (in.form == kCommitStores) order->commitStores(warp);
    if (in.form == kWaitForStores) order->waitForStores(warp, uint32_t(in.immediate));
  }
  return Outcome::Next;
}

void decodeCopy(Decoder& d) {
  bool reduces = d.take("reduce");
  if (!d.take("async")) d.fail("it is not emulated");
  if (!d.take("bulk")) return decodeThreadCopy(d);
  bool isCommit = d.take("commit_group"), isWait = d.take("wait_group");
  if (isCommit || isWait || d.take("prefetch")) {
    d.ignore({"read", "tensor", "1d", "2d", "3d", "4d", "5d", "L2", "global", "tile", "L2::cache_hint"});
    d.out.handler = groupStores;
    d.out.form = isCommit ? kCommitStores : isWait ? kWaitForStores : kPrefetch;
    if (isWait) d.out.immediate = constantOf(d, 0);
    return;
  }
  return d.take("tensor") ? decodeTensorCopy(d, reduces) : decodeBulkCopy(d, reduces);
}

}  // namespace

void takeCompletion(Decoder& d, BulkCopy& copy, bool reduces) {
  d.ignore({"bulk_group", "L2::cache_hint"});
  copy.hasBarrier = d.take("mbarrier::complete_tx::bytes");
  copy.isMulticast = d.take("multicast::cluster");
  if (!reduces) return;
  for (const std::string& word : d.statement.modifiers)
    if (auto named = reductionNamed(word); named && d.take(word)) copy.reduction = named;
  if (!copy.reduction) d.fail("it names no reduction");
}

void observe(Warp& warp, const Instruction& in, const BulkCopy& copy, unsigned lane, const std::byte* host,
             uint32_t bytes, uint64_t barrier, Access access) {
  Order* order = warp.order();
  if (!order) return;
  if (copy.hasBarrier)
    order->accessByBulk(warp, in, lane, host, bytes, warp.reach(copy.barrier.space, barrier, 8, 8, lane), access);
  else if (access == Access::Read)
    order->readByStore(warp, in, lane, host, bytes);
}

void completeBytes(Warp& warp, const BulkCopy& copy, uint64_t bytes, uint64_t barrier, unsigned lane) {
  if (!copy.hasBarrier) return;
  changeBarrier(warp, copy.barrier.space, barrier, lane,
                [&](Mbarrier& state, const std::byte*) { state.complete(int64_t(bytes)); });
}

void decodeBulkCopy(Decoder& d, bool reduces) {
  BulkCopyDetail detail;
  takeCompletion(d, detail, reduces);
  auto [to, from] = takeSpaces(d);
  detail.to = {d.address(0), to};
  detail.from = {d.address(1), from};
  detail.bytes = d.read(2, Type::B32);
  d.ignore({"noftz"});
  if (reduces) detail.type = d.takeType();
  size_t next = 3;
  // The barrier is that of the destination's block.
  if (detail.hasBarrier) detail.barrier = {d.address(next++), Space::SharedCluster};
  if (detail.isMulticast) detail.blocks = d.read(next, Type::B16);
  d.out.handler = copyInBulk;
  d.out.detail = d.keepDetail(detail);
}

std::span<const Family> copyFamilies() {
  static constexpr Family kFamilies[] = {{"cp", decodeCopy}};
  return kFamilies;
}

}  // namespace tandem::emulator
