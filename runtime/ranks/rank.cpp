// A rank comes, goes and stops.
#include "runtime/ranks/collective.h"
#include "runtime/ranks/wire.h"
#include <algorithm>
#include <numeric>
#include <thread>

namespace tandem::runtime::ranks {
namespace {

// The first rank that got here begins the run's time.
std::unique_ptr<RankTrace> traceFor(Rendezvous& meeting, const RankPlace& place, Device& device, Stream aside) {
  std::vector<int> world(static_cast<size_t>(place.rankCount));
  std::iota(world.begin(), world.end(), 0);
  int64_t origin = hostClockNs();
  for (const Packet& p : meeting.gather(world, "start of the trace", Writer().put(origin).bytes))
    origin = std::min(origin, Reader(p.bytes).get<int64_t>());
  return std::make_unique<RankTrace>(place.rank, device, aside, origin);
}

}  // namespace

Rank::Open::Open(Rendezvous& meeting, const Platform& platform, const RankOptions& o, Device& device)
    : device(device), watch(device, o.waitTimeoutMs), streams(device), events(device),
      waits(watch, o.waitTimeoutMs > 0), fabric(platform.connect(meeting, device, o.place)), heap(fabric->heap()),
      trace(o.trace ? traceFor(meeting, o.place, device, streams.aside()) : nullptr),
      context(meeting, heap, o.place.rank, o.place.rankCount, device, {watch.onDevice(), trace ? trace->address() : 0},
              streams.aside()),
      local(device, events), published(fabric->publish(context.address())) {}

Rank::Part::Part(Open& open, Rendezvous& meeting, const RankOptions& options, const std::vector<int>& members)
    : members(members), index(indexOf(members, options.place.rank)),
      heap(open.fabric->heapOf(meeting, open.device, options.place, members)),
      context(meeting, *heap, index, int(members.size()), open.device,
              {open.watch.onDevice(), open.trace ? open.trace->address() : 0}, open.streams.aside()) {}

Rank::Rank(const RankOptions& options, const Platform& platform)
    : options_(options), platform_(platform), facts_(platform.facts(options.place.device)),
      meeting_({options.rendezvous, options.place.rank, options.place.rankCount}, [this] {
        if (Watch* watch = watch_) watch->stop();
      }) {}

std::string Rank::target() const {
  return facts_.target + (options_.trace ? "+trace" : "") +
         (open_ ? open_->fabric->targetSuffix() : platform_.expectedSuffix());
}

Rank::~Rank() {
  if (open_) abort("its session was closed before it left");
}

void Rank::enter() {
  if (open_) throw std::logic_error("rank " + std::to_string(me()) + " has entered before");
  try {
    meeting_.meet();
    device_ = platform_.open(options_.place.device);
    BesideCapture beside(*device_);
    open_ = std::make_unique<Open>(meeting_, platform_, options_, *device_);
    watch_ = &open_->watch;
    if (meeting_.stopped()) open_->watch.stop();
  } catch (const std::exception& e) {
    meeting_.stop(
        reportOf(ReportKind::RankFailed, me(), "rank " + std::to_string(me()) + " cannot start: " + e.what()));
    std::lock_guard lock(mutex_);
    reports_.push_back(meeting_.reason());
    throw;
  }
}

Rank::Open& Rank::running() {
  if (meeting_.stopped()) throwStopped();
  if (!open_) throw std::logic_error("rank " + std::to_string(me()) + " has not entered or has left");
  if (open_->watch.gaveUp()) checkProgress();
  return *open_;
}

uint64_t Rank::openOperator(OperatorName name, int team) {
  Open& o = running();
  int first = 0;
  if (team) {
    name.ranks = o.context.membersOf(team);
    first = name.ranks.front();
  }
  uint64_t op = operatorNumber(team, first, operators_[team]++);
  meeting_.noteOperator(op, name);
  return op;
}

void Rank::callOperator(uint64_t op, StreamId stream, std::span<const int64_t> sizes) {
  Open& o = running();
  if (!meeting_.hasOperator(op)) throw std::out_of_range("operator " + std::to_string(op) + " was never opened");
  bool isQueued = !sizes.empty() && !o.streams.capturing(stream);
  meeting_.noteCall({op, isQueued ? stream : kNoStream}, sizes);
}

void Rank::throwStopped() {
  settle();
  told_ = true;
  meeting_.throwStopped();
}

// Once after the run has stopped: streams come to an end, and all ranks have one reason.
void Rank::settle() {
  if (settled_) return;
  settled_ = true;
  if (open_) stuck_ = !drain();
  RunReport reason = meeting_.reason();
  bool waited = open_ && !stuck_ && open_->watch.gaveUp();
  std::lock_guard lock(mutex_);
  reports_.push_back(reason);
  if (!waited) return;
  RunReport note = describeWait();
  if (reason.kind == note.kind && reason.rank == me()) return;
  note.severity = Severity::Note;
  note.text.replace(note.text.find("error: "), 7, "note: ");
  reports_.push_back(note);
}

bool Rank::allIdle() const {
  for (StreamId id = 0; id < open_->streams.count(); ++id)
    if (!open_->streams.capturing(id) && !open_->streams.idle(id)) return false;
  return true;
}

// Kernels see the watch; streams are held by words, which are written until no stream is held. False: something goes
// on, or the device does not answer; its memory cannot be given back then.
bool Rank::drain() {
  constexpr std::chrono::seconds patience{10};
  auto deadline = std::chrono::steady_clock::now() + patience;
  open_->watch.stop();
  try {
    BesideCapture beside(*device_);
    for (size_t round = 0; !allIdle(); ++round) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      open_->waits.letGo(*device_, open_->streams.aside(), round);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    return true;
  } catch (const std::exception&) {
    return false;  // the call that met the device's error has reported it
  }
}

void Rank::leave() {
  if (!open_) return;
  bool told = told_;
  meeting_.noteLeaving();
  try {
    synchronize();
    collective([&] {
      open_->fabric->end();
      meeting_.compareLastCalls();
    });
  } catch (const RunStopped&) {
    close();
    if (!told) throw;
    return;
  } catch (const std::exception& e) {
    abort(e.what());
    throw;
  }
  close();
}

void Rank::abort(const std::string& why) {
  std::string who = "rank " + std::to_string(me());
  meeting_.stop(reportOf(ReportKind::RankFailed, me(), who + " failed: " + why));
  settle();
  close();
}

// The streams are idle.
void Rank::collectTrace() {
  if (!open_ || !open_->trace || stuck_) return;
  interpreter::Trace trace;
  RunReport report;
  try {
    trace = open_->trace->collect();
    if (trace.lost)
      report = reportOf(
          ReportKind::Trace, me(),
          "the trace of rank " + std::to_string(me()) + " has no room for " + std::to_string(trace.lost) + " records");
  } catch (const std::exception& e) {
    report =
        reportOf(ReportKind::Trace, me(), "the trace of rank " + std::to_string(me()) + " cannot be read: " + e.what());
  }
  std::lock_guard lock(mutex_);
  trace_ = std::move(trace);
  if (report.kind.empty()) return;
  reports_.push_back(std::move(report));
}

interpreter::Trace Rank::trace() const {
  std::lock_guard lock(mutex_);
  return trace_;
}

// After this no other rank's thread uses the rank.
void Rank::close() {
  collectTrace();
  meeting_.leave();
  watch_ = nullptr;
  if (stuck_) (void)open_.release(), (void)device_.release();  // the device may still use them
  open_.reset();
  device_.reset();
}

std::vector<RunReport> Rank::reports() const {
  std::lock_guard lock(mutex_);
  return reports_;
}

}  // namespace tandem::runtime::ranks
