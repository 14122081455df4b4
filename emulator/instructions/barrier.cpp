// Barriers of a block, of a warp and of a cluster, fences, and what only tells the hardware how to schedule.
#include "emulator/instructions/families.h"
#include "emulator/instructions/lanes.h"
#include "emulator/launch.h"
#include "emulator/order/order.h"
#include <algorithm>
#include <atomic>

namespace tandem::emulator {
namespace {

enum : uint16_t { kSync, kArrive, kCount, kAnd, kOr };  // Instruction::form; the last three are barrier.red

uint32_t warpsAlive(const Block& block) {
  return uint32_t(std::count_if(block.warps.begin(), block.warps.end(), [](auto& warp) { return !warp->hasEnded(); }));
}

// Warps that have ended are not waited for where the count is all of the block.
bool complete(Block& block, Block::NamedBarrier& barrier) {
  uint32_t expected = barrier.expected ? barrier.expected : warpsAlive(block);
  if (barrier.arrived < expected) return false;
  barrier.result = barrier.value;
  barrier.value = barrier.arrived = barrier.expected = 0;
  ++barrier.phase;
  return true;
}

void arrive(Warp& warp, const Instruction& in, Mask active, Block::NamedBarrier& barrier, uint32_t expected) {
  if (barrier.arrived && barrier.expected != expected)
    throw Fault(Fault::LaunchFailed, "other warps have come to the barrier for " +
                                         std::to_string(barrier.expected * kLanes) + " threads, this one for " +
                                         std::to_string(expected * kLanes));
  barrier.expected = expected;
  if (in.form >= kCount) {
    Mask value = warp.predicate(in.slots[2]) & active;
    if (in.form == kCount) barrier.value += uint32_t(std::popcount(value));
    if (in.form == kOr) barrier.value |= value != 0;
    if (in.form == kAnd) barrier.value = (barrier.arrived ? barrier.value : 1) & (value == active);
  }
  ++barrier.arrived;
}

Outcome atBarrier(Warp& warp, const Instruction& in, Mask active) {
  if (!warp.isJoined(active, kAllLanes)) return Outcome::Wait;
  unsigned lane = unsigned(std::countr_zero(active));
  uint32_t index = warp.get<uint32_t>(in.slots[0], lane), threads = warp.get<uint32_t>(in.slots[1], lane);
  if (index >= Block::kNamedBarriers || threads % kLanes)
    throw Fault(Fault::IllegalInstruction,
                "barrier " + std::to_string(index) + " for " + std::to_string(threads) + " threads", int(lane));
  Block::NamedBarrier& barrier = warp.block.barriers[index];
  Outcome outcome = Outcome::Wait;
  if (!warp.awaitedPhase) {
    arrive(warp, in, active, barrier, threads / kLanes);
    warp.awaitedPhase = barrier.phase;
    if (Order* order = warp.order()) order->arrive(warp, index, barrier.phase);
    outcome = Outcome::Begun;
  }
  if (barrier.phase == *warp.awaitedPhase && !complete(warp.block, barrier) && in.form != kArrive) return outcome;
  if (Order* order = warp.order(); order && in.form != kArrive) order->pass(warp, index, *warp.awaitedPhase);
  warp.awaitedPhase.reset();
  if (in.form == kCount) eachLane(active, [&](unsigned l) { warp.set(in.slots[3], l, barrier.result); });
  if (in.form > kCount) warp.setPredicate(in.slots[3], active, barrier.result ? kAllLanes : 0);
  return Outcome::Next;
}

Outcome joinWarp(Warp& warp, const Instruction& in, Mask active) {
  Mask members = warp.get<uint32_t>(in.slots[0], unsigned(std::countr_zero(active)));
  return warp.isJoined(active, members) ? Outcome::Next : Outcome::Wait;
}

// bar.sync a[, b]; bar.arrive a, b; bar.red.popc.u32 d, a[, b], p; bar.warp.sync mask
void blockBarrier(Decoder& d) {
  if (d.take("warp")) {
    d.take("sync");
    d.out.slots[0] = d.read(0, Type::B32);
    d.out.handler = joinWarp;
    return;
  }
  d.ignore({"cta", "aligned", "sync"});
  d.out.form = d.take("arrive") ? kArrive : d.take("popc") ? kCount : d.take("and") ? kAnd : d.take("or") ? kOr : kSync;
  bool isReduction = d.take("red");
  size_t first = 0, last = d.count();
  if (isReduction) {
    Type type = d.takeType();
    d.out.slots[3] = type == Type::Pred ? d.writePredicate(d.operand(0)) : d.write(0);
    d.out.slots[2] = d.readPredicate(d.operand(--last));
    first = 1;
  }
  Operand all;
  all.kind = Operand::Kind::Integer;
  d.out.slots[0] = d.read(first, Type::U32);
  d.out.slots[1] = d.read(last > first + 1 ? d.operand(first + 1) : all, Type::U32);
  d.out.handler = atBarrier;
}

bool complete(Cluster& cluster) {
  uint32_t alive = 0;
  for (auto& block : cluster.blocks) alive += warpsAlive(*block);
  if (cluster.arrived < alive) return false;
  cluster.arrived = 0;
  ++cluster.phase;
  return true;
}

Outcome arriveAtCluster(Warp& warp, const Instruction&, Mask active) {
  if (!warp.isJoined(active, kAllLanes)) return Outcome::Wait;
  Cluster& cluster = warp.block.cluster;
  if (warp.clusterPhase)
    throw Fault(Fault::LaunchFailed, "the warp arrives at the cluster's barrier again, and has not waited");
  warp.clusterPhase = cluster.phase;
  if (cluster.order) cluster.order->arrive(warp, Order::kClusterBarrier, cluster.phase);
  ++cluster.arrived;
  return Outcome::Next;
}

Outcome waitForCluster(Warp& warp, const Instruction&, Mask active) {
  if (!warp.isJoined(active, kAllLanes)) return Outcome::Wait;
  Cluster& cluster = warp.block.cluster;
  if (!warp.clusterPhase)
    throw Fault(Fault::LaunchFailed, "the warp waits at the cluster's barrier, and has not arrived");
  if (cluster.phase == *warp.clusterPhase && !complete(cluster)) return Outcome::Wait;
  if (cluster.order) cluster.order->pass(warp, Order::kClusterBarrier, *warp.clusterPhase);
  warp.clusterPhase.reset();
  return Outcome::Next;
}

void barrierForm(Decoder& d) {
  if (!d.take("cluster")) return blockBarrier(d);
  d.ignore({"aligned", "acquire", "release", "relaxed"});
  d.out.handler = d.take("arrive") ? arriveAtCluster : d.take("wait") ? waitForCluster : nullptr;
}

Outcome fence(Warp&, const Instruction&, Mask) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return Outcome::Next;
}

// Passes on what came before to asynchronous accesses of shared memory.
Outcome fenceProxy(Warp& warp, const Instruction&, Mask) {
  if (Order* order = warp.order()) order->fenceProxy(warp);
  return Outcome::Next;
}

Outcome nothing(Warp&, const Instruction&, Mask) { return Outcome::Next; }

template <Handler handler>
void plain(Decoder& d) {
  for (const std::string& modifier : d.statement.modifiers) d.take(modifier);
  d.out.handler = handler;
}

void fenceForm(Decoder& d) {
  bool isOfProxy = d.take("proxy") && d.take("async") && !d.take("global");
  plain<fence>(d);
  if (isOfProxy) d.out.handler = fenceProxy;
}

}  // namespace

std::span<const Family> barrierFamilies() {
  static constexpr Family kFamilies[] = {
      {"bar", blockBarrier},
      {"barrier", barrierForm},
      {"fence", fenceForm},
      {"membar", plain<fence>},
      {"nanosleep", plain<nothing>},
      {"setmaxnreg", plain<nothing>},
      {"griddepcontrol", plain<nothing>},
      {"pmevent", plain<nothing>},
  };
  return kFamilies;
}

}  // namespace tandem::emulator
