// mbarrier.*: arrivals, bytes that copies bring, and waits.
#include "emulator/instructions/families.h"
#include "emulator/instructions/unit_operands.h"

namespace tandem::emulator {
namespace {

struct BarrierDetail {
  Address address;
  Slot state = 0;  // written by arrivals, read by waits; of waits the parity
  Slot count = 0;  // arrivals or bytes
  bool hasState = false, isParity = false, expects = false, isDrop = false;
  int64_t sign = 1;  // of the bytes
};

// The mbarrier of each lane in turn; f may change it.
template <class F> void eachBarrier(Warp& warp, const Instruction& in, Mask active, F&& f) {
  const auto& d = *static_cast<const BarrierDetail*>(in.detail);
  eachLaneOfUnit(active, [&](unsigned lane) {
    changeBarrier(warp, d.address.space, d.address.of(warp, lane), lane,
                  [&](Mbarrier& barrier, const std::byte* at) { f(d, barrier, at, lane); });
  });
}

Outcome initBarrier(Warp& warp, const Instruction& in, Mask active) {
  eachBarrier(warp, in, active, [&](const BarrierDetail& d, Mbarrier& barrier, const std::byte* at, unsigned lane) {
    barrier = Mbarrier::make(warp.get<uint32_t>(d.count, lane));
    if (Order* order = warp.order()) order->initBarrier(warp, in, at);
  });
  return Outcome::Next;
}

Outcome invalidateBarrier(Warp& warp, const Instruction& in, Mask active) {
  eachBarrier(warp, in, active,
              [](const BarrierDetail&, Mbarrier& barrier, const std::byte*, unsigned) { barrier = Mbarrier(0); });
  return Outcome::Next;
}

Outcome arriveAtBarrier(Warp& warp, const Instruction& in, Mask active) {
  eachBarrier(warp, in, active, [&](const BarrierDetail& d, Mbarrier& barrier, const std::byte* at, unsigned lane) {
    if (Order* order = warp.order()) order->arrive(warp, lane, at, false);
    int64_t count = d.expects ? 1 : warp.get<uint32_t>(d.count, lane);
    if (d.expects) barrier.expect(warp.get<uint32_t>(d.count, lane));
    uint64_t state = d.isDrop ? barrier.drop(count) : barrier.arrive(count);
    if (d.hasState) warp.set(d.state, lane, state);
  });
  return Outcome::Next;
}

Outcome changeBytes(Warp& warp, const Instruction& in, Mask active) {
  eachBarrier(warp, in, active, [&](const BarrierDetail& d, Mbarrier& barrier, const std::byte* at, unsigned lane) {
    barrier.expect(d.sign * warp.get<uint32_t>(d.count, lane));
  });
  return Outcome::Next;
}

Mask completedPhases(Warp& warp, const Instruction& in, Mask active) {
  Mask values = 0;
  eachBarrier(warp, in, active, [&](const BarrierDetail& d, Mbarrier& barrier, const std::byte* at, unsigned lane) {
    bool is = d.isParity ? barrier.isComplete(warp.get<uint32_t>(d.state, lane))
                         : barrier.isComplete(Mbarrier(warp.get<uint64_t>(d.state, lane)));
    if (Order* order = warp.order(); order && is) order->passBarrier(warp, lane, at, barrier.phase() ^ 1);
    values |= Mask(is) << lane;
  });
  return values;
}

Outcome testBarrier(Warp& warp, const Instruction& in, Mask active) {
  warp.setPredicate(in.slots[0], active, completedPhases(warp, in, active));
  return Outcome::Next;
}

// A thread sleeps for as long as it takes, so that a launch in which all threads do is seen to be stuck.
Outcome waitAtBarrier(Warp& warp, const Instruction& in, Mask active) {
  Mask complete = completedPhases(warp, in, active);
  if (!complete) return Outcome::Wait;
  warp.setPredicate(in.slots[0], active, complete);
  return Outcome::Next;
}

Outcome pendingCount(Warp& warp, const Instruction& in, Mask active) {
  eachLane(active, [&](unsigned lane) {
    warp.set(in.slots[0], lane, uint32_t(Mbarrier(warp.get<uint64_t>(in.slots[1], lane)).pending()));
  });
  return Outcome::Next;
}

void decodeWait(Decoder& d, BarrierDetail& detail, Handler handler) {
  detail.isParity = d.take("parity");
  d.out.slots[0] = d.writePredicate(d.operand(0));
  detail.address.slot = d.address(1);
  detail.state = d.read(2, detail.isParity ? Type::B32 : Type::B64);
  d.out.handler = handler;
}

void decodeArrive(Decoder& d, BarrierDetail& detail) {
  detail.expects = d.take("expect_tx");
  d.ignore({"noComplete"});
  size_t next = d.operand(0).kind == Operand::Kind::Address ? 0 : 1;
  detail.hasState = next && d.operand(0).kind != Operand::Kind::Sink;
  if (detail.hasState) detail.state = d.write(0);
  detail.address.slot = d.address(next++);
  static const Operand kOne = [] {
    Operand one;
    one.kind = Operand::Kind::Integer, one.bits = 1;
    return one;
  }();
  detail.count = d.read(next < d.count() ? d.operand(next) : kOne, Type::B32);
  d.out.handler = arriveAtBarrier;
}

void decodeBarrier(Decoder& d) {
  d.ignore({"b64", "relaxed", "acquire", "release", "cta", "cluster"});
  if (d.take("pending_count")) {
    d.out.slots[0] = d.write(0), d.out.slots[1] = d.read(1, Type::B64);
    d.out.handler = pendingCount;
    return;
  }
  BarrierDetail detail;
  if (d.take("test_wait")) {
    decodeWait(d, detail, testBarrier);
  } else if (d.take("try_wait")) {
    decodeWait(d, detail, waitAtBarrier);
  } else if ((detail.isDrop = d.take("arrive_drop")) || d.take("arrive")) {
    decodeArrive(d, detail);
  } else {
    detail.address.slot = d.address(0);
    bool isInit = d.take("init"), isInvalidation = !isInit && d.take("inval");
    if (!isInvalidation) detail.count = d.read(1, Type::B32);
    if (!isInit && !isInvalidation) {
      if (d.take("complete_tx"))
        detail.sign = -1;
      else if (!d.take("expect_tx"))
        d.fail("it is not emulated");
    }
    d.out.handler = isInit ? initBarrier : isInvalidation ? invalidateBarrier : changeBytes;
  }
  detail.address.space = d.takeSpace();
  d.out.detail = d.keepDetail(detail);
}

}  // namespace

std::span<const Family> mbarrierFamilies() {
  static constexpr Family kFamilies[] = {{"mbarrier", decodeBarrier}};
  return kFamilies;
}

}  // namespace tandem::emulator
