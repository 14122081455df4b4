// Host threads, one a rank, of which exactly one runs at a time, so that a simulated run is the same every time.
// A host that has to wait gives the baton away; when no host can go on, the simulated devices run on the giver's
// thread.
#pragma once
#include "runtime/session.h"
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace tandem::runtime::sim {

using runtime::RunStopped;

class HostBaton {
 public:
  enum class Progress { Ready, Error, Stuck, Interrupted };
  // `progress(anyReady)` runs the devices until anyReady() or they cannot go on. `stuck(notes)` reports a deadlock, one
  // note a blocked host.
  HostBaton(int rankCount, std::function<Progress(const std::function<bool()>&)> progress,
            std::function<void(const std::vector<std::string>&)> stuck);

  void enter(int rank);  // waits for all ranks to enter, then for this rank's turn
  void leave(int rank);  // this rank's main has returned; never blocks
  void stop(const std::string& why);  // every rank's current or next blocking call throws RunStopped(why)
  // Waits until ready() (called with no other host running). `what` describes the wait in a deadlock report.
  void block(int rank, const std::string& what, std::function<bool()> ready);
  bool stopped() const;

 private:
  enum class State { Absent, Running, Blocked, Done };
  struct Host {
    State state = State::Absent;
    std::function<bool()> ready;
    std::string what;
    std::condition_variable wake;
  };
  void pass();  // the caller holds mutex_ and no longer runs
  bool grantNext();
  bool anyReady();
  void stopLocked(const std::string& why);
  void await(int rank, std::unique_lock<std::mutex>& lock);

  std::function<Progress(const std::function<bool()>&)> progress_;
  std::function<void(const std::vector<std::string>&)> stuck_;
  mutable std::mutex mutex_;
  std::vector<Host> hosts_;
  int holder_ = -1;
  int lastHolder_ = -1;
  bool stopped_ = false;
  std::string why_;
};

}  // namespace tandem::runtime::sim
