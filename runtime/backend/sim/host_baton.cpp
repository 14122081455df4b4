// Passes the baton between the ranks' host threads in rank order.
#include "runtime/backend/sim/host_baton.h"
#include <algorithm>

namespace tandem::runtime::sim {

HostBaton::HostBaton(int rankCount, std::function<Progress(const std::function<bool()>&)> progress,
                     std::function<void(const std::vector<std::string>&)> stuck)
    : progress_(std::move(progress)), stuck_(std::move(stuck)), hosts_(rankCount) {}

void HostBaton::enter(int rank) {
  std::unique_lock lock(mutex_);
  Host& host = hosts_[rank];
  host.state = State::Blocked;
  host.ready = [] { return true; };
  host.what = "start";
  bool allHere = std::none_of(hosts_.begin(), hosts_.end(), [](const Host& h) { return h.state == State::Absent; });
  if (allHere && holder_ < 0) pass();
  await(rank, lock);
}

void HostBaton::leave(int rank) {
  std::unique_lock lock(mutex_);
  hosts_[rank].state = State::Done;
  if (holder_ == rank && !stopped_) pass();
}

void HostBaton::stop(const std::string& why) {
  std::unique_lock lock(mutex_);
  stopLocked(why);
}

void HostBaton::block(int rank, const std::string& what, std::function<bool()> ready) {
  std::unique_lock lock(mutex_);
  if (stopped_) throw RunStopped(why_);
  if (ready()) return;
  Host& host = hosts_[rank];
  if (host.state != State::Running)
    throw std::logic_error("rank " + std::to_string(rank) + " has not entered or has left");
  host.state = State::Blocked;
  host.ready = std::move(ready);
  host.what = what;
  pass();
  await(rank, lock);
}

bool HostBaton::stopped() const {
  std::unique_lock lock(mutex_);
  return stopped_;
}

void HostBaton::await(int rank, std::unique_lock<std::mutex>& lock) {
  hosts_[rank].wake.wait(lock, [&] { return holder_ == rank || stopped_; });
  if (stopped_) throw RunStopped(why_);
}

void HostBaton::pass() {
  holder_ = -1;
  while (!grantNext()) {
    bool allDone = std::all_of(hosts_.begin(), hosts_.end(), [](const Host& h) { return h.state == State::Done; });
    if (allDone) return;
    switch (progress_([this] { return anyReady(); })) {
      case Progress::Ready:
        break;
      case Progress::Stuck: {
        std::vector<std::string> notes;
        for (size_t r = 0; r < hosts_.size(); ++r)
          if (hosts_[r].state == State::Blocked)
            notes.push_back("the host of rank " + std::to_string(r) + " waits for " + hosts_[r].what);
        stuck_(notes);
        stopLocked("deadlock");
        return;
      }
      case Progress::Interrupted:
        stopLocked("interrupted");
        return;
      case Progress::Error:
        stopLocked("the simulator reported an error");
        return;
    }
  }
}

bool HostBaton::grantNext() {
  int n = int(hosts_.size());
  for (int i = 1; i <= n; ++i) {
    int rank = (lastHolder_ + i + n) % n;
    Host& host = hosts_[rank];
    if (host.state != State::Blocked || !host.ready()) continue;
    host.state = State::Running;
    holder_ = lastHolder_ = rank;
    host.wake.notify_one();
    return true;
  }
  return false;
}

bool HostBaton::anyReady() {
  return std::any_of(hosts_.begin(), hosts_.end(), [](Host& h) { return h.state == State::Blocked && h.ready(); });
}

void HostBaton::stopLocked(const std::string& why) {
  if (stopped_) return;
  stopped_ = true;
  why_ = why;
  for (Host& h : hosts_) h.wake.notify_one();
}

}  // namespace tandem::runtime::sim
