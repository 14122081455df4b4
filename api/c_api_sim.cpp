// This part of the C ABI has the functions that only a simulated run has. No exception leaves this file.
#include "api/guarded.h"
#include "api/handles.h"
#include "api/text_out.h"
#include "runtime/backend/sim/session.h"

using namespace tandem;
using nlohmann::json;

namespace {

// Null when the ranks are GPUs.
runtime::sim::Session* simulatedSession(td_session* s) { return sessionOf(s).simulated(); }
interpreter::World* simulated(td_session* s) {
  auto* session = simulatedSession(s);
  return session ? &session->world() : nullptr;
}

interpreter::World& world(td_session* s, const char* what) {
  interpreter::World* world = simulated(s);
  if (!world) throw std::runtime_error(std::string("only a simulated run has ") + what);
  return *world;
}

}  // namespace

extern "C" {

int td_first_difference(td_session* one, td_session* other, char** text) {
  return guarded([&] {
    auto& place = required(text, "text");
    place = copyOut(world(one, "logged stores").firstDifference(world(other, "logged stores")));
  });
}
int td_counters(td_session* s, char** out) {
  return guarded([&] {
    auto c = world(s, "counters").counters();
    auto& place = required(out, "out");
    place = copyOut(json{{"instructions", c.instructions},
                         {"switches", c.switches},
                         {"launches", c.launches},
                         {"programs", c.programs},
                         {"put_bytes", c.putBytes},
                         {"get_bytes", c.getBytes},
                         {"copy_bytes", c.copyBytes},
                         {"waits", c.waits}});
  });
}
int td_fail(td_session* s, int rank, const char* why) {
  auto* session = s ? simulatedSession(s) : nullptr;
  if (!session) return td_abort(s, rank, why);
  return guarded([&] {
    sessionOf(s, rank);
    session->fail(rank, why ? why : "");
  });
}
int td_expire(td_session* s) {
  return guarded([&] {
    if (auto* session = simulatedSession(s)) session->expire();
  });
}
int td_is_written(td_session* s, int rank, uint64_t address, uint64_t bytes, int* all) {
  return guarded([&] {
    sessionOf(s, rank);
    interpreter::World* world = simulated(s);
    required(all, "all") = !world || world->isWritten(address, bytes);
  });
}
int td_mark_initialised(td_session* s, uint64_t address, uint64_t bytes) {
  return guarded([&] {
    if (interpreter::World* world = simulated(s)) world->markInitialised(address, bytes);
  });
}
int td_host_place(td_session* s, int rank, const char* file, int line) {
  return guarded([&] {
    sessionOf(s, rank);
    interpreter::World* world = simulated(s);
    if (world && file) world->setHostPlace(rank, file, uint32_t(line));
  });
}
int td_host_access(td_session* s, int rank, uint64_t address, uint64_t bytes, int how) {
  return guarded([&] {
    sessionOf(s, rank);
    if (how < TD_HOST_READ || how > TD_HOST_USE)
      throw std::invalid_argument("`how` is " + std::to_string(how) + "; it is 0 to 3");
    if (auto* session = simulatedSession(s)) session->hostAccess(rank, address, bytes, interpreter::HostAccess(how));
  });
}

}  // extern "C"
