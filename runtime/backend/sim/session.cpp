// The host's side of a simulated run.
#include "runtime/backend/sim/session.h"
#include "runtime/grid.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace tandem::runtime::sim {
namespace {

constexpr uint64_t kMostPrograms = std::numeric_limits<int32_t>::max();  // of a grid

HostBaton::Progress advance(interpreter::World& world, const std::function<bool()>& done) {
  using Stop = interpreter::World::Stop;
  switch (world.run(done)) {
    case Stop::Done: return HostBaton::Progress::Ready;
    case Stop::Error: return HostBaton::Progress::Error;
    case Stop::Stuck: return HostBaton::Progress::Stuck;
    case Stop::Interrupted: return HostBaton::Progress::Interrupted;
    case Stop::Limit: return HostBaton::Progress::Limit;
  }
  return HostBaton::Progress::Stuck;
}

std::string failureText(int rank, const std::string& why) { return "rank " + std::to_string(rank) + " failed: " + why; }

RunReport reportOf(const interpreter::Report& r) {
  return {rowOf(r.kind).severity,     wordOf(r.kind), r.message,      r.rank,    r.program, r.kernel,
          r.file ? r.file->name : "", r.range.line,   r.range.column, r.render()};
}

interpreter::HostMemory memoryOf(const HostMemory& m) { return {m.begin, m.bytes, m.name, m.owner}; }

}  // namespace

Session::Session(const interpreter::WorldOptions& options)
    : world_(options),
      baton_(
          options.rankCount, [this](const std::function<bool()>& done) { return advance(world_, done); },
          [this](HostBaton::Progress why, const std::vector<std::string>& notes) {
            why == HostBaton::Progress::Stuck ? tellOfStuck(notes) : world_.reportLimit(notes);
          },
          [this] { return world_.hostStep(); }),
      streamCounts_(options.rankCount, 1), calls_(options.rankCount), order_(options.rankCount) {
  world_.setInterruptCheck([this] {
    auto poll = interruptPoll.load();
    return interruptRequested_ || (poll && poll());
  });
  if (hostFinder)
    world_.setHostFinder([](Address address) {
      std::optional<HostMemory> found = hostFinder(address);
      return found ? std::optional(memoryOf(*found)) : std::nullopt;
    });
}

void Session::enter(int rank) { baton_.enter(rank); }

void Session::leave(int rank) {
  if (!baton_.stopped()) {
    tellOf(calls_.leave(rank));
    synchronize(rank);
  }
  baton_.leave(rank);
}

void Session::abort(int rank, const std::string& why) {
  baton_.stop(failureText(rank, why));
  baton_.leave(rank);
}

void Session::fail(int rank, const std::string& why) {
  if (!world_.options().check) return abort(rank, why);
  baton_.fail(rank, failureText(rank, why));
}

void Session::hostAccess(int rank, Address address, uint64_t bytes, interpreter::HostAccess how) {
  world_.hostAccess(rank, address, bytes, how);
  using interpreter::HostAccess;
  if (how == HostAccess::Write || how == HostAccess::View) world_.markInitialised(address, bytes);
  checkWorld();
}

void Session::checkWorld() {
  if (!world_.failed()) return;
  baton_.stop("the simulator reported an error");
  throw RunStopped("the simulator reported an error");
}

std::vector<RunReport> Session::reports() const {
  std::vector<RunReport> out;
  for (const interpreter::Report& r : world_.reports()) out.push_back(reportOf(r));
  return out;
}

Address Session::allocate(int rank, uint64_t bytes, bool symmetric, bool initialised, const std::string& name,
                          const HostPlace& place, int team) {
  auto kind = symmetric ? interpreter::MemoryKind::Symmetric : interpreter::MemoryKind::Local;
  std::vector<int> members = membersOf(rank, team);
  Address address = world_.allocate(rank, bytes, kind, initialised, name, place.file, place.line, team);
  checkWorld();
  if (!symmetric) return address;
  std::map<int, uint64_t>& made = symmetricAllocations_[team];
  uint64_t mine = ++made[rank];
  std::string others = team ? "the other ranks of team " + std::to_string(team) : "the other ranks";
  baton_.block(rank, others + " to allocate symmetric memory " + std::to_string(mine),
               [&] { return std::ranges::all_of(members, [&](int m) { return made[m] >= mine; }); });
  world_.hostLeaves(rank, team);
  return address;
}

void Session::release(int rank, Address address, const HostPlace& place) {
  world_.release(rank, address, place.file, place.line);
  checkWorld();
}

void Session::releaseAsync(int rank, StreamId stream, Address address) {
  if (world_.isSymmetric(rank, address))
    throw std::invalid_argument("symmetric memory is released by all ranks together, not in stream order");
  world_.callbackAsync(rank, stream, [this, rank, address] { world_.release(rank, address); });
}

