// The public face: memory, teams, streams and progress over the machine and its scheduler.
#include "interpreter/world.h"
#include "interpreter/schedule/scheduler.h"
#include "interpreter/vm/fail.h"
#include <chrono>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <mutex>
#include <utility>

namespace tandem::interpreter {
namespace {

void hostReport(Machine& m, int rank, ReportKind kind, std::string message, const std::string& file, uint32_t line,
                std::vector<Diagnostic> notes = {}) {
  Report r{kind};
  r.rank = rank;
  r.message = std::move(message);
  r.notes = std::move(notes);
  if (!file.empty()) r.notes.insert(r.notes.begin(), note("called at " + hostLineText(file, line)));
  m.reports.push_back(std::move(r));
  m.failed = true;
}

}  // namespace

// The number of a team's n-th meeting among those of all teams.
static uint64_t meetingOf(int team, uint64_t n) { return uint64_t(team) << 40 | n; }

World::World(const WorldOptions& options) : impl_(std::make_unique<Impl>(options)) {}

// What a run had goes back to the system. The ranks' threads have arenas of their own, whose idle memory a later run's
// threads may not find. Where a process has much idle memory that is scattered, looking for it takes longer than a short run does:
// so that is done for a twentieth of the time.
World::~World() {
  impl_.reset();
#ifdef __GLIBC__
  using Clock = std::chrono::steady_clock;
  constexpr size_t kMostIdle = 64 << 20;
  static std::mutex one;
  static Clock::time_point next;
  std::unique_lock lock(one, std::try_to_lock);
  Clock::time_point begin = Clock::now();
  if (!lock || begin < next) return;
  if (mallinfo2().fordblks > kMostIdle) malloc_trim(0);
  Clock::time_point end = Clock::now();
  next = end + 20 * (end - begin);
#endif
}

const WorldOptions& World::options() const { return impl_->m.options; }

Address World::allocate(int rank, uint64_t bytes, MemoryKind kind, bool initialised, const std::string& given,
                        const std::string& hostFile, uint32_t hostLine, int team) {
  Machine& m = impl_->m;
  const std::string name = given.empty() ? "unnamed " + std::to_string(++impl_->ranks[size_t(rank)].unnamed) : given;
  Arena::Allocated got = m.arena.allocate(rank, bytes, kind, initialised, {team, *m.team(team, rank)});
  if (got.asymmetric) {
    hostReport(m, rank, ReportKind::AsymmetricAllocation,
               "symmetric allocation `" + name + "` has " + std::to_string(bytes) + " bytes on rank " +
                   std::to_string(rank) + ", but " + std::to_string(got.otherBytes) + " on another rank",
               hostFile, hostLine);
    return 0;
  }
  if (!got.allocation) {
    hostReport(
        m, rank, ReportKind::OutOfMemory,
        "no room for `" + name + "` of " + std::to_string(bytes) + " bytes in the heap of rank " + std::to_string(rank),
        hostFile, hostLine);
    return 0;
  }
  got.allocation->name = name;
  got.allocation->hostFile = hostFile;
  got.allocation->hostLine = hostLine;
  if (m.observer) m.observer->forget(got.allocation->begin, bytes);
  if (kind == MemoryKind::Symmetric) hostArrives(rank, team);
  return got.allocation->begin;
}

void World::release(int rank, Address address, const std::string& hostFile, uint32_t hostLine) {
  Machine& m = impl_->m;
  Allocation* a = m.arena.find(address);
  bool isBuffer = a && a->begin == address && a->rank == rank && !a->shared && !a->freed;
  if (isBuffer && m.arena.unmap(*a)) return;
  if (isBuffer) impl_->logEnd(*a);
  if (isBuffer && m.observer && a->kind == MemoryKind::Symmetric)
    m.observer->freed(rank, address, a->end - a->begin, hostFile, hostLine);
  switch (m.arena.release(rank, address, &a)) {
    case Arena::Freed::Ok:
      a->freedFile = hostFile;
      a->freedLine = hostLine;
      return;
    case Arena::Freed::Double:
      return hostReport(m, rank, ReportKind::DoubleFree, "`" + a->name + "` is freed twice", hostFile, hostLine,
                        a->freedFile.empty()
                            ? std::vector<Diagnostic>{}
                            : std::vector{note("first freed at " + hostLineText(a->freedFile, a->freedLine))});
    case Arena::Freed::Invalid: {
      std::string text =
          "free of " + hex(address) + ", which is not the start of a buffer of rank " + std::to_string(rank);
      if (a)
        text += "; it is at byte offset " + std::to_string(address - a->begin) + " of `" + a->name + "` of rank " +
                std::to_string(a->rank);
      return hostReport(m, rank, ReportKind::InvalidFree, text, hostFile, hostLine);
    }
  }
}

Address World::mapHost(int rank, const HostMemory& memory, const std::string& hostFile, uint32_t hostLine) {
  Allocation* a = impl_->m.arena.map(rank, memory);
  if (!a) {
    hostReport(impl_->m, rank, ReportKind::OutOfMemory,
               "no room for `" + memory.name + "` of " + std::to_string(memory.bytes) + " bytes in the heap of rank " +
                   std::to_string(rank),
               hostFile, hostLine);
    return 0;
  }
  if (a->uses > 1) return a->begin;
  a->hostFile = hostFile;
  a->hostLine = hostLine;
  if (impl_->m.observer) impl_->m.observer->forget(a->begin, memory.bytes);
  return a->begin;
}

void World::setHostFinder(std::function<std::optional<HostMemory>(Address)> finder) {
  impl_->m.findHostMemory = std::move(finder);
}

void World::markInitialised(Address address, uint64_t bytes) {
  Machine& m = impl_->m;
  Allocation* a = m.arena.find(address);
  if (!a || bytes == 0 || a->initialised) return;
  bytes = std::min(bytes, a->end - address);
  if (address == a->begin && bytes == a->end - a->begin)
    a->initialised = true;
  else
    m.arena.shadow().set(address, bytes);
}

bool World::isWritten(Address address, uint64_t bytes) const {
  const Allocation* a = impl_->m.arena.find(address);
  return !a || !a->viewed || impl_->m.arena.views().firstSet(address, bytes) == bytes;
}

void World::setHostPlace(int rank, const std::string& file, uint32_t line) {
  impl_->ranks[size_t(rank)].hostLocation = impl_->m.hostPlaces.indexOf(file, line);
}

uint32_t World::hostPlace(int rank) const { return impl_->ranks[size_t(rank)].hostLocation; }

void World::reportMismatch(std::pair<int, uint32_t> here, std::pair<int, uint32_t> there, const std::string& message) {
  Machine& m = impl_->m;
  auto placeAt = [&](uint32_t place) {
    return place == kNoLocation ? note("") : placeOf(m.hostPlaces.program(), place);
  };
  Diagnostic place = placeAt(here.second), other = placeAt(there.second);
  other.message = "rank " + std::to_string(there.first) + " is here";
  Report r{ReportKind::CollectiveMismatch};
  r.message = message;
  r.rank = here.first;
  r.file = place.file;
  r.range = place.range;
  if (there.second != kNoLocation) r.notes.push_back(std::move(other));
  m.reports.push_back(std::move(r));
  m.failed = true;
}

void World::hostAccess(int rank, Address address, uint64_t bytes, HostAccess how) {
  impl_->hostAccess(rank, address, bytes, how);
}

void World::hostWaited(int rank) {
  for (StreamId s = 0; s < impl_->ranks[size_t(rank)].streams.size(); ++s) hostWaited(rank, s);
}

void World::hostWaited(int rank, StreamId stream) {
  Machine& m = impl_->m;
  if (m.observer) m.observer->hostWaited(rank, *impl_->ranks[size_t(rank)].streams[stream]);
  if (!m.foundHostMemory.empty() && idle(rank))
    for (Address found : std::exchange(m.foundHostMemory[rank], {})) release(rank, found);
}

void World::hostArrives(int rank, int team) {
  uint64_t meeting = meetingOf(team, ++impl_->ranks[size_t(rank)].meetings[team]);
  if (impl_->m.observer) impl_->m.observer->hostArrives(rank, meeting);
}

void World::hostLeaves(int rank, int team) {
  uint64_t meeting = meetingOf(team, impl_->ranks[size_t(rank)].meetings[team]);
  if (impl_->m.observer) impl_->m.observer->hostLeaves(rank, meeting);
}

Address World::heapBase() const { return impl_->m.arena.base(); }
uint64_t World::heapStride() const { return impl_->m.arena.stride(); }
bool World::isSymmetric(int rank, Address address) const {
  return impl_->m.arena.rankOf(address) == rank && impl_->m.arena.isSymmetric(address);
}
int World::teamAt(Address address) const {
  const Allocation* a = impl_->m.arena.find(address);
  return a && !a->shared && a->kind == MemoryKind::Symmetric ? a->team : -1;
}
const std::vector<int>& World::membersOf(int team) const { return *impl_->m.team(team, 0); }
std::string World::nameAt(Address address) const {
  const Allocation* a = impl_->m.arena.find(address);
  return a ? "`" + a->name + "` of rank " + std::to_string(a->rank) : "address " + hex(address);
}

int World::createTeam(const std::vector<int>& members) {
  int id = impl_->m.nextTeam++;
  impl_->m.teams[id] = members;
  return id;
}

StreamId World::createStream(int rank) {
  auto& streams = impl_->ranks[size_t(rank)].streams;
  streams.push_back(impl_->makeStream(rank, StreamId(streams.size())));
  return streams.back()->id;
}

void World::launch(int rank, StreamId stream, Launch launch) {
  StreamItem item{.kind = ItemKind::Launch};
  item.launch = std::move(launch);
  item.done = ++impl_->ranks[size_t(rank)].launches;
  impl_->enqueue(rank, stream, std::move(item));
}

void World::copyAsync(int rank, StreamId stream, Address dest, Address source, uint64_t bytes) {
  copyRowsAsync(rank, stream, dest, 0, source, 0, bytes, 1);
}

void World::copyRowsAsync(int rank, StreamId stream, Address dest, uint64_t destPitch, Address source,
                          uint64_t sourcePitch, uint64_t bytes, uint64_t rows) {
  if (!rows) return;
  impl_->enqueue(rank, stream,
                 {.kind = ItemKind::Copy,
                  .dest = dest,
                  .source = source,
                  .bytes = bytes,
                  .count = bytes ? rows : 1,
                  .destPitch = destPitch,
                  .sourcePitch = sourcePitch});
}

void World::setAsync(int rank, StreamId stream, Address dest, uint8_t value, uint64_t bytes) {
  impl_->enqueue(rank, stream, {.kind = ItemKind::Set, .dest = dest, .bytes = bytes, .value = value});
}

void World::copyFromHostAsync(int rank, StreamId stream, Address dest, const void* source, uint64_t bytes) {
  callbackAsync(rank, stream, [this, rank, stream, dest, source, bytes] {
    Accessor who = impl_->accessorOf(*impl_->ranks[size_t(rank)].streams[stream], "copy from the host");
    writeMemory(who, dest, source, bytes, 1);
  });
}

void World::copyToHostAsync(int rank, StreamId stream, void* dest, Address source, uint64_t bytes) {
  callbackAsync(rank, stream, [this, rank, stream, dest, source, bytes] {
    Accessor who = impl_->accessorOf(*impl_->ranks[size_t(rank)].streams[stream], "copy to the host");
    readMemory(who, source, dest, bytes, 1);
  });
}

void World::signalWriteAsync(int rank, StreamId stream, Address signal, uint64_t value, int bytes, SignalKind kind,
                             uint64_t count) {
  if (!count) return;
  impl_->enqueue(rank, stream,
                 {.kind = ItemKind::SignalWrite,
                  .dest = signal,
                  .value = value,
                  .count = count,
                  .destPitch = uint64_t(bytes),
                  .signalBytes = bytes,
                  .signalKind = kind});
}

void World::signalWaitAsync(int rank, StreamId stream, Address signal, Compare compare, uint64_t value, int bytes,
                            uint64_t count) {
  if (!count) return;
  impl_->enqueue(rank, stream,
                 {.kind = ItemKind::SignalWait,
                  .dest = signal,
                  .value = value,
                  .count = count,
                  .destPitch = uint64_t(bytes),
                  .signalBytes = bytes,
                  .compare = compare});
}

void World::barrierAsync(int rank, StreamId stream, int team) {
  impl_->enqueue(rank, stream, {.kind = ItemKind::Barrier, .team = team});
}

EventId World::recordEvent(int rank, StreamId stream) {
  EventId id = impl_->events.size();
  impl_->events.emplace_back();
  impl_->enqueue(rank, stream, {.kind = ItemKind::Record, .event = id});
  return id;
}

void World::waitEvent(int rank, StreamId stream, EventId event) {
  if (event == 0 || event >= impl_->events.size()) return;
  impl_->enqueue(rank, stream, {.kind = ItemKind::WaitEvent, .event = event});
}

void World::callbackAsync(int rank, StreamId stream, std::function<void()> callback) {
  StreamItem item{.kind = ItemKind::Callback};
  item.callback = std::move(callback);
  impl_->enqueue(rank, stream, std::move(item));
}

bool World::idle(int rank, StreamId stream) const { return impl_->ranks[size_t(rank)].streams[stream]->items.empty(); }

bool World::idle(int rank) const {
  for (auto& s : impl_->ranks[size_t(rank)].streams)
    if (!s->items.empty()) return false;
  return true;
}

void World::setInterruptCheck(std::function<bool()> check) { impl_->interruptCheck = std::move(check); }

World::Stop World::run(const std::function<bool()>& done) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(50);
  impl_->streamIdled = true;
  Clock::time_point next = Clock::now() + kPause;
  for (uint32_t turns = 1;; ++turns) {
    if (turns % 16 == 0 && impl_->interruptCheck && Clock::now() >= next) {
      if (impl_->interruptCheck()) return Stop::Interrupted;
      next = Clock::now() + kPause;
    }
    if (impl_->m.failed) return Stop::Error;
    if (std::exchange(impl_->streamIdled, false) && done()) return Stop::Done;
    if (impl_->isOverLimit(turns % 16 == 0)) return Stop::Limit;
    if (!impl_->turn()) return impl_->abandoned ? Stop::Interrupted : Stop::Stuck;
  }
}

bool World::hostStep() {
  ++impl_->hostSteps;
  return !impl_->isOverLimit(true);
}

const std::vector<Report>& World::reports() const { return impl_->m.reports; }
bool World::failed() const { return impl_->m.failed; }
const Trace& World::trace() const { return impl_->m.trace; }
World::Counters World::counters() const { return impl_->m.counters; }
void World::setPrinter(std::function<void(const std::string&)> printer) { impl_->m.printer = std::move(printer); }

}  // namespace tandem::interpreter
