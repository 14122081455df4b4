// The C ABI: compiler, sessions and what a run leaves behind. No exception leaves this file.
#include "api/guarded.h"
#include "api/handles.h"
#include "api/text_out.h"
#include "runtime/trace/trace.h"
#include <iterator>

using namespace tandem;
using nlohmann::json;

namespace {

interpreter::World& world(td_session* s) { return required(s, "session").session.world(); }

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

const char* severityWord(Severity s) {
  return s == Severity::Error ? "error" : s == Severity::Warning ? "warning" : "note";
}

json reportJson(const interpreter::Report& r) {
  return {{"severity", severityWord(r.severity)},
          {"kind", r.kind},
          {"message", r.message},
          {"rank", r.rank},
          {"program", {r.program[0], r.program[1], r.program[2]}},
          {"kernel", r.kernel},
          {"file", r.file ? r.file->name : ""},
          {"line", r.range.line},
          {"column", r.range.column},
          {"text", r.render()}};
}

}  // namespace

int tandem::rankCount(td_session* s) { return required(s, "session").session.rankCount(); }

extern "C" {

int td_compile(const char* request, td_program** program) {
  return guarded([&] {
    auto compiled = compiler::compileToProgram(&required(request, "request"));
    required(program, "program");
    if (!compiled.program) throw std::runtime_error(compiled.error);
    *program = new td_program{std::move(compiled)};
  });
}
int td_program_info(td_program* program, char** out) {
  return guarded([&] {
    json arguments = json::array(), warnings = json::array();
    for (const interpreter::Argument& a : required(program, "program").compiled.program->arguments)
      arguments.push_back({{"name", a.name},
                           {"type", std::string(a.isPointer ? "*" : "") + typeWord(a.isPointer ? a.pointee : a.elem)}});
    for (const Diagnostic& d : program->compiled.diagnostics) warnings.push_back(d.render());
    required(out, "out") =
        copyOut(json{{"name", program->compiled.program->name}, {"arguments", arguments}, {"warnings", warnings}});
  });
}
void td_program_release(td_program* program) { delete program; }
int td_emit(const char* request, const char* stage, char** text) {
  return guarded([&] {
    auto emitted = compiler::emit(&required(request, "request"), &required(stage, "stage"));
    if (!emitted.error.empty()) throw std::runtime_error(emitted.error);
    auto& place = required(text, "text");
    place = copyOut(emitted.text);
  });
}
int td_request_for_file(const char* path, const char* kernel, const char* signature, const char* constexprs,
                        int numWarps, char** request) {
  return guarded([&] {
    auto made = compiler::requestForFile(&required(path, "path"), kernel ? kernel : "", signature ? signature : "",
                                         constexprs ? constexprs : "", numWarps);
    if (!made.error.empty()) throw std::runtime_error(made.error);
    auto& place = required(request, "request");
    place = copyOut(made.text);
  });
}
int td_builtins(char** out) {
  return guarded([&] {
    auto& place = required(out, "out");
    place = copyOut(compiler::builtinsJson());
  });
}

static interpreter::SchedulePolicy policyOf(const std::string& word) {
  static const char* const words[] = {"random", "round-robin", "priority", "slowest-rank"};
  for (size_t k = 0; k < std::size(words); ++k)
    if (word == words[k]) return interpreter::SchedulePolicy(k);
  throw std::runtime_error("`policy` is `" + word + "`; it is one of random, round-robin, priority, slowest-rank");
}

int td_session_create(const char* options, td_session** session) {
  return guarded([&] {
    json o = json::parse(&required(options, "options"));
    interpreter::WorldOptions w;
    w.rankCount = o.value("ranks", 1);
    w.seed = o.value("seed", uint64_t(0));
    w.trace = o.value("trace", false);
    w.check = o.value("check", false);
    w.policy = policyOf(o.value("policy", "random"));
    w.logStores = o.value("log_stores", false);
    w.slotsPerRank = o.value("slots_per_rank", w.slotsPerRank);
    if (w.rankCount < 1 || w.rankCount > 1024)
      throw std::runtime_error("`ranks` must be 1 to 1024, not " + std::to_string(w.rankCount));
    if (w.slotsPerRank < 1) throw std::runtime_error("`slots_per_rank` must be at least 1");
    auto& place = required(session, "session");
    place = new td_session(w);
  });
}
void td_session_destroy(td_session* session) { delete session; }
int td_enter(td_session* s, int rank) {
  return guarded([&] { sessionOf(s, rank).session.enter(rank); });
}
int td_leave(td_session* s, int rank) {
  return guarded([&] { sessionOf(s, rank).session.leave(rank); });
}
int td_abort(td_session* s, int rank, const char* why) {
  return guarded([&] { sessionOf(s, rank).session.abort(rank, why ? why : ""); });
}
int td_interrupt(td_session* s) {
  return guarded([&] { required(s, "session").session.interrupt(); });
}
int td_set_interrupt_poll(int (*poll)(void)) {
  return guarded([&] { runtime::sim::Session::interruptPoll = poll; });
}
int td_finish(td_session* s) {
  return guarded([&] { world(s).finish(); });
}
int td_reports(td_session* s, char** out) {
  return guarded([&] {
    json all = json::array();
    for (const interpreter::Report& r : world(s).reports()) all.push_back(reportJson(r));
    auto& place = required(out, "out");
    place = copyOut(all);
  });
}
int td_resident_programs(td_session* s, int* count) {
  return guarded([&] { required(count, "count") = world(s).options().slotsPerRank; });
}
int td_first_difference(td_session* one, td_session* other, char** text) {
  return guarded([&] {
    auto& place = required(text, "text");
    place = copyOut(world(one).firstDifference(world(other)));
  });
}
int td_counters(td_session* s, char** out) {
  return guarded([&] {
    auto c = world(s).counters();
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
int td_chrome_trace(td_session* s, char** out) {
  return guarded([&] {
    auto& place = required(out, "out");
    place = copyOut(runtime::chromeTrace(world(s).trace()));
  });
}
int td_timeline(td_session* s, int width, char** out) {
  return guarded([&] {
    auto& place = required(out, "out");
    place = copyOut(runtime::timeline(world(s).trace(), width));
  });
}
int td_trace_summary(td_session* s, char** out) {
  return guarded([&] {
    auto& place = required(out, "out");
    place = copyOut(runtime::traceSummary(world(s).trace()));
  });
}

}  // extern "C"
