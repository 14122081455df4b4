// This part of the C ABI has the sessions and the results of a run. No exception leaves this file.
#include "api/guarded.h"
#include "api/handles.h"
#include "api/session_options.h"
#include "api/text_out.h"
#include "base/report_kinds.h"
#include "runtime/trace/trace.h"

using namespace tandem;
using nlohmann::json;

namespace {

const char* severityWord(Severity s) {
  return s == Severity::Error ? "error" : s == Severity::Warning ? "warning" : "note";
}

json reportJson(const runtime::RunReport& r) {
  return {{"severity", severityWord(r.severity)},
          {"kind", r.kind},
          {"message", r.message},
          {"rank", r.rank},
          {"program", r.program},
          {"kernel", r.kernel},
          {"file", r.file},
          {"line", r.line},
          {"column", r.column},
          {"text", r.text}};
}

constexpr int everyRank = -1;

// Writes the trace of the ranks on GPUs to the file that the environment names.
void keepTrace(const runtime::Session& session, int rank) {
  if (traceFile().empty()) return;
  std::optional<interpreter::Trace> trace = session.trace();
  if (!trace || !trace->originNs) return;
  if (rank != everyRank) std::erase_if(trace->spans, [&](const interpreter::Span& s) { return s.rank != rank; });
  runtime::addToTraceFile(traceFile(), *trace);
}

}  // namespace

int tandem::rankCount(td_session* s) { return sessionOf(s).rankCount(); }

extern "C" {

int td_session_create(const char* options, td_session** session) {
  return guarded([&] {
    auto made = sessionFor(&required(options, "options"));
    auto& place = required(session, "session");
    place = new td_session{std::move(made)};
  });
}
int td_report_kinds(char** text) {
  return guarded([&] {
    auto& place = required(text, "text");
    json rows = json::array();
    for (const ReportKindRow& row : kReportKinds)
      rows.push_back({{"kind", row.word},
                      {"group", int(row.group)},
                      {"severity", severityWord(row.severity)},
                      {"rules", row.rules},
                      {"what", row.what}});
    place = copyOut(rows.dump());
  });
}
void td_session_destroy(td_session* session) {
  if (!session) return;
  td_session* run = session->whole ? session->whole : session;
  if (session != run) delete session;
  if (--run->users == 0) delete run;
}
int td_session_target(td_session* s, int rank, char** text) {
  return guarded([&] {
    auto& place = required(text, "text");
    place = copyOut(sessionOf(s, rank).target(rank));
  });
}
int td_device_name(td_session* s, int rank, char** text) {
  return guarded([&] {
    auto& place = required(text, "text");
    place = copyOut(sessionOf(s, rank).deviceName(rank));
  });
}
int td_resident_programs(td_session* s, int rank, int* count) {
  return guarded([&] { required(count, "count") = sessionOf(s, rank).residentPrograms(rank); });
}
int td_enter(td_session* s, int rank) {
  return guarded([&] { sessionOf(s, rank).enter(rank); });
}
int td_leave(td_session* s, int rank) {
  return guarded([&] { sessionOf(s, rank).leave(rank); });
}
int td_abort(td_session* s, int rank, const char* why) {
  return guarded([&] {
    sessionOf(s, rank).abort(rank, why ? why : "");
    try {
      keepTrace(sessionOf(s), rank);
    } catch (const std::exception&) {
      // why the run ended is what counts
    }
  });
}
int td_interrupt(td_session* s) {
  return guarded([&] { sessionOf(s).interrupt(); });
}
int td_set_interrupt_poll(int (*poll)(void)) {
  return guarded([&] { runtime::Session::interruptPoll = poll; });
}
int td_set_host_finder(int (*find)(uint64_t address, td_host_memory* found), void (*drop)(void* owner)) {
  return guarded([&] {
    runtime::Session::hostFinder = nullptr;
    if (!find) return;
    runtime::Session::hostFinder = [find, drop](uint64_t address) -> std::optional<runtime::HostMemory> {
      td_host_memory found{};
      if (!find(address, &found)) return std::nullopt;
      return runtime::HostMemory{found.begin, found.bytes, found.name, std::shared_ptr<void>(found.owner, drop)};
    };
  });
}
int td_finish(td_session* s) {
  return guarded([&] {
    sessionOf(s).finish();
    keepTrace(sessionOf(s), everyRank);
  });
}
int td_reports(td_session* s, char** out) {
  return guarded([&] {
    json all = json::array();
    for (const runtime::RunReport& r : sessionOf(s).reports()) all.push_back(reportJson(r));
    auto& place = required(out, "out");
    place = copyOut(all);
  });
}

}  // extern "C"
