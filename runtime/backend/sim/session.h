// A session here is one run on N simulated ranks: the world, and the operations of each rank's host code.
#pragma once
#include "base/call_order.h"
#include "interpreter/world.h"
#include "runtime/backend/sim/host_baton.h"
#include "runtime/session.h"
#include <atomic>
#include <map>

namespace tandem::runtime::sim {

// Host threads run one at a time, so a run is decided by its seed alone.
class Session final : public runtime::Session {
 public:
  explicit Session(const interpreter::WorldOptions& options);

  interpreter::World& world() { return world_; }
  const interpreter::World& world() const { return world_; }

  Session* simulated() override { return this; }
  int rankCount() const override { return world_.options().rankCount; }
  std::string target(int rank) const override { return "sim"; }
  std::string deviceName(int rank) const override { return ""; }
  int residentPrograms(int rank) const override { return world_.options().slotsPerRank; }

  void enter(int rank) override;
  void leave(int rank) override;
  void abort(int rank, const std::string& why) override;
  // Does the same as abort(), but under the checker the other ranks and the devices go on as far as they can, so that
  // the cause is seen.
  void fail(int rank, const std::string& why);
  // The run has taken longer than it may, in host code that makes no call: reports that and ends it.
  void expire() { baton_.expire(); }
  // The host reads or writes device memory itself, or has an array over it. Throws RunStopped after a report.
  void hostAccess(int rank, Address address, uint64_t bytes, interpreter::HostAccess how);
  void interrupt() override { interruptRequested_ = true; }
  void finish() override { world_.finish(); }
  std::vector<RunReport> reports() const override;
  std::optional<interpreter::Trace> trace() const override {
    return world_.options().trace ? std::optional(world_.trace()) : std::nullopt;
  }

  Address allocate(int rank, uint64_t bytes, bool symmetric, bool initialised, const std::string& name,
                   const HostPlace& place, int team) override;
  void release(int rank, Address address, const HostPlace& place) override;
  void releaseAsync(int rank, StreamId stream, Address address) override;
  Address peerAddress(int rank, Address address, int peer, int team) const override;
  Address mapHost(int rank, const HostMemory& memory, const HostPlace& place) override;
  HostWords hostWords(int rank, uint64_t count, const std::string& name) override;

  int createTeam(int rank, const std::vector<int>& members) override;
  std::vector<int> membersOf(int rank, int team) const override;
  void openPart(int, int) override {}
  std::vector<std::string> gather(int rank, int team, const std::string& bytes) override;
  uint64_t openOperator(int rank, const OperatorName& name, int team) override;
  void callOperator(int rank, uint64_t op, StreamId stream, std::span<const int64_t> sizes) override;
  StreamId createStream(int rank) override;
  StreamId streamBeside(int rank, StreamId stream) override;
  StreamId adoptStream(int rank, uint64_t handle) override;
  bool hasStream(int rank, StreamId stream) const override { return stream < streamCounts_[size_t(rank)]; }

  void launch(int rank, StreamId stream, const KernelLaunch& launch) override;
  void copy(int rank, StreamId stream, Address dest, Address source, uint64_t bytes) override;
  void copyRows(int rank, StreamId stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
                uint64_t bytes, uint64_t rows) override;
  void set(int rank, StreamId stream, Address dest, uint8_t value, uint64_t bytes) override;
  void copyFromHost(int rank, StreamId stream, Address dest, const void* source, uint64_t bytes) override;
  void copyToHost(int rank, StreamId stream, void* dest, Address source, uint64_t bytes) override;
  void signals(int rank, StreamId stream, std::span<const SignalStep> steps) override;
  void barrierOnStream(int rank, StreamId stream, int team) override;
  EventId recordEvent(int rank, StreamId stream) override;
  void waitEvent(int rank, StreamId stream, EventId event) override;
  EventId recordTime(int rank, StreamId stream) override;
  double microseconds(int rank, EventId from, EventId to) override;

  void synchronize(int rank) override;
  void synchronize(int rank, StreamId stream) override;
  void barrier(int rank, int team) override;

 private:
  void checkWorld();
  void checkMakes(int rank, const std::vector<int>& members) const;
  void logCall(int rank, OperatorCalls call);
  void tellOf(const std::optional<CallMismatch>& found);
  void tellOfStuck(const std::vector<std::string>& hostNotes);

  std::atomic<bool> interruptRequested_ = false;
  interpreter::World world_;
  HostBaton baton_;
  std::map<int, std::map<int, uint64_t>> symmetricAllocations_;  // how many each rank has made, by team
  std::vector<StreamId> streamCounts_;                           // by rank
  CallLog calls_;
  CallOrder order_;
  std::map<int, std::map<uint64_t, uint32_t>> operators_;  // how many each rank has opened, by the team's first number
  std::map<std::pair<int, StreamId>, StreamId> beside_;    // by rank and stream
  EventId lastEvent_ = 0;
  std::map<std::vector<int>, std::pair<int, std::vector<uint64_t>>>
      teamCalls_;                          // the latest team and each rank's calls, by members
  std::map<int, std::vector<int>> teams_;  // their members, without team 0
  std::map<int, std::vector<int>> makes_;  // the members of a team that a rank is making
  // The texts that the ranks of a team have given, by team: each rank's n-th text in the n-th place.
  std::map<int, std::map<int, std::vector<std::string>>> given_;
};

}  // namespace tandem::runtime::sim