Address Session::peerAddress(int rank, Address address, int peer, int team) const {
  int owner = world_.teamAt(address);
  if (!world_.isSymmetric(rank, address) || (owner >= 0 && owner != team))
    throw std::invalid_argument(world_.nameAt(address) + " is not in rank " + std::to_string(rank) +
                                "'s symmetric memory" + (team ? " of team " + std::to_string(team) : ""));
  std::vector<int> members = membersOf(rank, team);
  if (peer < 0 || size_t(peer) >= members.size())
    throw std::invalid_argument("there is no rank " + std::to_string(peer) + " among " +
                                std::to_string(members.size()));
  return address + uint64_t(int64_t(members[size_t(peer)] - rank)) * world_.heapStride();
}

Address Session::mapHost(int rank, const HostMemory& memory, const HostPlace& place) {
  Address address = world_.mapHost(rank, memoryOf(memory), place.file, place.line);
  checkWorld();
  return address;
}

HostWords Session::hostWords(int rank, uint64_t count, const std::string& name) {
  auto words = std::make_shared<std::vector<int32_t>>(count);
  HostMemory memory{reinterpret_cast<uint64_t>(words->data()), count * sizeof(int32_t), name, words};
  return {words->data(), mapHost(rank, memory, {})};
}

// A rank that waits for this one to make another team will never come.
void Session::checkMakes(int rank, const std::vector<int>& members) const {
  for (const auto& [other, theirs] : makes_)
    if (std::ranges::count(members, other) && std::ranges::count(theirs, rank) && theirs != members)
      throw std::invalid_argument(differentMembers(rank, members, other, theirs));
}

int Session::createTeam(int rank, const std::vector<int>& members) {
  checkMakes(rank, members);
  makes_[rank] = members;
  // The n-th call for one list of members makes one team, whoever calls first.
  auto& [team, calls] = teamCalls_[members];
  if (calls.empty()) calls.resize(rankCount());
  uint64_t mine = ++calls[rank];
  // Whether the other members have made so many of these teams.
  auto others = [&, &calls = calls](uint64_t made) {
    return std::ranges::all_of(members, [&](int m) { return m == rank || calls[m] == made; });
  };
  if (others(mine - 1)) teams_[team = world_.createTeam(members)] = members;
  int id = team;
  if (others(
          mine))  // the last one: who leaves the barrier first may make another team with members that are in it still
    for (int m : members) makes_.erase(m);
  barrier(rank, id);
  return id;
}

std::vector<int> Session::membersOf(int rank, int team) const {
  std::vector<int> all(static_cast<size_t>(rankCount()));
  std::iota(all.begin(), all.end(), 0);
  if (team == 0) return all;
  auto found = teams_.find(team);
  if (found == teams_.end() || std::find(found->second.begin(), found->second.end(), rank) == found->second.end())
    throw std::invalid_argument("rank " + std::to_string(rank) + " is in no team " + std::to_string(team));
  return found->second;
}

std::vector<std::string> Session::gather(int rank, int team, const std::string& bytes) {
  std::vector<int> members = membersOf(rank, team);
  auto& given = given_[team];
  world_.hostArrives(rank, team);
  given[rank].push_back(bytes);
  size_t mine = given[rank].size();
  baton_.block(rank, "the other ranks of team " + std::to_string(team) + " to gather", [&] {
    return std::all_of(members.begin(), members.end(), [&](int m) { return given[m].size() >= mine; });
  });
  world_.hostLeaves(rank, team);
  std::vector<std::string> out;
  for (int m : members) out.push_back(given[m][mine - 1]);
  return out;
}

void Session::logCall(int rank, OperatorCalls call) {
  call.place = world_.hostPlace(rank);
  tellOf(calls_.add(rank, call));
}

void Session::tellOf(const std::optional<CallMismatch>& found) {
  if (found) world_.reportMismatch({found->rank, found->place}, {found->other, found->otherPlace}, found->message);
  checkWorld();
}

// Operators that ranks call in another order wait for one another.
void Session::tellOfStuck(const std::vector<std::string>& hostNotes) {
  if (std::vector<CallOrder::Step> circle = order_.circle(true); circle.size() > 1) {
    auto nameOf = [&](int rank, uint64_t op) { return calls_.nameOf(rank, op); };
    const CallOrder::Step &one = circle[0], &other = circle[1];
    world_.reportMismatch({one.rank, one.place}, {other.rank, other.place}, circleText(circle, nameOf));
  }
  world_.reportStuck(hostNotes);
}

uint64_t Session::openOperator(int rank, const OperatorName& name, int team) {
  OperatorCalls call{.made = name};
  if (team) call.made.ranks = membersOf(rank, team);
  uint64_t first = operatorNumber(team, team ? call.made.ranks.front() : 0, 0);
  call.op = first + operators_[rank][first]++;
  logCall(rank, call);
  order_.open(call.op, call.made.ranks);
  return call.op;
}

