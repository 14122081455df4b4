// Spans as trace events: one a line, between a head that says which run it is and an end, so that the parts of several
// processes join.
#include "runtime/trace/chrome_trace.h"
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace tandem::runtime {
namespace {

using interpreter::Span;
using interpreter::SpanKind;
using nlohmann::json;

constexpr const char* kCategories[] = {"kernel", "compute", "wait",   "put",  "get",
                                       "copy",   "barrier", "signal", "load", "store"};

constexpr const char* kLost = "records lost";

std::string line(const json& event) { return event.dump(-1, ' ', false, json::error_handler_t::replace); }

// "wait `flag` + 8", "put_signal `flag` + 8", "kernel k"; no name says its category twice, but a kernel's may be any.
std::string titleOf(const Span& s) {
  std::string category = kCategories[size_t(s.kind)];
  bool saysIt = s.name == category || s.name.starts_with(category + "_");
  bool alone = s.kind == SpanKind::Compute || (s.kind != SpanKind::Kernel && saysIt);
  std::string title = alone ? s.name : category + " " + s.name;
  return s.signal.empty() ? title : title + " " + s.signal;
}

std::string nameIn(std::string title, SpanKind kind, const std::string& signal) {
  if (!signal.empty() && title.ends_with(" " + signal)) title.resize(title.size() - signal.size() - 1);
  std::string category = kCategories[size_t(kind)] + std::string(" ");
  return title.starts_with(category) ? title.substr(category.size()) : title;
}

json event(const Span& s) {
  json args = {{"program", {s.program[0], s.program[1], s.program[2]}}, {"line", s.line}};
  if (s.peer >= 0) args["peer"] = s.peer;
  if (s.bytes) args["bytes"] = s.bytes;
  if (!s.signal.empty()) args["signal"] = s.signal;
  std::string category = kCategories[size_t(s.kind)];
  return {{"ph", "X"},
          {"pid", s.rank},
          {"tid", s.lane},
          {"ts", s.beginNs / 1000.0},
          {"dur", (s.endNs - s.beginNs) / 1000.0},
          {"cat", category},
          {"name", titleOf(s)},
          {"args", std::move(args)}};
}

// An arrow's end. A viewer binds it to the slice around `ns`, which must lie within the slice.
json arrow(const char* phase, size_t id, const Span& s, int64_t ns) {
  json out = {{"ph", phase},       {"id", id},        {"pid", s.rank},   {"tid", s.lane},
              {"ts", ns / 1000.0}, {"cat", "signal"}, {"name", s.signal}};
  if (*phase == 'f') out["bp"] = "e";
  return out;
}

// Arrows from the span that wrote a signal to the wait that it ended: of the writer's spans for that rank and signal,
// the last that ended before the wait did.
void addArrows(const std::vector<Span>& spans, std::vector<std::string>& lines) {
  std::map<std::tuple<int, int, std::string>, std::map<int64_t, const Span*>>
      writes;  // by writer, rank, signal; by end
  for (const Span& s : spans)
    if (s.kind != SpanKind::Wait && !s.signal.empty()) writes[{s.rank, s.peer, s.signal}].emplace(s.endNs, &s);
  size_t id = 0;
  for (const Span& s : spans) {
    if (s.kind != SpanKind::Wait || s.signal.empty() || s.beginNs == s.endNs) continue;
    auto written = writes.find({s.peer, s.rank, s.signal});
    if (written == writes.end()) continue;
    auto next = written->second.upper_bound(s.endNs);
    if (next == written->second.begin()) continue;
    const Span& from = *std::prev(next)->second;
    lines.push_back(line(arrow("s", id, from, from.beginNs)));
    lines.push_back(line(arrow("f", id++, s, s.endNs - 1)));
  }
}

std::string laneName(int lane) {
  if (lane < interpreter::kStreamLanes) return "slot " + std::to_string(lane);
  if (lane < interpreter::kPartLanes) return "stream " + std::to_string(lane - interpreter::kStreamLanes);
  int slot = (lane - interpreter::kPartLanes) / interpreter::kPartsOfSlot,
      part = (lane - interpreter::kPartLanes) % interpreter::kPartsOfSlot;
  std::string who = part == interpreter::kProducerPart    ? "producer"
                    : part == interpreter::kSignallerPart ? "signaller"
                                                          : "warp " + std::to_string(part - interpreter::kWarpParts);
  return "slot " + std::to_string(slot) + " " + who;
}

// Streams first, then each slot with its parts behind it.
int placeOf(int lane) {
  if (lane < interpreter::kStreamLanes) return interpreter::kPartLanes + lane * (interpreter::kPartsOfSlot + 1);
  if (lane < interpreter::kPartLanes) return lane - interpreter::kStreamLanes;
  int part = lane - interpreter::kPartLanes;
  return interpreter::kPartLanes + part + part / interpreter::kPartsOfSlot + 1;
}

json about(int rank, const char* what, json args) {
  return {{"ph", "M"}, {"pid", rank}, {"name", what}, {"args", std::move(args)}};
}

constexpr double kMostUs = 1e12;  // more than a week

int64_t nanoseconds(const json& us, double leastUs) {
  double value = us.get<double>();
  if (!(value >= leastUs && value <= kMostUs)) throw std::runtime_error("a time of " + us.dump() + " us");
  return std::llround(value * 1000);
}

}  // namespace

std::string traceHead(const interpreter::Trace& trace) {
  json other = {{"clock", trace.originNs ? "measured" : "modelled"}, {"origin_ns", std::to_string(trace.originNs)}};
  return R"({"displayTimeUnit":"ns","otherData":)" + other.dump() + ",\"traceEvents\":[\n";
}

std::string traceEvents(const interpreter::Trace& trace) {
  std::vector<std::string> lines;
  std::set<std::pair<int, int>> lanes;
  for (const Span& s : trace.spans) lanes.emplace(s.rank, s.lane);
  std::set<int> ranks;
  for (auto [rank, lane] : lanes) {
    if (ranks.insert(rank).second)
      lines.push_back(line(about(rank, "process_name", {{"name", "rank " + std::to_string(rank)}})));
    for (json of : {about(rank, "thread_name", {{"name", laneName(lane)}}),
                    about(rank, "thread_sort_index", {{"sort_index", placeOf(lane)}})}) {
      of["tid"] = lane;
      lines.push_back(line(of));
    }
  }
  if (trace.lost) lines.push_back(line(about(ranks.empty() ? 0 : *ranks.begin(), kLost, {{"records", trace.lost}})));
  for (const Span& s : trace.spans) lines.push_back(line(event(s)));
  addArrows(trace.spans, lines);
  std::string out;
  for (const std::string& l : lines) out += (out.empty() ? "" : ",\n") + l;
  return out;
}

std::string chromeTrace(const interpreter::Trace& trace) { return traceHead(trace) + traceEvents(trace) + kTraceEnd; }

interpreter::Trace readChromeTrace(const std::string& text) {
  interpreter::Trace out;
  try {
    json file = json::parse(text);
    out.originNs = std::stoll(file.at("otherData").at("origin_ns").get<std::string>());
    for (const json& e : file.at("traceEvents")) {
      if (e.at("name") == kLost) out.lost += e.at("args").at("records").get<uint64_t>();
      if (e.at("ph") != "X") continue;
      const json& args = e.at("args");
      auto kind = std::find(std::begin(kCategories), std::end(kCategories), e.at("cat").get<std::string>());
      if (kind == std::end(kCategories))
        throw std::runtime_error("an event of category `" + e.at("cat").get<std::string>() + "`");
      Span s;
      s.kind = SpanKind(kind - std::begin(kCategories));
      s.rank = e.at("pid"), s.lane = e.at("tid");
      s.beginNs = nanoseconds(e.at("ts"), -kMostUs);
      s.endNs = s.beginNs + nanoseconds(e.at("dur"), 0);
      s.signal = args.value("signal", std::string());
      s.name = nameIn(e.at("name").get<std::string>(), s.kind, s.signal);
      s.program = args.at("program").get<std::array<int32_t, 3>>();
      s.line = args.at("line");
      s.peer = args.value("peer", -1);
      s.bytes = args.value("bytes", uint64_t(0));
      out.spans.push_back(std::move(s));
    }
  } catch (const std::exception& e) {
    throw std::runtime_error(std::string("not a trace that Tandem wrote: ") + e.what());
  }
  return out;
}

}  // namespace tandem::runtime
