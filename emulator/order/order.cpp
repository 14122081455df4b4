#include "emulator/order/order.h"
#include "emulator/launch.h"
#include <cstring>

namespace tandem::emulator {

uint32_t grainOf(const Program& program) {
  uint32_t grain = 16;
  for (const Statement* statement : program.statements) {
    const std::string& opcode = statement->opcode;
    if (opcode != "ld" && opcode != "st" && opcode != "atom" && opcode != "red") continue;
    bool isElsewhere = false;
    unsigned bits = 0;
    for (const std::string& modifier : statement->modifiers) {
      isElsewhere |= modifier == "global" || modifier == "local" || modifier == "param" || modifier == "const";
      if (std::optional<Type> type = typeNamed(modifier)) bits = bitsOf(*type);
    }
    if (!isElsewhere && bits >= 8) grain = std::min(grain, bits / 8);
  }
  return grain;
}

Order::Order(Cluster& cluster, uint32_t warpsPerBlock, uint32_t sharedBytes, uint32_t grain)
    : cluster_(cluster), warpsPerBlock_(warpsPerBlock), warps_(warpsPerBlock * cluster.blocks.size()),
      shadows_(cluster.blocks.size(), Shadow(sharedBytes, grain)), nextAgent_(Agent(warps_.size() * kParts)) {
  for (size_t i = 0; i < warps_.size(); ++i) warps_[i].view.seen.reach(Agent(i * kParts + Threads), 1);
}

uint32_t Order::number(const Warp& warp) const { return warp.block.rank * warpsPerBlock_ + warp.index; }

Block* Order::blockAt(const std::byte* host, uint32_t& offset) const {
  for (auto& block : cluster_.blocks)
    if (host >= block->shared() && host < block->shared() + block->sharedBytes())
      return offset = uint32_t(host - block->shared()), block.get();
  return nullptr;
}

// What comes behind in the warp is later than what others learn of now.
void Order::release(Warp& warp) {
  Agent threads = agentOf(warp, Threads);
  VectorClock& seen = stateOf(warp).view.seen;
  seen.reach(threads, seen.of(threads) + 1);
}

//===- accesses -----------------------------------------------------------------------------------------------------===//
bool Order::isOrdered(const Warp& warp, const Event& before, const Event& now) const {
  // The bytes that come to an mbarrier are no sequence, unlike what one warp does; but a copy may touch a part twice.
  bool isOfWarp = now.agent < warps_.size() * kParts;
  if (before.agent == now.agent && (isOfWarp || before.statement == now.statement)) return true;
  const View& view = warps_[number(warp)].view;
  bool needsFence = now.isAsync && !before.isAsync;
  return before.time <= (needsFence ? view.fenced : view.seen).of(before.agent);
}

void Order::report(const Warp& warp, const Event& before, unsigned lane, uint32_t offset, const char* what) const {
  bool isSeen = before.time <= warps_[number(warp)].view.seen.of(before.agent);
  std::string text = "shared memory at " + std::to_string(offset) + ": this access is " +
                     (isSeen ? "asynchronous, and no fence.proxy.async is between it and " : "not ordered behind ") +
                     what;
  if (before.agent < warps_.size() * kParts) {
    uint32_t of = before.agent / kParts;
    text += " of warp " + std::to_string(of % warpsPerBlock_);
    if (cluster_.blocks.size() > 1) text += " of the cluster's block " + std::to_string(of / warpsPerBlock_);
  }
  throw Fault(Fault::LaunchFailed,
              text + ":\n  " + cluster_.launch.placeOf(before.statement) + "\n the access:", int(lane));
}

// Of stores of the same, one that is seen is enough.
void Order::read(Warp& warp, const Event& event, unsigned lane, const std::byte* host, uint32_t bytes) {
  uint32_t offset = 0;
  Block* block = blockAt(host, offset);
  if (!block) return;
  shadows_[block->rank].each(offset, bytes, [&](Shadow::Part& part, uint32_t at, uint32_t) {
    const Event* missed = nullptr;
    bool isSeen = false;
    for (const Event& before : part.writes) {
      bool isRight = isOrdered(warp, before, event) || (before.isStrong && event.isStrong);
      isSeen |= isRight && !before.isStrong;
      if (!isRight && (!missed || before.isStrong)) missed = &before;
    }
    if (missed && (missed->isStrong || !isSeen)) report(warp, *missed, lane, at, "the write");
    remember(part.reads, event);
  });
}

void Order::remember(std::vector<Event>& events, const Event& event) {
  for (Event& known : events)
    if (known.agent == event.agent) return void(known = event);
  events.push_back(event);
}

void Order::write(Warp& warp, const Event& event, unsigned lane, const std::byte* host, uint32_t bytes,
                  const void* value) {
  uint32_t offset = 0;
  Block* block = blockAt(host, offset);
  if (!block) return;
  Shadow& shadow = shadows_[block->rank];
  shadow.each(offset, bytes, [&](Shadow::Part& part, uint32_t at, uint32_t inRange) {
    auto isThere = [&] {
      return value && std::memcmp(host + inRange, static_cast<const std::byte*>(value) + inRange, shadow.grain()) == 0;
    };
    bool isAlone = true;
    auto behind = [&](Event before, const char* what) {
      if (isOrdered(warp, before, event)) return;
      if (!(before.isStrong && event.isStrong) && !isThere()) report(warp, before, lane, at, what);
      isAlone = false;
    };
    for (const Event& before : part.writes) behind(before, "the write");
    for (Event before : part.reads) {
      before.isAsync = true;  // what was read needs no fence to be overwritten
      behind(before, "the read");
    }
    if (isAlone) part.writes.clear(), part.reads.clear();
    remember(part.writes, event);
  });
}

void Order::access(Warp& warp, const Instruction& in, unsigned lane, const std::byte* host, uint32_t bytes,
                   Access access, const void* value, bool isStrong) {
  Agent agent = agentOf(warp, Threads);
  Event event{stateOf(warp).view.seen.of(agent), agent, in.statement, false, isStrong};
  if (access == Access::Read)
    read(warp, event, lane, host, bytes);
  else
    write(warp, event, lane, host, bytes, value);
}

//===- wgmma --------------------------------------------------------------------------------------------------------===//
void Order::readByProduct(Warp& warp, const Instruction& in, const std::byte* host, uint32_t bytes) {
  read(warp, {stateOf(warp).products + 1, agentOf(warp, Products), in.statement, true, false}, 0, host, bytes);
}

void Order::commitProducts(Warp& warp) { ++stateOf(warp).products; }

void Order::waitForProducts(Warp& warp, uint32_t pending) {
  WarpState& state = stateOf(warp);
  if (state.products > pending) state.view.seen.reach(agentOf(warp, Products), state.products - pending);
}

//===- cp.async -----------------------------------------------------------------------------------------------------===//
void Order::writeByCopy(Warp& warp, const Instruction& in, unsigned lane, const std::byte* host, uint32_t bytes) {
  write(warp, {stateOf(warp).copies, agentOf(warp, Copies), in.statement, false, false}, lane, host, bytes, nullptr);
}

void Order::commitCopies(Warp& warp) {
  WarpState& state = stateOf(warp);
  state.copyGroups.push_back(state.copies++);
}

void Order::waitForAllCopies(Warp& warp) {
  WarpState& state = stateOf(warp);
  state.view.seen.reach(agentOf(warp, Copies), state.copies++);
}

void Order::waitForCopies(Warp& warp, uint32_t pending) {
  WarpState& state = stateOf(warp);
  size_t count = state.copyGroups.size();
  if (count > pending) state.view.seen.reach(agentOf(warp, Copies), state.copyGroups[count - 1 - pending]);
}

//===- copies in bulk -----------------------------------------------------------------------------------------------===//
void Order::readByStore(Warp& warp, const Instruction& in, unsigned lane, const std::byte* host, uint32_t bytes) {
  read(warp, {stateOf(warp).stores + 1, agentOf(warp, Stores), in.statement, true, false}, lane, host, bytes);
}

void Order::commitStores(Warp& warp) { ++stateOf(warp).stores; }

void Order::waitForStores(Warp& warp, uint32_t pending) {
  WarpState& state = stateOf(warp);
  if (state.stores > pending) state.view.seen.reach(agentOf(warp, Stores), state.stores - pending);
}

void Order::accessByBulk(Warp& warp, const Instruction& in, unsigned lane, const std::byte* host, uint32_t bytes,
                         const std::byte* barrier, Access access) {
  needInit(warp, barrier, lane);
  const BarrierState& state = barrierAt(barrier);
  Event event{state.phases + 1, state.agent, in.statement, true, false};
  if (access == Access::Read)
    read(warp, event, lane, host, bytes);
  else
    write(warp, event, lane, host, bytes, nullptr);
}

//===- mbarriers ----------------------------------------------------------------------------------------------------===//
Order::BarrierState& Order::barrierAt(const std::byte* barrier) {
  auto [found, isNew] = barriers_.try_emplace(barrier);
  if (isNew) found->second.agent = nextAgent_++;
  return found->second;
}

// A new agent, so that the phases of the mbarrier that was here before are not taken for those of this one.
void Order::initBarrier(Warp& warp, const Instruction& in, const std::byte* barrier) {
  barriers_.erase(barrier);
  Agent agent = agentOf(warp, Threads);
  barrierAt(barrier).init = {stateOf(warp).view.seen.of(agent), agent, in.statement, true, false};
}

void Order::needInit(Warp& warp, const std::byte* barrier, unsigned lane) {
  uint32_t offset = 0;
  blockAt(barrier, offset);
  const Event& init = barrierAt(barrier).init;
  if (!isOrdered(warp, init, {1, agentOf(warp, Threads), 0, false, false}))
    report(warp, init, lane, offset, "the mbarrier.init");
}

void Order::arrive(Warp& warp, unsigned lane, const std::byte* barrier, bool afterCopies) {
  needInit(warp, barrier, lane);
  WarpState& state = stateOf(warp);
  BarrierState& at = barrierAt(barrier);
  at.arrived.join(state.view);
  if (afterCopies) at.arrived.seen.reach(agentOf(warp, Copies), state.copies++);
  release(warp);
}

void Order::endPhase(const std::byte* barrier, unsigned phase) {
  BarrierState& at = barrierAt(barrier);
  at.arrived.seen.reach(at.agent, ++at.phases);
  at.released[phase] = at.arrived;
}

void Order::passBarrier(Warp& warp, unsigned lane, const std::byte* barrier, unsigned phase) {
  needInit(warp, barrier, lane);
  stateOf(warp).view.join(barrierAt(barrier).released[phase]);
}

//===- barriers -----------------------------------------------------------------------------------------------------===//
namespace {
uint64_t keyOf(const Warp& warp, uint32_t index, uint32_t phase) {
  uint64_t block = index == Order::kClusterBarrier ? 0 : warp.block.rank;
  return uint64_t(index) << 32 | block << 1 | (phase & 1);
}
}  // namespace

void Order::arrive(Warp& warp, uint32_t index, uint32_t phase) {
  PhaseView& at = named_[keyOf(warp, index, phase)];
  if (at.phase != phase) at = {phase, {}};
  at.view.join(stateOf(warp).view);
  release(warp);
}

void Order::pass(Warp& warp, uint32_t index, uint32_t phase) {
  stateOf(warp).view.join(named_[keyOf(warp, index, phase)].view);
}

void Order::fenceProxy(Warp& warp) {
  View& view = stateOf(warp).view;
  view.fenced.join(view.seen);
}

}  // namespace tandem::emulator