void Session::callOperator(int rank, uint64_t op, StreamId stream, std::span<const int64_t> sizes) {
  if (uint64_t first = op >> 32 << 32; op - first >= operators_[rank][first])
    throw std::out_of_range("operator " + std::to_string(op) + " was never opened");
  logCall(rank, {.op = op, .sizes = {sizes.begin(), sizes.end()}});
  if (!sizes.empty()) order_.add(rank, {op, stream, world_.hostPlace(rank)});
}

StreamId Session::createStream(int rank) {
  StreamId stream = world_.createStream(rank);
  ++streamCounts_[rank];
  return stream;
}

StreamId Session::streamBeside(int rank, StreamId stream) {
  if (auto found = beside_.find({rank, stream}); found != beside_.end()) return found->second;
  return beside_[{rank, stream}] = createStream(rank);
}

StreamId Session::adoptStream(int rank, uint64_t handle) {
  throw std::runtime_error("a simulated rank has no CUDA streams");
}

void Session::launch(int rank, StreamId stream, const KernelLaunch& launch) {
  if (!launch.code.program) throw std::invalid_argument("a simulated rank takes code for `sim`, not a GPU's");
  checkGrid(launch.code.program->name, launch.grid);
  uint64_t programs = 1, slots = uint64_t(residentPrograms(rank));
  for (int size : launch.grid) programs = std::min(programs * uint64_t(size), kMostPrograms + 1);
  if (programs > kMostPrograms)
    throw std::invalid_argument("a grid of more than " + std::to_string(kMostPrograms) + " programs");
  if (launch.cooperative && programs > slots)
    throw std::invalid_argument("a cooperative launch of " + std::to_string(programs) +
                                " programs on a rank that has room for " + std::to_string(slots));
  interpreter::Launch queued;
  queued.program = launch.code.program;
  queued.grid = launch.grid;
  queued.numWarps = launch.numWarps;
  queued.cooperative = launch.cooperative;
  queued.dependent = launch.dependent;
  queued.team = launch.team;
  for (uint64_t bits : launch.arguments) queued.arguments.push_back({bits});
  queued.hostFile = launch.place.file;
  queued.hostLine = launch.place.line;
  world_.launch(rank, stream, std::move(queued));
}

void Session::copy(int rank, StreamId stream, Address dest, Address source, uint64_t bytes) {
  world_.copyAsync(rank, stream, dest, source, bytes);
}

void Session::copyRows(int rank, StreamId stream, Address dest, uint64_t destPitch, Address source,
                       uint64_t sourcePitch, uint64_t bytes, uint64_t rows) {
  world_.copyRowsAsync(rank, stream, dest, destPitch, source, sourcePitch, bytes, rows);
}

void Session::set(int rank, StreamId stream, Address dest, uint8_t value, uint64_t bytes) {
  world_.setAsync(rank, stream, dest, value, bytes);
}

void Session::copyFromHost(int rank, StreamId stream, Address dest, const void* source, uint64_t bytes) {
  world_.copyFromHostAsync(rank, stream, dest, source, bytes);
}

void Session::copyToHost(int rank, StreamId stream, void* dest, Address source, uint64_t bytes) {
  world_.copyToHostAsync(rank, stream, dest, source, bytes);
}

void Session::signals(int rank, StreamId stream, std::span<const SignalStep> steps) {
  for (const SignalStep& s : steps)
    if (s.waits)
      world_.signalWaitAsync(rank, stream, s.signal, s.compare, s.value, s.bytes, uint64_t(s.count));
    else
      world_.signalWriteAsync(rank, stream, s.signal, s.value, s.bytes, interpreter::SignalKind(s.kind),
                              uint64_t(s.count));
}

void Session::barrierOnStream(int rank, StreamId stream, int team) { world_.barrierAsync(rank, stream, team); }

EventId Session::recordEvent(int rank, StreamId stream) { return lastEvent_ = world_.recordEvent(rank, stream); }

void Session::waitEvent(int rank, StreamId stream, EventId event) {
  if (event < 1 || event > lastEvent_)
    throw std::out_of_range("event " + std::to_string(event) + " was never recorded");
  world_.waitEvent(rank, stream, event);
}

EventId Session::recordTime(int, StreamId) { throw std::runtime_error("a simulated rank has no time"); }

double Session::microseconds(int, EventId, EventId) { throw std::runtime_error("a simulated rank has no time"); }

void Session::synchronize(int rank) {
  baton_.block(rank, "its streams", [this, rank] { return world_.idle(rank); });
  world_.hostWaited(rank);
}

void Session::synchronize(int rank, StreamId stream) {
  baton_.block(rank, "stream " + std::to_string(stream), [this, rank, stream] { return world_.idle(rank, stream); });
  world_.hostWaited(rank, stream);
}

void Session::barrier(int rank, int team) {
  synchronize(rank);
  world_.barrierAsync(rank, 0, team);
  baton_.block(rank, "the barrier of team " + std::to_string(team), [this, rank] { return world_.idle(rank, 0); });
  world_.hostWaited(rank, 0);
}

}  // namespace tandem::runtime::sim
