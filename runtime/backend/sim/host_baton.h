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
  // Limit: the run takes more steps or time than it may.
  enum class Progress { Ready, Error, Stuck, Interrupted, Limit };
  // `progress(anyReady)` runs the devices until anyReady() or they cannot go on. `ended(why, notes)` reports that the
  // run is Stuck or over its Limit, with one note for each blocked host. `mayGoOn()` is asked in each call that may
  // block: false when the run is over its limit.
  HostBaton(int rankCount, std::function<Progress(const std::function<bool()>&)> progress,
            std::function<void(Progress, const std::vector<std::string>&)> ended, std::function<bool()> mayGoOn);

  void enter(int rank);  // waits for all ranks to enter, then for this rank's turn
  void leave(int rank);  // this rank's main has returned; never blocks
  // its main has failed: the others and the devices go on as far as they can without it
  void fail(int rank, const std::string& why);
  void expire();  // the run is over its limit
  // Every rank's current or next blocking call throws RunStopped(why). Still one host runs at a time: the next one goes
  // on when the one that runs has left or failed.
  void stop(const std::string& why);
  // Waits until ready() (called with no other host running). `what` describes the wait in the report of a run that is
  // stuck.
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
  void letDevicesRun();
  void end(Progress why);
  void stopLocked(const std::string& why);
  void await(int rank, std::unique_lock<std::mutex>& lock);

  std::function<Progress(const std::function<bool()>&)> progress_;
  std::function<void(Progress, const std::vector<std::string>&)> ended_;
  std::function<bool()> mayGoOn_;
  mutable std::mutex mutex_;
  std::vector<Host> hosts_;
  int holder_ = -1;
  int lastHolder_ = -1;
  int polls_ = 0;  // calls of the holder that need not have waited, since it got the baton
  // how often hosts have given way since there was last something to do for the devices, or to wait for
  int64_t idlePolls_ = 0;
  bool stopped_ = false;
  std::string why_;
  std::string failure_;  // of the first main that failed
};

}  // namespace tandem::runtime::sim
