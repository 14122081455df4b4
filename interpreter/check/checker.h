// The checker of races and of misused signals: happens-before by the rules of docs/spec/memory_model.md, each byte's
// last accesses, and a report with both places when two are not ordered.
#pragma once
#include "interpreter/check/history.h"
#include "interpreter/check/locks.h"
#include "interpreter/check/polls.h"
#include "interpreter/check/program_state.h"
#include "interpreter/check/sync.h"
#include "interpreter/vm/machine.h"
#include <functional>
#include <set>
#include <unordered_map>

namespace tandem::interpreter::check {

// A place that accesses memory: an instruction with its kind of access, or an operation of a stream or a host.
struct Site {
  const Program* program = nullptr;
  uint32_t location = 0;
  AccessKind kind{};
  bool strong = false, signal = false;
  Scope scope = Scope::Gpu;
  uint32_t bytes = 0, elementBytes = 0;  // strong only: of one access, and of a vector's elements
  std::optional<Elem> type;              // strong only
  enum class By : uint8_t { Program, Transfer, Collective, Stream, Host, View } by = By::Program;
  bool operator==(const Site&) const = default;
};

// The actor and clock against which an access is judged.
struct View {
  const ProgramState* program = nullptr;  // null: streams, hosts, transfers, collectives
  uint32_t self = 0;                      // its own accesses are in order; 0: none are
  const Clock* clock = nullptr;
  const EarlyView* early = nullptr;  // the access may go ahead of waits: `clock` leaves them out
  bool changes = false;              // MemoryAccess's
  bool narrow = false;               // a fence's scope may leave the other rank out
};

class Checker : public AccessObserver {
 public:
  explicit Checker(Machine& m);

  void access(const MemoryAccess& access) override;
  void wrote(const MemoryAccess& access, uint64_t old, uint64_t now) override;
  std::shared_ptr<void> comesLate(const Run& run) override;
  void freed(int rank, Address address, uint64_t bytes, const std::string& file, uint32_t line) override;
  void lanesDiffer(const MemoryAccess& access) override;
  void dividesByZero(const Run& run) override;
  void forget(Address address, uint64_t bytes) override;
  void waits(const MemoryAccess& access, const AwaitedSignal& signal, bool done) override;
  void threadBarrier(const Run& run) override;
  void warpBarrier(const Run& run) override;
  void namedBarrierArrives(const Run& run, int64_t id, bool completes) override;
  void namedBarrierLeaves(const Run& run, int64_t id) override;
  void groupMeets(const Run& run, Group group) override;
  void threadFence(const Run& run, Semantic semantic, Scope scope) override;
  void proxyFence(const Run& run, bool sharedOnly) override;
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
  void ended() override { flush(); }
  std::vector<Diagnostic> unacquired(Address signal) override;
  std::vector<Diagnostic> writersOf(Address address) override;

 private:
  struct Transfer {       // a put or get, or a bulk copy, knows the state of its issuer's clock
    uint32_t number = 0;  // as in its stamps
    Clock clock;
    Clock carried;  // a put's: the clock that its signal carries
  };
  // A stream or a host: one thread of work.
  struct Serial {
    uint32_t actor = 0, time = 1, grid = 0;
    Clock clock;
    Clock gridBase, gridJoined;
    std::deque<Clock> queued;  // streams: the host's knowledge at each item
    Clock publish() {
      clock.raise(keyOf(actor, kEveryThread), time++);
      return clock;
    }
  };

  // A meeting under way: for each member, its clock when it called, the clock that it learns by the call, and the
  // threads that called.
  struct Meeting {
    struct Caller {
      Clock called, learns;
      Part part = kEveryThread;
    };
    Clock all;
    std::vector<Caller> callers;  // by member
    size_t from = 0;              // the copies at present are of this member's source
  };
  // The barriers of one grid: what those who have come to the present one know, and what the last one has brought.
  struct GridMeeting {
    Clock gathering, done;
    uint32_t arrived = 0;
  };
  // These counts decide, beside the clock and the ends of grids, whether one access happens before another of an actor
  // without knowledge of single threads.
  struct KnownOrder {
    uint32_t self = 0, barrierTime = 0;
    bool isProgram = false, changes = false, narrow = false;
    Part mine = 0, theirs = 0;
    uint32_t actor = 0, time = 0;
    bool operator==(const KnownOrder&) const = default;
  };
  // The answer holds as long as a clock is the same; its copy here keeps the clock's owner from changing it in place.
  struct Answer {
    KnownOrder question;
    Clock clock;
    bool known = false;
  };
  // A rank's last call of a team's barriers and collectives.
  struct TeamCall {
    Stamp by;  // its end, once it has ended
    bool open = false;
  };

