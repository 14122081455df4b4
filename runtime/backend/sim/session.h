// One run on N simulated ranks: the world, and what a rank's host code may do with it.
#pragma once
#include "interpreter/world.h"
#include "runtime/backend/sim/host_baton.h"
#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace tandem::runtime::sim {

using interpreter::Address;
using interpreter::EventId;
using interpreter::StreamId;

// The host line that made a call, for reports.
struct HostPlace {
  std::string file;
  uint32_t line = 0;
};

// Every call names the rank that makes it and is made by that rank's host thread between enter() and leave().
// Calls that wait throw RunStopped when the run has ended early; the reason is in world().reports().
class Session {
 public:
  // Asked on the simulating thread while it works; non-zero stops that run. One for the process; null for none.
  static inline std::atomic<int (*)()> interruptPoll = nullptr;

  explicit Session(const interpreter::WorldOptions& options);

  interpreter::World& world() { return world_; }
  const interpreter::World& world() const { return world_; }
  int rankCount() const { return world_.options().rankCount; }

  void enter(int rank);
  void leave(int rank);                            // after its streams are idle
  void abort(int rank, const std::string& why);    // its main failed: the other ranks' calls throw
  void interrupt() {
    interruptRequested_ = true;
  }  // from any thread: the simulation stops soon, and with it every blocking call

  // Symmetric memory is collective: all ranks call in the same order with the same size; returns after all have.
  Address allocate(int rank, uint64_t bytes, interpreter::MemoryKind kind, bool initialised, const std::string& name,
                   const HostPlace& place);
  void release(int rank, Address address, const HostPlace& place);

  // Collective over `members` (world ranks, in team order): returns the same team id on each.
  int createTeam(int rank, const std::vector<int>& members);

  void launch(int rank, StreamId stream, interpreter::Launch launch);
  // Stream-ordered copies between host memory of the caller and simulated memory; the host memory must live until the
  // stream gets there.
  void copyFromHost(int rank, StreamId stream, Address dest, const void* source, uint64_t bytes);
  void copyToHost(int rank, StreamId stream, void* dest, Address source, uint64_t bytes);
  void releaseAsync(int rank, StreamId stream, Address address);

  void synchronize(int rank);                    // all streams of the rank
  void synchronize(int rank, StreamId stream);
  // All streams of the rank idle, then all members of the team here and their puts delivered.
  void barrier(int rank, int team);

 private:
  void checkWorld() const;

  std::atomic<bool> interruptRequested_ = false;
  interpreter::World world_;
  HostBaton baton_;
  std::vector<uint64_t> symmetricAllocations_;        // how many each rank has made
  std::map<std::vector<int>, std::pair<int, std::vector<uint64_t>>>
      teamCalls_;  // the team and each rank's calls, by members
};

}  // namespace tandem::runtime::sim
