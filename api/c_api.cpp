// The C ABI over the compiler and the simulated session. No exception leaves this file.
#include "tandem/c_api.h"
#include "api/guarded.h"
#include "compiler/driver/compile.h"
#include "runtime/backend/sim/session.h"
#include "runtime/trace/trace.h"
#include <cstring>
#include <nlohmann/json.hpp>

using namespace tandem;
using interpreter::MemoryKind;
using nlohmann::json;
using runtime::sim::HostPlace;
using runtime::sim::Session;

struct td_program {
  compiler::Compiled compiled;
};
struct td_session {
  Session session;
};

namespace {

char* copyOut(const std::string& text) {
  char* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (!out) throw std::bad_alloc();
  std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

// Text from a user's program may hold anything; JSON must not fail on it.
char* copyOut(const json& value) { return copyOut(value.dump(-1, ' ', false, json::error_handler_t::replace)); }

interpreter::World& world(td_session* s) { return s->session.world(); }

HostPlace place(const char* file, int line) { return {file ? file : "", uint32_t(line)}; }

const char* typeWord(interpreter::Elem e) {
  using interpreter::Elem;
  switch (e) {
    case Elem::I1: return "i1";
    case Elem::I8: return "i8";
    case Elem::I16: return "i16";
    case Elem::I32: return "i32";
    case Elem::I64: return "i64";
    case Elem::F8E4M3FN: return "fp8e4nv";
    case Elem::F8E5M2: return "fp8e5";
    case Elem::F8E4M3FNUZ: return "fp8e4b8";
    case Elem::F8E5M2FNUZ: return "fp8e5b16";
    case Elem::F16: return "fp16";
    case Elem::BF16: return "bf16";
    case Elem::F32: return "fp32";
    case Elem::F64: return "fp64";
  }
  return "?";
}

const char* severityWord(Severity s) { return s == Severity::Error ? "error" : s == Severity::Warning ? "warning" : "note"; }

json reportJson(const interpreter::Report& r) {
  return {{"severity", severityWord(r.severity)}, {"kind", r.kind}, {"message", r.message}, {"rank", r.rank},
          {"program", {r.program[0], r.program[1], r.program[2]}}, {"kernel", r.kernel}, {"file", r.file ? r.file->name : ""},
          {"line", r.range.line}, {"column", r.range.column}, {"text", r.render()}};
}

}  // namespace

int tandem::rankCount(td_session* s) { return s->session.rankCount(); }

extern "C" {

const char* td_version(void) { return TANDEM_VERSION; }
const char* td_last_error(void) { return tandem::lastError().c_str(); }
void td_free(char* text) { std::free(text); }

int td_compile(const char* request, td_program** program) {
  return guarded([&] {
    auto compiled = compiler::compileToProgram(request);
    if (!compiled.program) throw std::runtime_error(compiled.error);
    *program = new td_program{std::move(compiled)};
  });
}
int td_program_info(td_program* program, char** out) {
  return guarded([&] {
    json arguments = json::array(), warnings = json::array();
    for (const interpreter::Argument& a : program->compiled.program->arguments)
      arguments.push_back({{"name", a.name}, {"type", std::string(a.isPointer ? "*" : "") + typeWord(a.isPointer ? a.pointee : a.elem)}});
    for (const Diagnostic& d : program->compiled.diagnostics) warnings.push_back(d.render());
    *out = copyOut(json{{"name", program->compiled.program->name}, {"arguments", arguments}, {"warnings", warnings}});
  });
}
void td_program_release(td_program* program) { delete program; }
int td_emit(const char* request, const char* stage, char** text) {
  return guarded([&] {
    auto emitted = compiler::emit(request, stage);
    if (!emitted.error.empty()) throw std::runtime_error(emitted.error);
    *text = copyOut(emitted.text);
  });
}
int td_request_for_file(const char* path, const char* kernel, const char* signature, const char* constexprs, int numWarps, char** request) {
  return guarded([&] {
    auto made = compiler::requestForFile(path, kernel, signature, constexprs, numWarps);
    if (!made.error.empty()) throw std::runtime_error(made.error);
    *request = copyOut(made.text);
  });
}
int td_builtins(char** out) {
  return guarded([&] { *out = copyOut(compiler::builtinsJson()); });
}

int td_session_create(const char* options, td_session** session) {
  return guarded([&] {
    json o = json::parse(options);
    interpreter::WorldOptions w;
    w.rankCount = o.value("ranks", 1);
    w.seed = o.value("seed", uint64_t(0));
    w.trace = o.value("trace", false);
    w.slotsPerRank = o.value("slots_per_rank", w.slotsPerRank);
    if (w.rankCount < 1 || w.rankCount > 1024) throw std::runtime_error("`ranks` must be 1 to 1024, not " + std::to_string(w.rankCount));
    if (w.slotsPerRank < 1) throw std::runtime_error("`slots_per_rank` must be at least 1");
    *session = new td_session{Session(w)};
  });
}
void td_session_destroy(td_session* session) { delete session; }
int td_enter(td_session* s, int rank) {
  return guarded([&] { s->session.enter(rank); });
}
int td_leave(td_session* s, int rank) {
  return guarded([&] { s->session.leave(rank); });
}
int td_abort(td_session* s, int rank, const char* why) {
  return guarded([&] { s->session.abort(rank, why); });
}
int td_finish(td_session* s) {
  return guarded([&] { world(s).finish(); });
}
int td_reports(td_session* s, char** out) {
  return guarded([&] {
    json all = json::array();
    for (const interpreter::Report& r : world(s).reports()) all.push_back(reportJson(r));
    *out = copyOut(all);
  });
}
int td_counters(td_session* s, char** out) {
  return guarded([&] {
    auto c = world(s).counters();
    *out = copyOut(json{{"instructions", c.instructions}, {"switches", c.switches}, {"launches", c.launches}, {"programs", c.programs},
                        {"put_bytes", c.putBytes}, {"get_bytes", c.getBytes}, {"copy_bytes", c.copyBytes}, {"waits", c.waits}});
  });
}
int td_chrome_trace(td_session* s, char** out) {
  return guarded([&] { *out = copyOut(runtime::chromeTrace(world(s).trace())); });
}
int td_timeline(td_session* s, int width, char** out) {
  return guarded([&] { *out = copyOut(runtime::timeline(world(s).trace(), width)); });
}
int td_trace_summary(td_session* s, char** out) {
  return guarded([&] { *out = copyOut(runtime::traceSummary(world(s).trace())); });
}

int td_allocate(td_session* s, int rank, uint64_t bytes, int symmetric, int initialised, const char* name, const char* file, int line,
                uint64_t* address) {
  return guarded([&] {
    *address = s->session.allocate(rank, bytes, symmetric ? MemoryKind::Symmetric : MemoryKind::Local, initialised, name ? name : "",
                                   place(file, line));
  });
}
int td_release(td_session* s, int rank, uint64_t address, const char* file, int line) {
  return guarded([&] { s->session.release(rank, address, place(file, line)); });
}
int td_mark_initialised(td_session* s, uint64_t address, uint64_t bytes) {
  return guarded([&] { world(s).markInitialised(address, bytes); });
}
int td_peer_address(td_session* s, int rank, uint64_t address, int peer, uint64_t* result) {
  return guarded([&] {
    if (peer < 0 || peer >= s->session.rankCount())
      throw std::runtime_error("peer " + std::to_string(peer) + " is not one of the " + std::to_string(s->session.rankCount()) + " ranks");
    *result = address + uint64_t(int64_t(peer - rank)) * world(s).heapStride();
  });
}

int td_create_team(td_session* s, int rank, const int* members, int count, int* team) {
  return guarded([&] {
    std::vector<int> list(members, members + count);
    std::vector<bool> seen(s->session.rankCount());
    for (int m : list) {
      if (m < 0 || m >= s->session.rankCount() || seen[m])
        throw std::runtime_error("team member " + std::to_string(m) + " is out of range or named twice");
      seen[m] = true;
    }
    if (!seen[rank]) throw std::runtime_error("rank " + std::to_string(rank) + " is not a member of the team it creates");
    *team = s->session.createTeam(rank, list);
  });
}
int td_create_stream(td_session* s, int rank, int* stream) {
  return guarded([&] { *stream = int(world(s).createStream(rank)); });
}
int td_launch(td_session* s, int rank, int stream, td_program* program, int gridX, int gridY, int gridZ, int numWarps,
              const uint64_t* arguments, int count, const char* file, int line) {
  return guarded([&] {
    interpreter::Launch launch;
    launch.program = program->compiled.program;
    if (size_t(count) != launch.program->arguments.size())
      throw std::runtime_error("kernel `" + launch.program->name + "` takes " + std::to_string(launch.program->arguments.size()) +
                               " arguments, " + std::to_string(count) + " given");
    if (gridX < 0 || gridY < 0 || gridZ < 0) throw std::runtime_error("the grid has a negative size");
    launch.grid = {gridX, gridY, gridZ};
    launch.numWarps = numWarps;
    for (int i = 0; i < count; ++i) launch.arguments.push_back({arguments[i]});
    launch.hostFile = file ? file : "";
    launch.hostLine = uint32_t(line);
    s->session.launch(rank, uint32_t(stream), std::move(launch));
  });
}
int td_copy(td_session* s, int rank, int stream, uint64_t dest, uint64_t source, uint64_t bytes) {
  return guarded([&] { world(s).copyAsync(rank, uint32_t(stream), dest, source, bytes); });
}
int td_set(td_session* s, int rank, int stream, uint64_t dest, int value, uint64_t bytes) {
  return guarded([&] { world(s).setAsync(rank, uint32_t(stream), dest, uint8_t(value), bytes); });
}
int td_copy_from_host(td_session* s, int rank, int stream, uint64_t dest, const void* source, uint64_t bytes) {
  return guarded([&] { s->session.copyFromHost(rank, uint32_t(stream), dest, source, bytes); });
}
int td_copy_to_host(td_session* s, int rank, int stream, void* dest, uint64_t source, uint64_t bytes) {
  return guarded([&] { s->session.copyToHost(rank, uint32_t(stream), dest, source, bytes); });
}
int td_release_async(td_session* s, int rank, int stream, uint64_t address) {
  return guarded([&] { s->session.releaseAsync(rank, uint32_t(stream), address); });
}
int td_signal_write(td_session* s, int rank, int stream, uint64_t signal, uint64_t value, int bytes, int kind) {
  return guarded([&] { world(s).signalWriteAsync(rank, uint32_t(stream), signal, value, bytes, interpreter::SignalKind(kind)); });
}
int td_signal_wait(td_session* s, int rank, int stream, uint64_t signal, int compare, uint64_t value, int bytes) {
  return guarded([&] { world(s).signalWaitAsync(rank, uint32_t(stream), signal, interpreter::SignalCompare(compare), value, bytes); });
}
int td_barrier_on_stream(td_session* s, int rank, int stream, int team) {
  return guarded([&] { world(s).barrierAsync(rank, uint32_t(stream), team); });
}
int td_record_event(td_session* s, int rank, int stream, uint64_t* event) {
  return guarded([&] { *event = world(s).recordEvent(rank, uint32_t(stream)); });
}
int td_wait_event(td_session* s, int rank, int stream, uint64_t event) {
  return guarded([&] { world(s).waitEvent(rank, uint32_t(stream), event); });
}
int td_synchronize(td_session* s, int rank, int stream) {
  return guarded([&] { stream < 0 ? s->session.synchronize(rank) : s->session.synchronize(rank, uint32_t(stream)); });
}
int td_barrier(td_session* s, int rank, int team) {
  return guarded([&] { s->session.barrier(rank, team); });
}

}  // extern "C"