  // A late store is judged, and releases, by what its program knew when it came to the store.
  class AsOfThen {
   public:
    AsOfThen(Checker& checker, const MemoryAccess& a)
        : now_(a.late ? &checker.stateOf(*a.run) : nullptr), then_(static_cast<ProgramState*>(a.late)) {
      if (now_) std::swap(*now_, *then_);
    }
    ~AsOfThen() {
      if (now_) std::swap(*now_, *then_);
    }
    AsOfThen(const AsOfThen&) = delete;

   private:
    ProgramState *now_, *then_;
  };

  // --- accesses (accesses.cpp) ---
  void flush();
  bool extendsPending(const MemoryAccess& a);
  void process(const MemoryAccess& a);
  bool judge(const View& v, const MemoryAccess& a, const Stamp& now, const Site& site, Cell& cell, uint64_t address);
  bool ordered(const View& v, const Stamp& now, const Stamp& s, uint64_t begin, uint64_t end, Part* mine,
               Part* theirs) const;
  bool fenced(const View& v, const Stamp& now, const Stamp& s) const;
  bool knows(const View& v, Part mine, const Stamp& s, Part theirs) const;
  bool findOrder(const View& v, Part mine, const Stamp& s, Part theirs) const;
  bool oneKnows(const View& v, Part mine, const Stamp& s, Part theirs) const;
  static bool storesAgain(const View& v, const MemoryAccess& a, const Stamp& now, const Stamp& s);
  bool areOneSize(const Site& a, const Stamp& now, const Site& b, const Stamp& s) const;
  bool compatible(const Site& a, const Stamp& now, const Site& b, const Stamp& s) const;
  bool supersedes(const Site& now, const Site& old) const;
  void remember(const View& v, const Stamp& now, const Site& site, Stamp& last, uint32_t& more, uint64_t begin,
                uint64_t end);
  View viewOf(const MemoryAccess& a);
  Stamp stampOf(const MemoryAccess& a, const View& v);
  uint32_t siteOf(const MemoryAccess& a);
  bool includes(Scope scope, uint32_t from, uint32_t to) const;
  // Returns true if `scope` includes the other actor, or is no narrower than `gpu`, which is enough on today's
  // hardware.
  bool reaches(Scope scope, uint32_t from, uint32_t to) const {
    return scope == Scope::Gpu || includes(scope, from, to);
  }
  bool acquiredUpdate(const View& v, const Stamp& now, const Stamp& s, uint64_t address);

  // --- updates that come in any order (commuting.cpp) ---
  // Releases of updates that a wait can do without, by number, each with what the wait knows if it has done without.
  using Spared = std::map<uint64_t, Release>;
  std::optional<Commuting> commutingOf(const MemoryAccess& a, uint64_t old, uint64_t now) const;
  Spared sparedBy(const MemoryAccess& a, const SyncPlace& place, uint64_t last,
                  const std::function<bool(uint64_t)>& ends);
  struct Window;
  Window windowOf(const SyncPlace& place, uint64_t first, uint64_t last) const;
  bool carries(const Release& r, const Stamp& s) const;
  Release sharedWith(const Release& r, const Window& w, const std::function<bool(size_t)>& isCertain) const;

  // --- releases and acquires (synchronise.cpp) ---
  void synchronise(const MemoryAccess& a);
  static void looks(ProgramState& p, const MemoryAccess& a);
  void publish(const MemoryAccess& a);
  void publishOfProgram(ProgramState& p, const MemoryAccess& a);
  void acquire(const MemoryAccess& a);
  void acquire(const MemoryAccess& a, SyncPlace& place, const Acquired& acquired, const Spared& spared = {});
  void learn(ProgramState* p, Serial* s, const MemoryAccess& a, const Release& r, bool isNarrow);
  void acquireAwaited(const MemoryAccess& a, bool valueUsed, const std::function<bool(uint64_t)>& ends);
  bool acquirePolled(const MemoryAccess& a);
  bool acquireDecided(const MemoryAccess& a, const SyncPlace& place);
  void acquireByProgram(ProgramState& p, const MemoryAccess& a, const Release& r);
  static void learnEarly(ProgramState& p, const MemoryAccess& a, const Release& r);
  bool knowsRelease(const ProgramState& p, const MemoryAccess& a, const Release& r) const;
  void learnFenced(ProgramState& p, Clock& known, const Pending& pending, Scope scope);
  void learnSequential(ProgramState& p, const Run& run, Scope scope);
  static bool isWhole(const MemoryAccess& a) { return a.lane >= kFirstPut; }

