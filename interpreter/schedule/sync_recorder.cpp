// The recorder notes the accesses for which a step's order against others can matter, by offset in the heap; meetings
// and `sc` fences have numbers beyond all memory.
#include "interpreter/schedule/sync_recorder.h"
#include "interpreter/schedule/stream.h"

namespace tandem::interpreter {
namespace {

constexpr uint64_t kMeetings = 1ull << 63;
constexpr uint64_t kFences = 3ull << 62;  // + rank: the order of `sc` fences that a rank's programs share

uint64_t mixed(uint64_t h, uint64_t value) { return (h ^ value) * 1099511628211ull; }

}  // namespace

void SyncRecorder::begins(const Task* task, bool local) {
  local_ = local ? task : nullptr;
  if (local) return;
  if (task) ++steps_[task];
  auto owed = owed_.find(task);
  if (owed == owed_.end()) return;
  for (const SyncAccess& access : owed->second) m_.options.chooser->did(access);
  owed_.erase(owed);
}

void SyncRecorder::tell(const SyncAccess& access) {
  if (local_)
    owed_[local_].push_back(access);
  else
    m_.options.chooser->did(access);
}

uint32_t SyncRecorder::stepsOf(const Task& task) const {
  auto found = steps_.find(&task);
  return found == steps_.end() ? 0 : found->second;
}

uint32_t SyncRecorder::numberOf(const PendingPut& put) const {
  auto found = putNumbers_.find(&put);
  return found == putNumbers_.end() ? 0 : found->second;
}

SyncAccess SyncRecorder::on(Address address, uint64_t bytes, SyncKind kind) const {
  uint64_t at = address - m_.arena.base();
  return {at, at + bytes, kind};
}

void SyncRecorder::access(const MemoryAccess& access) {
  if (access.strong || access.isSignal) {
    bool update = access.kind == AccessKind::Atomic && access.isSignal;
    SyncKind kind = access.kind == AccessKind::Read ? SyncKind::Read : update ? SyncKind::Update : SyncKind::Write;
    tell(on(access.address, access.bytes, kind));
  }
  if (checker_) checker_->access(access);
}

void SyncRecorder::waits(const MemoryAccess& access, const AwaitedSignal& signal, bool holds) {
  if (holds) tell(on(signal.address, signal.bytes, SyncKind::Read));
  if (checker_) checker_->waits(access, signal, holds);
}

void SyncRecorder::transferIssued(const Run& run, PendingPut& put) {
  putNumbers_[&put] = ++putsOf_[run.runId];
  if (checker_) checker_->transferIssued(run, put);
}

// Records an access of the meeting's number; each next meeting of the same ranks has a new number.
void SyncRecorder::atMeeting(const Collective& meeting, bool ofStreams, SyncKind kind) {
  auto [found, isNew] = meetings_.try_emplace(&meeting, 0);
  if (isNew) {
    uint64_t h = mixed(1469598103934665603ull, ofStreams);
    for (int rank : meeting.ranks) h = mixed(h, uint64_t(rank) + 1);
    found->second = kMeetings | mixed(h, ++rounds_[{meeting.ranks, ofStreams}]) >> 1;
  }
  tell({found->second, found->second + 1, kind});
}

void SyncRecorder::atGridBarrier(const Run& run, SyncKind kind) {
  uint32_t& round = gridRounds_[run.runId];
  uint64_t h = mixed(mixed(mixed(0x9e3779b97f4a7c15ull, uint64_t(run.rank)), run.launch),
                     kind == SyncKind::Update ? ++round : round);
  tell({kMeetings | h >> 1, (kMeetings | h >> 1) + 1, kind});
}

void SyncRecorder::arrives(const Run& run, const Collective& meeting) {
  atMeeting(meeting, false, SyncKind::Update);
  if (checker_) checker_->arrives(run, meeting);
}
void SyncRecorder::leaves(const Run& run, const Collective& meeting) {
  atMeeting(meeting, false, SyncKind::Read);
  if (checker_) checker_->leaves(run, meeting);
}
void SyncRecorder::copies(const Collective& meeting, size_t from, size_t to) {
  if (checker_) checker_->copies(meeting, from, to);
}
void SyncRecorder::arrives(const Stream& stream, const Collective& meeting) {
  atMeeting(meeting, true, SyncKind::Update);
  if (checker_) checker_->arrives(stream, meeting);
}
void SyncRecorder::leaves(const Stream& stream, const Collective& meeting) {
  atMeeting(meeting, true, SyncKind::Read);
  if (checker_) checker_->leaves(stream, meeting);
}
void SyncRecorder::forget(const Collective& meeting) {
  meetings_.erase(&meeting);
  if (checker_) checker_->forget(meeting);
}
void SyncRecorder::gridBarrierArrives(const Run& run) {
  atGridBarrier(run, SyncKind::Update);
  if (checker_) checker_->gridBarrierArrives(run);
}
void SyncRecorder::waitedFor(const Run& run, EventId event) {
  if (checker_) checker_->waitedFor(run, event);
}
void SyncRecorder::gridBarrierLeaves(const Run& run) {
  atGridBarrier(run, SyncKind::Read);
  if (checker_) checker_->gridBarrierLeaves(run);
}
void SyncRecorder::programEnds(const Run& run) {
  owed_.erase(&run);
  steps_.erase(&run);
  if (checker_) checker_->programEnds(run);
}

void SyncRecorder::wrote(const MemoryAccess& access, uint64_t old, uint64_t now) {
  if (checker_) checker_->wrote(access, old, now);
}
void SyncRecorder::forget(Address address, uint64_t bytes) {
  if (checker_) checker_->forget(address, bytes);
}
void SyncRecorder::threadBarrier(const Run& run) {
  if (checker_) checker_->threadBarrier(run);
}
void SyncRecorder::warpBarrier(const Run& run) {
  if (checker_) checker_->warpBarrier(run);
}
void SyncRecorder::namedBarrierArrives(const Run& run, int64_t id, bool completes) {
  if (checker_) checker_->namedBarrierArrives(run, id, completes);
}
void SyncRecorder::namedBarrierLeaves(const Run& run, int64_t id) {
  if (checker_) checker_->namedBarrierLeaves(run, id);
}
void SyncRecorder::groupMeets(const Run& run, Group group) {
  if (checker_) checker_->groupMeets(run, group);
}
void SyncRecorder::threadFence(const Run& run, Semantic semantic, Scope scope) {
  uint64_t rank = uint64_t(run.rank), ranks = uint64_t(m_.options.rankCount);
  if (semantic == Semantic::SeqCst && scope == Scope::Sys)
    tell({kFences, kFences + ranks, SyncKind::Write});
  else if (semantic == Semantic::SeqCst && scope == Scope::Gpu)
    tell({kFences + rank, kFences + rank + 1, SyncKind::Write});
  if (checker_) checker_->threadFence(run, semantic, scope);
}
void SyncRecorder::groupsWaited(const Run& run, CopyKind kind, uint32_t lane, uint32_t group, bool read) {
  if (checker_) checker_->groupsWaited(run, kind, lane, group, read);
}
void SyncRecorder::fence(const Run& run, int peer) {
  if (checker_) checker_->fence(run, peer);
}
void SyncRecorder::quiet(const Run& run, int peer) {
  if (checker_) checker_->quiet(run, peer);
}
void SyncRecorder::gridStarts(const Stream& stream) {
  if (checker_) checker_->gridStarts(stream);
}
void SyncRecorder::gridEnds(const Stream& stream) {
  if (checker_) checker_->gridEnds(stream);
}
void SyncRecorder::programStarts(const Run& run, const Stream& stream) {
  if (checker_) checker_->programStarts(run, stream);
}
void SyncRecorder::enqueued(const Stream& stream) {
  if (checker_) checker_->enqueued(stream);
}
void SyncRecorder::itemStarts(const Stream& stream) {
  if (checker_) checker_->itemStarts(stream);
}
void SyncRecorder::records(const Stream& stream, EventId event) {
  if (checker_) checker_->records(stream, event);
}
void SyncRecorder::waitedFor(const Stream& stream, EventId event) {
  if (checker_) checker_->waitedFor(stream, event);
}
void SyncRecorder::hostWaited(int rank, const Stream& stream) {
  if (checker_) checker_->hostWaited(rank, stream);
}
void SyncRecorder::hostArrives(int rank, uint64_t meeting) {
  if (checker_) checker_->hostArrives(rank, meeting);
}
void SyncRecorder::hostLeaves(int rank, uint64_t meeting) {
  if (checker_) checker_->hostLeaves(rank, meeting);
}
void SyncRecorder::ended() {
  if (checker_) checker_->ended();
}

}  // namespace tandem::interpreter
