// The recorder tells a chooser the synchronising accesses of each step, and passes everything on to the checker. Plain
// accesses are left out: where they matter to the order of steps, they race, and the checker says so.
#pragma once
#include "interpreter/memory/observer.h"
#include "interpreter/schedule/choice.h"
#include "interpreter/vm/machine.h"
#include <map>

namespace tandem::interpreter {

class SyncRecorder final : public AccessObserver {
 public:
  SyncRecorder(Machine& m, std::unique_ptr<AccessObserver> checker) : m_(m), checker_(std::move(checker)) {}

  // The accesses from here on belong to the step of this task; local: to the task's next step.
  void begins(const Task* task, bool local);
  uint32_t numberOf(const PendingPut& put) const;
  // How many steps the task has begun.
  uint32_t stepsOf(const Task& task) const;
  SyncAccess on(Address address, uint64_t bytes, SyncKind kind) const;

  void access(const MemoryAccess& access) override;
  void wrote(const MemoryAccess& access, uint64_t old, uint64_t now) override;
  std::shared_ptr<void> comesLate(const Run& run) override { return checker_ ? checker_->comesLate(run) : nullptr; }
  void freed(int rank, Address address, uint64_t bytes, const std::string& file, uint32_t line) override {
    if (checker_) checker_->freed(rank, address, bytes, file, line);
  }
  void lanesDiffer(const MemoryAccess& access) override {
    if (checker_) checker_->lanesDiffer(access);
  }
  void dividesByZero(const Run& run) override {
    if (checker_) checker_->dividesByZero(run);
  }
  std::vector<Diagnostic> unacquired(Address signal) override {
    return checker_ ? checker_->unacquired(signal) : std::vector<Diagnostic>();
  }
  std::vector<Diagnostic> writersOf(Address address) override {
    return checker_ ? checker_->writersOf(address) : std::vector<Diagnostic>();
  }
  void forget(Address address, uint64_t bytes) override;
  void waits(const MemoryAccess& access, const AwaitedSignal& signal, bool holds) override;
  void threadBarrier(const Run& run) override;
  void warpBarrier(const Run& run) override;
  void namedBarrierArrives(const Run& run, int64_t id, bool completes) override;
  void namedBarrierLeaves(const Run& run, int64_t id) override;
  void groupMeets(const Run& run, Group group) override;
  void threadFence(const Run& run, Semantic semantic, Scope scope) override;
  void proxyFence(const Run& run, bool sharedOnly) override {
    if (checker_) checker_->proxyFence(run, sharedOnly);
  }
  void transferIssued(const Run& run, PendingPut& put) override;
  void groupsWaited(const Run& run, CopyKind kind, uint32_t lane, uint32_t group, bool read) override;
  void fence(const Run& run, int peer) override;
  void quiet(const Run& run, int peer) override;
  void arrives(const Run& run, const Collective& meeting) override;
  void leaves(const Run& run, const Collective& meeting) override;
  void copies(const Collective& meeting, size_t from, size_t to) override;
  void arrives(const Stream& stream, const Collective& meeting) override;
  void leaves(const Stream& stream, const Collective& meeting) override;
  void forget(const Collective& meeting) override;
  void gridBarrierArrives(const Run& run) override;
  void gridBarrierLeaves(const Run& run) override;
  void waitedFor(const Run& run, EventId event) override;
  void gridStarts(const Stream& stream) override;
  void gridEnds(const Stream& stream) override;
  void programStarts(const Run& run, const Stream& stream) override;
  void programEnds(const Run& run) override;
  void enqueued(const Stream& stream) override;
  void itemStarts(const Stream& stream) override;
  void records(const Stream& stream, EventId event) override;
  void waitedFor(const Stream& stream, EventId event) override;
  void hostWaited(int rank, const Stream& stream) override;
  void hostArrives(int rank, uint64_t meeting) override;
  void hostLeaves(int rank, uint64_t meeting) override;
  void ended() override;

 private:
  void tell(const SyncAccess& access);
  void atMeeting(const Collective& meeting, bool ofStreams, SyncKind kind);
  void atGridBarrier(const Run& run, SyncKind kind);

  Machine& m_;
  std::unique_ptr<AccessObserver> checker_;
  const Task* local_ = nullptr;
  std::map<const Task*, std::vector<SyncAccess>> owed_;  // of local steps, for the task's next step
  std::map<const Collective*, uint64_t> meetings_;       // their numbers
  std::map<std::pair<std::vector<int>, bool>, uint32_t> rounds_;
  std::map<const Task*, uint32_t> steps_;
  std::map<uint64_t, uint32_t> gridRounds_;  // by runId
  std::map<uint64_t, uint32_t> putsOf_;      // by runId
  std::map<const PendingPut*, uint32_t> putNumbers_;
};

}  // namespace tandem::interpreter
