// Draws spans as text.
#include "runtime/trace/trace.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace tandem::runtime {
namespace {

using interpreter::Span;
using interpreter::SpanKind;

struct Row {
  std::vector<double> compute, wait, move;
  explicit Row(int width) : compute(width), wait(width), move(width) {}
};

struct Scale {
  int64_t first, length;
  double nsPerColumn;
};

void add(std::vector<double>& row, const Span& s, const Scale& scale) {
  int last = int(row.size()) - 1;
  double from = double(s.beginNs - scale.first), until = double(s.endNs - scale.first), width = scale.nsPerColumn;
  for (int c = std::clamp(int(from / width), 0, last); c <= last && c * width < until; ++c) {
    double begin = std::max(from, c * width), end = std::min(until, (c + 1) * width);
    if (end > begin) row[size_t(c)] += (end - begin) / width;
  }
}

// Eighths of a full block, scaled to the row's own maximum.
std::string bar(const std::vector<double>& row) {
  static const char* const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double top = *std::max_element(row.begin(), row.end());
  std::string out;
  for (double v : row) out += blocks[v <= 0 ? 0 : std::clamp(int(std::lround(v / top * 8)), 1, 8)];
  return out;
}

bool drawn(const Span& s) {
  return s.kind != SpanKind::Kernel && s.kind != SpanKind::Signal && s.kind != SpanKind::Load &&
         s.kind != SpanKind::Store;
}

std::string microseconds(int64_t ns) { return std::to_string(ns / 1000) + "." + std::to_string(ns / 100 % 10); }

}  // namespace

std::string timeline(const interpreter::Trace& trace, int width) {
  std::map<int, Row> rows;
  int64_t origin = firstNs(trace), first = std::numeric_limits<int64_t>::max();
  for (const Span& s : trace.spans) first = drawn(s) ? std::min(first, s.beginNs) : first;
  // The time before the first thing drawn, such as a launch's, is left out.
  Scale time{first == std::numeric_limits<int64_t>::max() ? origin : first, 1, 0};
  for (const Span& s : trace.spans) time.length = std::max(time.length, s.endNs - time.first);
  time.nsPerColumn = double(time.length) / width;
  for (const Span& s : trace.spans) {
    Row& row = rows.try_emplace(s.rank, width).first->second;
    switch (s.kind) {
      case SpanKind::Compute: add(row.compute, s, time); break;
      case SpanKind::Wait:
      case SpanKind::Barrier: add(row.wait, s, time); break;
      case SpanKind::Put:
      case SpanKind::Get:
      case SpanKind::Copy: add(row.move, s, time); break;
      case SpanKind::Kernel:
      case SpanKind::Signal:
      case SpanKind::Load:
      case SpanKind::Store: break;
    }
  }
  std::string out;
  for (auto& [rank, row] : rows) {
    std::string label = "rank " + std::to_string(rank);
    label.resize(std::max<size_t>(label.size(), 8), ' ');
    out += label + "compute |" + bar(row.compute) + "|\n";
    out += "        wait    |" + bar(row.wait) + "|\n";
    out += "        move    |" + bar(row.move) + "|\n";
  }
  int64_t begin = time.first - origin;
  std::string left = begin > 0 ? microseconds(begin) : "0";
  std::string right = microseconds(begin + time.length) + (trace.originNs ? " us" : " us (modelled)");
  out += std::string(17, ' ') + left + std::string(std::max(1, width - int(left.size() + right.size())), ' ') + right +
         "\n";
  return out;
}

}  // namespace tandem::runtime
