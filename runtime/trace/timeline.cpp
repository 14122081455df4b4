// Draws spans as text.
#include "runtime/trace/trace.h"
#include <algorithm>
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
  for (double v : row) out += blocks[v <= 0 ? 0 : std::clamp(int(v / top * 8 + 0.5), 1, 8)];
  return out;
}

}  // namespace

std::string timeline(const interpreter::Trace& trace, int width) {
  std::map<int, Row> rows;
  Scale time{firstNs(trace), 1, 0};
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
  std::string scale = std::to_string(time.length / 1000) + "." + std::to_string(time.length / 100 % 10) +
                      (trace.originNs ? " us" : " us (modelled)");
  out += "                 0" + std::string(std::max(1, width - 1 - int(scale.size())), ' ') + scale + "\n";
  return out;
}

}  // namespace tandem::runtime