  // --- meetings of ranks (meetings.cpp) ---
  Meeting::Caller& callerOf(const Collective& meeting, int rank);
  void beginsCall(const Collective& meeting, const MemoryAccess& call, const Clock& known, Stamp now);
  void endsCall(const Collective& meeting, int rank, const Stamp& end);

  // --- proxy fences (proxies.cpp) ---
  void fenceOfWait(const Run& run, const MemoryAccess& a);
  void addProxyFence(ProgramState& p, const Run& run, bool shared, bool global);
  bool needsProxyFence(const MemoryAccess& a, const Stamp& s) const;
  bool proxyFenced(const View& v, const Stamp& now, const Stamp& s, uint64_t begin, uint64_t end, Part* mine,
                   Part* theirs) const;

  // --- locks (locks.cpp) ---
  void noteLock(const MemoryAccess& a, uint64_t old, uint64_t now);
  void takes(const MemoryAccess& a, uint64_t old);
  void givesBack(const MemoryAccess& a);
  void findCycle(const LockOrder& last);

  // --- signals (signals.cpp) ---
  void learnUpdate(const MemoryAccess& a, SyncPlace& place, uint64_t number);
  static bool knowsUpdate(const View& v, const Stamp& now, const SyncPlace* place, const SignalUpdate& update);
  static uint64_t lastLearnt(const View& v, const Stamp& now, const SyncPlace& place);
  bool knowsWait(const View& v, const Stamp& now, const Stamp& wait) const;
  static void orderSignals(ProgramState& p, Part part, bool whole, Release& r);
  uint64_t lastKnown(const MemoryAccess& a, const SyncPlace& place);
  uint64_t lastCertain(const MemoryAccess& a, const SyncPlace& place);
  bool isOvertaken(const MemoryAccess& a, const AwaitedSignal& signal, SyncPlace& place, uint64_t from);
  void noteWait(SignalUses& uses, const View& v, SignalLook look, const MemoryAccess& a);
  void remember(SyncPlace& place, const MemoryAccess& a, uint64_t old, uint64_t now);
  void exceeded(const MemoryAccess& a, const SyncPlace& place);
  static std::string valueText(uint64_t value, uint64_t bytes);
  void misuse(const MemoryAccess& a, const Stamp& other, std::string message, std::string otherText,
              ReportKind kind = ReportKind::SignalMisuse);

  // --- flags and counters that are no signals (resets.cpp) ---
  static Counts countsOf(const MemoryAccess& a);
  static bool isBlind(const MemoryAccess& a, RmwOp op);
  bool comesAfter(const MemoryAccess& a, const SyncPlace& place, uint64_t number);
  void asksForStore(const MemoryAccess& a);
  void findLost(const MemoryAccess& a, SyncPlace& place);
  void tellLost(const MemoryAccess& a, SyncPlace& place, uint64_t other);
  void findClash(const MemoryAccess& a, SyncPlace& place, bool waitsHere, const std::function<bool(uint64_t)>& ends);

