// Totals of a trace by rank.
#include "runtime/trace/trace.h"
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace tandem::runtime {
namespace {

using interpreter::Span;
using interpreter::SpanKind;
using Interval = std::pair<int64_t, int64_t>;

std::vector<Interval> merged(std::vector<Interval> in) {
  std::sort(in.begin(), in.end());
  std::vector<Interval> out;
  for (const Interval& i : in) {
    if (!out.empty() && i.first <= out.back().second)
      out.back().second = std::max(out.back().second, i.second);
    else
      out.push_back(i);
  }
  return out;
}

int64_t length(const std::vector<Interval>& intervals) {
  int64_t sum = 0;
  for (const Interval& i : intervals) sum += i.second - i.first;
  return sum;
}

int64_t overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  int64_t sum = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max<int64_t>(0, std::min(a[i].second, b[j].second) - std::max(a[i].first, b[j].first));
    if (a[i].second < b[j].second)
      ++i;
    else
      ++j;
  }
  return sum;
}

struct Totals {
  std::vector<Interval> compute, transfer;
  int64_t waitNs = 0;
  uint64_t bytes = 0;
};

void count(Totals& t, const Span& s) {
  switch (s.kind) {
    case SpanKind::Compute: t.compute.emplace_back(s.beginNs, s.endNs); break;
    case SpanKind::Wait:
    case SpanKind::Barrier: t.waitNs += s.endNs - s.beginNs; break;
    case SpanKind::Put:
    case SpanKind::Get:
    case SpanKind::Copy:
      t.transfer.emplace_back(s.beginNs, s.endNs);
      t.bytes += s.bytes;
      break;
    case SpanKind::Kernel:
    case SpanKind::Signal:
    case SpanKind::Load:
    case SpanKind::Store: break;
  }
}

}  // namespace

int64_t firstNs(const interpreter::Trace& trace) {
  if (!trace.originNs || trace.spans.empty()) return 0;
  return std::min_element(trace.spans.begin(), trace.spans.end(),
                          [](const Span& a, const Span& b) { return a.beginNs < b.beginNs; })
      ->beginNs;
}

std::string traceSummary(const interpreter::Trace& trace) {
  std::map<int, Totals> ranks;
  int64_t first = firstNs(trace), end = first;
  for (const Span& s : trace.spans) {
    end = std::max(end, s.endNs);
    count(ranks[s.rank], s);
  }
  nlohmann::json out = {{"end_ns", end - first}, {"lost", trace.lost}, {"ranks", nlohmann::json::array()}};
  for (auto& [rank, t] : ranks) {
    auto compute = merged(std::move(t.compute)), transfer = merged(std::move(t.transfer));
    out["ranks"].push_back({{"rank", rank},
                            {"compute_ns", length(compute)},
                            {"wait_ns", t.waitNs},
                            {"transfer_ns", length(transfer)},
                            {"overlapped_ns", overlap(compute, transfer)},
                            {"bytes", t.bytes}});
  }
  return out.dump();
}

}  // namespace tandem::runtime
