// The C ABI: what a rank's host thread calls: memory, teams, streams. No exception leaves this file.
#include "api/guarded.h"
#include "api/handles.h"

using namespace tandem;
using interpreter::MemoryKind;
using runtime::sim::HostPlace;
using runtime::sim::Session;

namespace {

HostPlace place(const char* file, int line) { return {file ? file : "", uint32_t(line)}; }

void checkSignalBytes(int bytes) {
  if (bytes != 4 && bytes != 8) throw std::invalid_argument("a signal has 4 or 8 bytes, not " + std::to_string(bytes));
}

}  // namespace

extern "C" {

int td_allocate(td_session* s, int rank, uint64_t bytes, int symmetric, int initialised, const char* name,
                const char* file, int line, uint64_t* address) {
  return guarded([&] {
    required(address, "address") =
        sessionOf(s, rank).session.allocate(rank, bytes, symmetric ? MemoryKind::Symmetric : MemoryKind::Local,
                                            initialised, name ? name : "", place(file, line));
  });
}
int td_release(td_session* s, int rank, uint64_t address, const char* file, int line) {
  return guarded([&] { sessionOf(s, rank).session.release(rank, address, place(file, line)); });
}
int td_mark_initialised(td_session* s, uint64_t address, uint64_t bytes) {
  return guarded([&] { required(s, "session").session.world().markInitialised(address, bytes); });
}
int td_host_access(td_session* s, int rank, uint64_t address, uint64_t bytes, int write) {
  return guarded([&] {
    interpreter::World& world = sessionOf(s, rank).session.world();
    world.hostAccess(rank, address, bytes, write != 0);
    if (write) world.markInitialised(address, bytes);
  });
}
int td_peer_address(td_session* s, int rank, uint64_t address, int peer, uint64_t* result) {
  return guarded([&] {
    Session& session = sessionOf(s, rank).session;
    checkIndex("peer", peer, session.rankCount());
    required(result, "result") = address + uint64_t(int64_t(peer - rank)) * session.world().heapStride();
  });
}

int td_create_team(td_session* s, int rank, const int* members, int count, int* team) {
  return guarded([&] {
    Session& session = sessionOf(s, rank).session;
    if (count < 1) throw std::invalid_argument("a team has at least one member, not " + std::to_string(count));
    std::vector<int> list(&required(members, "members"), members + count);
    std::vector<bool> seen(session.rankCount());
    for (int m : list) {
      if (m < 0 || m >= session.rankCount() || seen[m])
        throw std::runtime_error("team member " + std::to_string(m) + " is out of range or named twice");
      seen[m] = true;
    }
    if (!seen[rank])
      throw std::runtime_error("rank " + std::to_string(rank) + " is not a member of the team it creates");
    required(team, "team") = session.createTeam(rank, list);
  });
}
int td_create_stream(td_session* s, int rank, int* stream) {
  return guarded([&] {
    int& count = sessionOf(s, rank).streamCounts[size_t(rank)];
    required(stream, "stream") = int(s->session.world().createStream(rank));
    ++count;
  });
}
int td_launch(td_session* s, int rank, int stream, td_program* program, int gridX, int gridY, int gridZ, int numWarps,
              const uint64_t* arguments, int count, const char* file, int line) {
  return guarded([&] {
    Session& session = sessionOf(s, rank, stream).session;
    interpreter::Launch launch;
    launch.program = required(program, "program").compiled.program;
    if (count < 0 || size_t(count) != launch.program->arguments.size())
      throw std::runtime_error("kernel `" + launch.program->name + "` takes " +
                               std::to_string(launch.program->arguments.size()) + " arguments, " +
                               std::to_string(count) + " given");
    if (gridX < 0 || gridY < 0 || gridZ < 0) throw std::runtime_error("the grid has a negative size");
    launch.grid = {gridX, gridY, gridZ};
    if (numWarps < 1)
      throw std::invalid_argument("`num_warps` is " + std::to_string(numWarps) + ", at least 1 is needed");
    launch.numWarps = numWarps;
    for (int i = 0; i < count; ++i) launch.arguments.push_back({(&required(arguments, "arguments"))[i]});
    launch.hostFile = file ? file : "";
    launch.hostLine = uint32_t(line);
    session.launch(rank, uint32_t(stream), std::move(launch));
  });
}
int td_copy(td_session* s, int rank, int stream, uint64_t dest, uint64_t source, uint64_t bytes) {
  return guarded(
      [&] { sessionOf(s, rank, stream).session.world().copyAsync(rank, uint32_t(stream), dest, source, bytes); });
}
int td_set(td_session* s, int rank, int stream, uint64_t dest, int value, uint64_t bytes) {
  return guarded([&] {
    sessionOf(s, rank, stream).session.world().setAsync(rank, uint32_t(stream), dest, uint8_t(value), bytes);
  });
}
int td_copy_from_host(td_session* s, int rank, int stream, uint64_t dest, const void* source, uint64_t bytes) {
  return guarded([&] {
    if (bytes) required(static_cast<const char*>(source), "source");
    sessionOf(s, rank, stream).session.copyFromHost(rank, uint32_t(stream), dest, source, bytes);
  });
}
int td_copy_to_host(td_session* s, int rank, int stream, void* dest, uint64_t source, uint64_t bytes) {
  return guarded([&] {
    if (bytes) required(static_cast<char*>(dest), "dest");
    sessionOf(s, rank, stream).session.copyToHost(rank, uint32_t(stream), dest, source, bytes);
  });
}
int td_release_async(td_session* s, int rank, int stream, uint64_t address) {
  return guarded([&] { sessionOf(s, rank, stream).session.releaseAsync(rank, uint32_t(stream), address); });
}
int td_signal_write(td_session* s, int rank, int stream, uint64_t signal, uint64_t value, int bytes, int kind) {
  return guarded([&] {
    checkSignalBytes(bytes);
    if (kind != 0 && kind != 1)
      throw std::invalid_argument("signal kind " + std::to_string(kind) + " is not 0 (set) or 1 (add)");
    sessionOf(s, rank, stream)
        .session.world()
        .signalWriteAsync(rank, uint32_t(stream), signal, value, bytes, interpreter::SignalKind(kind));
  });
}
int td_signal_wait(td_session* s, int rank, int stream, uint64_t signal, int compare, uint64_t value, int bytes) {
  return guarded([&] {
    checkSignalBytes(bytes);
    checkIndex("comparison", compare, 6);
    sessionOf(s, rank, stream)
        .session.world()
        .signalWaitAsync(rank, uint32_t(stream), signal, interpreter::SignalCompare(compare), value, bytes);
  });
}
int td_barrier_on_stream(td_session* s, int rank, int stream, int team) {
  return guarded([&] { sessionOf(s, rank, stream).session.world().barrierAsync(rank, uint32_t(stream), team); });
}
int td_record_event(td_session* s, int rank, int stream, uint64_t* event) {
  return guarded([&] {
    required(event, "event") = sessionOf(s, rank, stream).session.world().recordEvent(rank, uint32_t(stream));
    s->lastEvent = *event;
  });
}
int td_wait_event(td_session* s, int rank, int stream, uint64_t event) {
  return guarded([&] {
    td_session& session = sessionOf(s, rank, stream);
    if (event < 1 || event > session.lastEvent)
      throw std::out_of_range("event " + std::to_string(event) + " was never recorded");
    session.session.world().waitEvent(rank, uint32_t(stream), event);
  });
}
int td_synchronize(td_session* s, int rank, int stream) {
  return guarded([&] {
    if (stream == -1) sessionOf(s, rank).session.synchronize(rank);
    else sessionOf(s, rank, stream).session.synchronize(rank, uint32_t(stream));
  });
}
int td_barrier(td_session* s, int rank, int team) {
  return guarded([&] { sessionOf(s, rank).session.barrier(rank, team); });
}

}  // extern "C"
