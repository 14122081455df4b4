// Passes the baton between the ranks' host threads in rank order.
#include "runtime/backend/sim/host_baton.h"
#include <algorithm>
#include <utility>

namespace tandem::runtime::sim {

constexpr int kPolls = 64;  // a host that polls so often gives way to the devices and to the other hosts
// once a rank has failed, the others give way so often each with nothing for the devices to do
constexpr int kIdlePolls = 16;

HostBaton::HostBaton(int rankCount, std::function<Progress(const std::function<bool()>&)> progress,
                     std::function<void(Progress, const std::vector<std::string>&)> ended,
                     std::function<bool()> mayGoOn)
    : progress_(std::move(progress)), ended_(std::move(ended)), mayGoOn_(std::move(mayGoOn)), hosts_(rankCount) {}

void HostBaton::enter(int rank) {
  std::unique_lock lock(mutex_);
  Host& host = hosts_[rank];
  host.state = State::Blocked;
  host.ready = [] { return true; };
  host.what = "start";
  bool allHere = std::none_of(hosts_.begin(), hosts_.end(), [](const Host& h) { return h.state == State::Absent; });
  if ((allHere || stopped_) && holder_ < 0) pass();
  await(rank, lock);
}

void HostBaton::leave(int rank) {
  std::unique_lock lock(mutex_);
  hosts_[rank].state = State::Done;
  if (holder_ == rank) pass();
}

void HostBaton::fail(int rank, const std::string& why) {
  std::unique_lock lock(mutex_);
  hosts_[rank].state = State::Done;
  if (failure_.empty()) failure_ = why;
  if (holder_ == rank) pass();
}

void HostBaton::expire() {
  std::unique_lock lock(mutex_);
  if (!stopped_) end(Progress::Limit);
}

void HostBaton::stop(const std::string& why) {
  std::unique_lock lock(mutex_);
  stopLocked(why);
  if (holder_ < 0) pass();  // not all ranks have entered, or all have left
}

void HostBaton::block(int rank, const std::string& what, std::function<bool()> ready) {
  std::unique_lock lock(mutex_);
  if (stopped_) throw RunStopped(why_);
  if (!mayGoOn_()) {
    end(Progress::Limit);
    throw RunStopped(why_);
  }
  if (ready() && ++polls_ < kPolls) return;
  if (ready())
    letDevicesRun();
  else
    idlePolls_ = 0;
  if (stopped_) throw RunStopped(why_);
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
  hosts_[rank].wake.wait(lock, [&] { return holder_ == rank; });
  if (stopped_) throw RunStopped(why_);
}

void HostBaton::pass() {
  holder_ = -1;
  while (!grantNext()) {
    if (stopped_) return;
    bool allDone = std::all_of(hosts_.begin(), hosts_.end(), [](const Host& h) { return h.state == State::Done; });
    if (allDone && failure_.empty()) return;
    switch (Progress how = progress_([this] { return anyReady(); })) {
      case Progress::Ready: break;
      case Progress::Stuck:
        if (failure_.empty())
          end(how);
        else
          stopLocked(failure_);  // the hosts that are left wait for the rank that failed
        break;
      case Progress::Limit: end(how); break;
      case Progress::Interrupted: stopLocked("interrupted"); break;
      case Progress::Error: stopLocked("the simulator reported an error"); break;
    }
  }
}

// Runs the devices until a stream becomes idle or nothing can run.
void HostBaton::letDevicesRun() {
  bool isFirst = true;
  Progress how = progress_([&] { return !std::exchange(isFirst, false); });
  if (how == Progress::Limit) end(how);
  if (how == Progress::Error) stopLocked("the simulator reported an error");
  if (how == Progress::Interrupted) stopLocked("interrupted");
  if (how != Progress::Stuck) idlePolls_ = 0;
  if (how != Progress::Stuck || failure_.empty()) return;
  auto goesOn = std::count_if(hosts_.begin(), hosts_.end(), [](const Host& h) { return h.state != State::Done; });
  // the hosts that are left poll for the work of the failed rank
  if (++idlePolls_ >= kIdlePolls * goesOn) stopLocked(failure_);
}

void HostBaton::end(Progress why) {
  std::vector<std::string> notes;
  for (size_t r = 0; r < hosts_.size(); ++r)
    if (hosts_[r].state == State::Blocked)
      notes.push_back("the host of rank " + std::to_string(r) + " waits for " + hosts_[r].what);
  ended_(why, notes);
  stopLocked(why == Progress::Stuck ? "nothing can change any more" : "the run is over its limit");
}

bool HostBaton::grantNext() {
  int n = int(hosts_.size());
  for (int i = 1; i <= n; ++i) {
    int rank = (lastHolder_ + i + n) % n;
    Host& host = hosts_[rank];
    if (host.state != State::Blocked || !(stopped_ || host.ready())) continue;
    host.state = State::Running;
    holder_ = lastHolder_ = rank;
    polls_ = 0;
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
}

}  // namespace tandem::runtime::sim
