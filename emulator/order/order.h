// Checks that accesses of shared memory are ordered as PTX's memory model asks: by barriers, mbarriers and waits for
// asynchronous work, with a proxy fence where generic writes are read or overwritten asynchronously. A warp's threads are
// taken as one.
#pragma once
#include "emulator/instruction.h"
#include "emulator/order/shadow.h"
#include "emulator/warp.h"
#include <unordered_map>

namespace tandem::emulator {

struct Program;

enum class Access : uint8_t { Read, Write };

// The bytes of a part of the shadow: the least that an instruction of the program reads or writes.
uint32_t grainOf(const Program& program);

// All functions whose accesses are not ordered behind those before throw Fault with both places.
class Order {
 public:
  Order(Cluster& cluster, uint32_t warpsPerBlock, uint32_t sharedBytes, uint32_t grain);

  // Of the lane's thread, at `host`; what is not in the cluster's shared memory is passed over. Strong accesses (atomics,
  // volatile ones and those with an order) are no race among themselves, nor are writes of what is there: `value` is what
  // a write is to bring, null if it is not known.
  void access(Warp& warp, const Instruction& in, unsigned lane, const std::byte* host, uint32_t bytes, Access access,
              const void* value, bool isStrong);

  // Reads by wgmma, and its groups.
  void readByProduct(Warp& warp, const Instruction& in, const std::byte* host, uint32_t bytes);
  void commitProducts(Warp& warp);
  void waitForProducts(Warp& warp, uint32_t pending);

  // cp.async, and its groups.
  void writeByCopy(Warp& warp, const Instruction& in, unsigned lane, const std::byte* host, uint32_t bytes);
  void commitCopies(Warp& warp);
  void waitForCopies(Warp& warp, uint32_t pending);
  void waitForAllCopies(Warp& warp);

  // Copies in bulk: from shared memory in a group of the warp, to it with an mbarrier (or from it, of a cluster's).
  void readByStore(Warp& warp, const Instruction& in, unsigned lane, const std::byte* host, uint32_t bytes);
  void commitStores(Warp& warp);
  void waitForStores(Warp& warp, uint32_t pending);
  void accessByBulk(Warp& warp, const Instruction& in, unsigned lane, const std::byte* host, uint32_t bytes,
                    const std::byte* barrier, Access access);

  // mbarriers, named by where they lie. Arrivals come before the change of the state, with whether it ends the phase
  // `phase` (0 or 1); `afterCopies`: when the thread's cp.async are complete.
  void initBarrier(Warp& warp, const Instruction& in, const std::byte* barrier);
  void arrive(Warp& warp, unsigned lane, const std::byte* barrier, bool afterCopies);
  void endPhase(const std::byte* barrier, unsigned phase);
  void passBarrier(Warp& warp, unsigned lane, const std::byte* barrier, unsigned phase);

  // Barriers of a block (`index`) or the cluster (kClusterBarrier), in their phases.
  static constexpr uint32_t kClusterBarrier = ~0u;
  void arrive(Warp& warp, uint32_t index, uint32_t phase);
  void pass(Warp& warp, uint32_t index, uint32_t phase);

  void fenceProxy(Warp& warp);

 private:
  // What a warp is as agents.
  enum Part : uint32_t { Threads, Products, Copies, Stores, kParts };
  struct WarpState {
    View view;
    Time products = 0, stores = 0;  // groups that are committed
    Time copies = 1;                // of the copies since the last commit or arrival
    std::vector<Time> copyGroups;   // the times of the last ones of the groups that are committed
  };
  struct BarrierState {
    Agent agent = 0;
    Event init;
    Time phases = 0;  // that have ended
    View arrived;
    View released[2];  // by the phases of that parity
  };
  struct PhaseView {
    uint32_t phase = ~0u;
    View view;
  };

  uint32_t number(const Warp& warp) const;
  Agent agentOf(const Warp& warp, Part part) const { return number(warp) * kParts + part; }
  WarpState& stateOf(const Warp& warp) { return warps_[number(warp)]; }
  BarrierState& barrierAt(const std::byte* barrier);
  void needInit(Warp& warp, const std::byte* barrier, unsigned lane);
  void release(Warp& warp);
  void read(Warp& warp, const Event& event, unsigned lane, const std::byte* host, uint32_t bytes);
  void write(Warp& warp, const Event& event, unsigned lane, const std::byte* host, uint32_t bytes, const void* value);
  static void remember(std::vector<Event>& events, const Event& event);
  bool isOrdered(const Warp& warp, const Event& before, const Event& now) const;
  [[noreturn]] void report(const Warp& warp, const Event& before, unsigned lane, uint32_t offset,
                           const char* what) const;
  // The block in whose shared memory a place is, or null.
  Block* blockAt(const std::byte* host, uint32_t& offset) const;

  Cluster& cluster_;
  const uint32_t warpsPerBlock_;
  std::vector<WarpState> warps_;
  std::vector<Shadow> shadows_;  // of the blocks
  std::unordered_map<const std::byte*, BarrierState> barriers_;
  std::unordered_map<uint64_t, PhaseView> named_;  // of barriers by block, index and parity
  Agent nextAgent_;
};

}  // namespace tandem::emulator
