// Writes spans as trace events.
#include "runtime/trace/trace.h"
#include <nlohmann/json.hpp>
#include <set>

namespace tandem::runtime {
namespace {

using interpreter::Span;
using interpreter::SpanKind;
using nlohmann::json;

const char* category(SpanKind kind) {
  switch (kind) {
    case SpanKind::Kernel: return "kernel";
    case SpanKind::Compute: return "compute";
    case SpanKind::Wait: return "wait";
    case SpanKind::Put: return "put";
    case SpanKind::Get: return "get";
    case SpanKind::Copy: return "copy";
    case SpanKind::Barrier: return "barrier";
    case SpanKind::Signal: return "signal";
  }
  return "other";
}

json event(const Span& s) {
  json args = {{"program", {s.program[0], s.program[1], s.program[2]}}, {"line", s.line}};
  if (s.peer >= 0) args["peer"] = s.peer;
  if (s.bytes) args["bytes"] = s.bytes;
  return {{"ph", "X"},
          {"pid", s.rank},
          {"tid", s.lane},
          {"ts", s.beginNs / 1000.0},
          {"dur", (s.endNs - s.beginNs) / 1000.0},
          {"cat", category(s.kind)},
          {"name", s.kind == SpanKind::Compute ? s.name : std::string(category(s.kind)) + " " + s.name},
          {"args", std::move(args)}};
}

std::string laneName(int lane) {
  return lane < 10000 ? "slot " + std::to_string(lane) : "stream " + std::to_string(lane - 10000);
}

}  // namespace

std::string chromeTrace(const interpreter::Trace& trace) {
  json events = json::array();
  std::set<std::pair<int, int>> lanes;
  for (const Span& s : trace.spans) lanes.emplace(s.rank, s.lane);
  std::set<int> ranks;
  for (auto [rank, lane] : lanes) {
    if (ranks.insert(rank).second)
      events.push_back(
          {{"ph", "M"}, {"pid", rank}, {"name", "process_name"}, {"args", {{"name", "rank " + std::to_string(rank)}}}});
    events.push_back(
        {{"ph", "M"}, {"pid", rank}, {"tid", lane}, {"name", "thread_name"}, {"args", {{"name", laneName(lane)}}}});
  }
  for (const Span& s : trace.spans) events.push_back(event(s));
  return json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}.dump(-1, ' ', false,
                                                                                  json::error_handler_t::replace);
}

}  // namespace tandem::runtime
