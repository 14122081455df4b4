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

void add(std::vector<double>& row, const Span& s, double nsPerColumn) {
  int last = int(row.size()) - 1;
  for (int c = std::min(last, int(s.beginNs / nsPerColumn)); c <= last && c * nsPerColumn < s.endNs; ++c) {
    double begin = std::max(double(s.beginNs), c * nsPerColumn);
    double end = std::min(double(s.endNs), (c + 1) * nsPerColumn);
    if (end > begin) row[c] += (end - begin) / nsPerColumn;
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
  int64_t end = 1;
  std::map<int, Row> rows;
  for (const Span& s : trace.spans) end = std::max(end, s.endNs);
  double nsPerColumn = double(end) / width;
  for (const Span& s : trace.spans) {
    Row& row = rows.try_emplace(s.rank, width).first->second;
    switch (s.kind) {
      case SpanKind::Compute: add(row.compute, s, nsPerColumn); break;
      case SpanKind::Wait: case SpanKind::Barrier: add(row.wait, s, nsPerColumn); break;
      case SpanKind::Put: case SpanKind::Get: case SpanKind::Copy: add(row.move, s, nsPerColumn); break;
      case SpanKind::Kernel: case SpanKind::Signal: break;
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
  std::string scale = std::to_string(end / 1000) + "." + std::to_string(end / 100 % 10) + " us (modelled)";
  out += "                 0" + std::string(std::max(1, width - 1 - int(scale.size())), ' ') + scale + "\n";
  return out;
}

}  // namespace tandem::runtime
