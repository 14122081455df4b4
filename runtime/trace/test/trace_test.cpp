// The three renderings of one small trace.
#include "runtime/trace/trace.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tandem;
using interpreter::Span;
using interpreter::SpanKind;

namespace {

Span span(int rank, SpanKind kind, int64_t begin, int64_t end, uint64_t bytes = 0) {
  Span s;
  s.rank = rank, s.kind = kind, s.beginNs = begin, s.endNs = end, s.name = "k", s.bytes = bytes;
  return s;
}

const interpreter::Trace kTrace{{span(0, SpanKind::Compute, 0, 600), span(0, SpanKind::Copy, 400, 1000, 64),
                                 span(1, SpanKind::Wait, 0, 500), span(1, SpanKind::Compute, 500, 1000)}};

TEST(Trace, SummaryCountsOverlap) {
  auto s = nlohmann::json::parse(runtime::traceSummary(kTrace));
  EXPECT_EQ(s["end_ns"], 1000);
  EXPECT_EQ(s["ranks"][0]["overlapped_ns"], 200);
  EXPECT_EQ(s["ranks"][0]["bytes"], 64);
  EXPECT_EQ(s["ranks"][1]["wait_ns"], 500);
  EXPECT_EQ(s["ranks"][1]["compute_ns"], 500);
}

TEST(Trace, ChromeTraceHasEverySpan) {
  auto t = nlohmann::json::parse(runtime::chromeTrace(kTrace));
  int spans = 0;
  for (auto& e : t["traceEvents"]) spans += e["ph"] == "X";
  EXPECT_EQ(spans, 4);
}

TEST(Trace, TimelineHasThreeRowsARank) {
  EXPECT_EQ(runtime::timeline(kTrace, 4),
            "rank 0  compute |██▃ |\n        wait    |    |\n        move    | ▃██|\n"
            "rank 1  compute |  ██|\n        wait    |██  |\n        move    |    |\n"
            "                 0 1.0 us (modelled)\n");
}

}  // namespace