  // --- reports (explain.cpp) ---
  void report(const View& v, const MemoryAccess& a, const Stamp& now, const Stamp& s, uint64_t begin, uint64_t end,
              Part mine, Part theirs, const std::string& missing = "");
  ReportKind kindOf(const View& v, const Stamp& now, const Stamp& s, uint64_t begin, uint64_t end) const;
  void reportPortability(const View& v, const MemoryAccess& a, const Stamp& now, const Stamp& s, uint64_t begin,
                         uint64_t end);
  void reportFreed(const Stamp& s, Part theirs, uint64_t begin, uint64_t bytes, const std::string& file, uint32_t line);
  // The edge that would have ordered two accesses, named by its rule, with notes on other places of it.
  struct Missing {
    std::string text;
    std::vector<Diagnostic> notes = {};
    Missing(const char* t) : text(t) {}
    Missing(std::string t, std::vector<Diagnostic> n = {}) : text(std::move(t)), notes(std::move(n)) {}
  };
  Missing missingEdge(const View& v, const Stamp& now, const Stamp& s, Part mine, Part theirs);
  Missing missingBetween(const View& v, const Stamp& now, const Stamp& s, Part mine, Part theirs);
  bool knowsSibling(const Clock& known, uint32_t actor, uint32_t other) const;
  Missing missedBy(uint32_t actor, const Stamp& s, Part theirs, bool stale);
  Missing missedThrough(uint32_t actor, const Stamp& s, Part theirs);
  std::vector<Diagnostic> endedEarly(uint32_t actor,
                                     const std::function<bool(const SyncPlace&, const SyncPlace::Look&)>& isIt,
                                     const std::function<bool(const Release&)>& brings = {});
  Missing missingOfTransfer(const View& v, const Stamp& now, const Stamp& s, Part mine, Part theirs);
  std::string actorText(const Stamp& s, Part thread) const;
  std::string accessText(const Site& site) const;
  Diagnostic placeOfStamp(const Stamp& s) const;
  Report begin(const Stamp& now, ReportKind kind) const;
  // Returns true if no report of these two places has been made yet, and this one is to be told.
  bool isNew(ReportKind kind, const Stamp& a, const Stamp& b);
  // The last one that is told ends the run; `scope` and `portability` never do.
  void tell(Report r);

  ProgramState& stateOf(const Run& run) { return *programs_[run.observed]; }
  Serial& serialOf(const Stream& stream);
  Serial& hostOf(int rank) { return hosts_[size_t(rank)]; }
  void prune(Clock& clock) const;
  uint32_t newKey() {
    endedKeys_.push_back(false);
    return uint32_t(endedKeys_.size() - 1);
  }
  void orderLater(const Run& run, bool transfers, int peer);
  Stamp comesInTurn(const ProgramState& p, const Run& run, const ProgramState::NamedBarrier& barrier, int64_t id);
  Clock carriedByLoad(const MemoryAccess& a);
  Clock callerClock(ProgramState& p, const Run& run);
  void learnByCaller(ProgramState& p, const Run& run, const Clock& clock);

  Machine& m_;
  Actors actors_;
  History history_;
  ByAddress<SyncPlace> sync_;
  uint64_t remembered_ = 0;  // updates of all places
  ByAddress<SignalUses> signals_;
  Polls polls_;
  std::vector<std::unique_ptr<ProgramState>> programs_;           // by actor, while they run
  std::unordered_map<uint32_t, std::pair<Missed, Clock>> ended_;  // of programs that have ended, for explanations
  std::deque<Serial> hosts_, streams_;                            // streams by Task::observed - 1
  std::unordered_map<const Collective*, Meeting> meetings_;
  std::map<std::pair<int, int64_t>, TeamCall> teamCalls_;   // by rank and team
  std::unordered_map<uint32_t, GridMeeting> gridMeetings_;  // by grid
  std::map<std::pair<Scope, uint32_t>, Clock> sequential_;  // what `sc` fences have ordered: of a program, a rank, all
  std::unordered_map<EventId, Clock> events_;
  std::map<uint64_t, Clock> hostMeetings_;
  std::vector<Site> sites_{1};
  std::unordered_map<size_t, std::vector<uint32_t>> siteIndex_;
  uint32_t lastSite_ = 0;
  uint32_t transfers_ = 0;
  std::vector<uint32_t> transferOwners_{0};  // actors, by number
  std::vector<bool> endedKeys_{true};        // of signals and named barriers: true where they are no more
  mutable std::array<Answer, 16> answers_;   // of knows(), since a grid ended last
  Stamp lastStrong_;                         // before its release advanced the time
  bool hasChain_ = false;                    // the current access has acquired all that its place's chain carries
  struct ProxyFence {
    Clock common, extra, own;  // what its thread knew, in parts
  };
  std::vector<ProxyFence> proxyFences_{1};  // by number
  std::unordered_map<const Program*, bool> copiesInBulk_;
  std::map<std::pair<uint32_t, Part>, std::vector<HeldLock>> held_;  // by actor and thread
  LockOrders lockOrders_;
  uint64_t unknownStore_ = 0;  // the last store of its word that the present atomic does not come after
  std::set<std::tuple<ReportKind, size_t, size_t>> told_;
  size_t serious_ = 0, minor_ = 0;  // how many were told
  MemoryAccess pending_;
  bool hasPending_ = false;
};

}  // namespace tandem::interpreter::check
