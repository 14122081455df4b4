// The host's side of a simulated run.
#include "runtime/backend/sim/session.h"
#include <algorithm>
#include <cstring>

namespace tandem::runtime::sim {
namespace {

HostBaton::Progress advance(interpreter::World& world, const std::function<bool()>& done) {
  using Stop = interpreter::World::Stop;
  switch (world.run(done)) {
    case Stop::Done: return HostBaton::Progress::Ready;
    case Stop::Error: return HostBaton::Progress::Error;
    case Stop::Stuck: return HostBaton::Progress::Stuck;
    case Stop::Interrupted: return HostBaton::Progress::Interrupted;
  }
  return HostBaton::Progress::Stuck;
}

}  // namespace

Session::Session(const interpreter::WorldOptions& options)
    : world_(options),
      baton_(options.rankCount, [this](const std::function<bool()>& done) { return advance(world_, done); },
             [this](const std::vector<std::string>& notes) { world_.reportDeadlock(notes); }),
      symmetricAllocations_(options.rankCount) {
  world_.setInterruptCheck([this] {
    auto poll = interruptPoll.load();
    return interruptRequested_ || (poll && poll());
  });
}

void Session::enter(int rank) { baton_.enter(rank); }

void Session::leave(int rank) {
  if (!baton_.stopped()) synchronize(rank);
  baton_.leave(rank);
}

void Session::abort(int rank, const std::string& why) {
  baton_.stop("rank " + std::to_string(rank) + " failed: " + why);
  baton_.leave(rank);
}

void Session::checkWorld() const {
  if (world_.failed()) throw RunStopped("the simulator reported an error");
}

Address Session::allocate(int rank, uint64_t bytes, interpreter::MemoryKind kind, bool initialised,
                          const std::string& name, const HostPlace& place) {
  Address address = world_.allocate(rank, bytes, kind, initialised, name, place.file, place.line);
  if (world_.failed()) {
    baton_.stop("the simulator reported an error");
    checkWorld();
  }
  if (kind == interpreter::MemoryKind::Symmetric) {
    uint64_t mine = ++symmetricAllocations_[rank];
    baton_.block(rank, "the other ranks to allocate symmetric memory " + std::to_string(mine), [this, mine] {
      return std::all_of(symmetricAllocations_.begin(), symmetricAllocations_.end(),
                         [mine](uint64_t n) { return n >= mine; });
    });
    world_.hostAllocated(rank);
  }
  return address;
}

void Session::release(int rank, Address address, const HostPlace& place) {
  world_.release(rank, address, place.file, place.line);
  if (world_.failed()) {
    baton_.stop("the simulator reported an error");
    checkWorld();
  }
}

int Session::createTeam(int rank, const std::vector<int>& members) {
  // The n-th call for one list of members makes one team, whoever calls first.
  auto& [team, calls] = teamCalls_[members];
  if (calls.empty()) calls.resize(rankCount());
  uint64_t mine = ++calls[rank];
  bool first =
      std::all_of(members.begin(), members.end(), [&, &calls = calls](int m) { return m == rank || calls[m] < mine; });
  if (first) team = world_.createTeam(members);
  int id = team;
  barrier(rank, id);
  return id;
}

void Session::launch(int rank, StreamId stream, interpreter::Launch launch) {
  world_.launch(rank, stream, std::move(launch));
}

void Session::copyFromHost(int rank, StreamId stream, Address dest, const void* source, uint64_t bytes) {
  world_.callbackAsync(rank, stream, [this, rank, stream, dest, source, bytes] {
    world_.streamAccess(rank, stream, dest, bytes, true);
    std::memcpy(reinterpret_cast<void*>(dest), source, bytes);
    world_.markInitialised(dest, bytes);
  });
}

void Session::copyToHost(int rank, StreamId stream, void* dest, Address source, uint64_t bytes) {
  world_.callbackAsync(rank, stream, [this, rank, stream, dest, source, bytes] {
    world_.streamAccess(rank, stream, source, bytes, false);
    std::memcpy(dest, reinterpret_cast<const void*>(source), bytes);
  });
}

void Session::releaseAsync(int rank, StreamId stream, Address address) {
  world_.callbackAsync(rank, stream, [this, rank, address] { world_.release(rank, address); });
}

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
