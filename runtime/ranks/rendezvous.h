// The ranks of one machine meet here: each is connected to each, threads and processes alike. A Rendezvous carries
// small messages and file descriptors, notices at once when a rank is gone, and makes every rank end with the same
// reason. It knows nothing of GPUs.
#pragma once
#include "base/call_order.h"
#include "base/report_kinds.h"
#include "runtime/ranks/unix_socket.h"
#include "runtime/session.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace tandem::runtime::ranks {

struct RendezvousOptions {
  std::string name;  // the same on all ranks, of no other run at this time
  int rank = 0, rankCount = 1;
  std::chrono::milliseconds patience{120000};  // with ranks that have not come
};

// One rank's end. Calls are its host thread's, but for stop, interrupt, stopped and reason: any thread's.
class Rendezvous {
 public:
  // `onStop`: called once, from any thread, when the run has to end.
  Rendezvous(const RendezvousOptions& options, std::function<void()> onStop);
  ~Rendezvous();  // without leave(): the others see that this rank is gone

  // [all ranks] Throws RunStopped that names the ranks which did not come.
  void meet();
  // [all `members`, world ranks, this one among them] Returns each member's contribution, in the members' order. `what`
  // names the call: another call on another rank stops the run. Throws RunStopped.
  std::vector<Packet> gather(const std::vector<int>& members, const std::string& what, const std::string& bytes,
                             std::span<const int> descriptors = {});
  void barrier(const std::vector<int>& members, const std::string& what) { gather(members, what, {}); }
  // These note the operators that this rank makes and calls. The ranks' monitors compare the notes every kTick, and
  // stop the run where two calls differ.
  void noteOperator(uint64_t op, const OperatorName& name);  // has made it
  bool hasOperator(uint64_t op);
  void noteCall(OrderedCall call, std::span<const int64_t> sizes);
  void noteLeaving();  // there are no more
  // Waits until the calls so far have been compared, if they can be, so that a difference is reported before its
  // consequences.
  void awaitComparison() const;
  // Before leave(): compares what this rank and the others have called last, as far as they have told it. Of two ranks
  // at least the later one sees a difference. Throws RunStopped.
  void compareLastCalls();
  // Ends this rank's part: the others go on without it. A wait of another rank for a message of this one then stops
  // that rank.
  void leave();  // and reads no more from them

  // The run ends: all ranks' calls throw. The first reason counts.
  void stop(RunReport reason);
  void interrupt();  // as stop, from a signal handler too
  bool stopped() const { return stopped_; }
  // Why; the same on every rank: waits a moment until all have been heard. Only after stopped().
  RunReport reason();
  [[noreturn]] void throwStopped();
  void checkRunning() {
    if (stopped_) throwStopped();
  }

 private:
  struct Peer {
    Descriptor socket;
    std::deque<Packet> inbox;
    std::optional<RunReport> heard;  // the peer's reason to stop
    bool left = false, gone = false;
  };
  enum class Kind : uint32_t { Hello = 0x74640001, Data, Stop, Goodbye, Calls };
  static constexpr std::chrono::milliseconds kTick{100};

  void wake();
  void endMonitor();
  std::string nameOf(int rank) const;
  void connectToLower();
  void acceptHigher(const Descriptor& listener);
  bool greet(Descriptor socket);
  std::vector<int> missing() const;
  [[noreturn]] void failMeeting(const std::string& why);
  void sendTo(int peer, Kind kind, const std::string& bytes, std::span<const int> descriptors = {});
  void awaitPackets(const std::vector<int>& members, const std::string& what);
  std::vector<Packet> takePackets(const std::vector<int>& members, const std::string& what, const std::string& bytes);

  void monitor();
  bool tellCalls();  // false: somebody does not listen now
  void hearCalls(int peer, const std::string& bytes);
  std::pair<std::vector<OperatorCalls>, std::vector<OrderedCall>> takeUntold();
  bool othersListen() const;
  void compare(int rank, const OperatorCalls& calls);
  void reportCircle();
  void readFrom(int peer);
  void handle(int peer, Packet packet);
  void lose(int peer);
  bool allHeard() const;

  RendezvousOptions options_;
  std::function<void()> onStop_;
  std::vector<Peer> peers_;  // its own entry stays empty
  Descriptor wake_;          // an event descriptor: interrupts and the end of the monitor
  std::thread monitor_;
  std::atomic<bool> stopped_ = false, interrupted_ = false, closing_ = false;
  mutable std::mutex mutex_;  // peers' inboxes and states, reason_
  std::condition_variable changed_;
  std::optional<RunReport> reason_;
  CallLog calls_;    // the monitor's
  CallOrder order_;  // the monitor's
  std::atomic<bool> callsAny_ = false;
  std::mutex callsMutex_;
  std::map<uint64_t, std::deque<OperatorCalls>> untold_;  // of this rank, by operator
  std::deque<OrderedCall> untoldOrder_;
  bool leaving_ = false;  // and has not told so
};

// Returns a report without a place.
RunReport reportOf(ReportKind kind, int rank, const std::string& message);

}  // namespace tandem::runtime::ranks
