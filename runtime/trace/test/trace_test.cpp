// The renderings of one small trace, its file, and the file that several processes write.
#include "runtime/trace/trace.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

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

TEST(Trace, TimelineBeginsWithWhatItDraws) {
  const interpreter::Trace late{{span(0, SpanKind::Kernel, 2000, 5000), span(0, SpanKind::Compute, 4000, 5000),
                                 span(0, SpanKind::Wait, 4500, 5000)}};
  EXPECT_EQ(runtime::timeline(late, 20),
            "rank 0  compute |████████████████████|\n        wait    |          ██████████|\n"
            "        move    |                    |\n                 4.0 5.0 us (modelled)\n");
}

Span seen(int rank, int lane, SpanKind kind, int64_t begin, int64_t end) {
  Span s = span(rank, kind, begin, end, 8);
  s.lane = lane, s.name = "k.py:7", s.line = 7, s.peer = 1 - rank, s.program = {1, 2, 3};
  return s;
}

std::string contentOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Trace, WhatIsWrittenIsReadBack) {
  interpreter::Trace trace{{}, 1234567890123456789, 5};
  for (int kind = 0; kind <= int(SpanKind::Store); ++kind)
    trace.spans.push_back(seen(kind % 2, 20000 + kind, SpanKind(kind), 5000000 + kind, 7000001));
  interpreter::Trace read = runtime::readChromeTrace(runtime::chromeTrace(trace));
  EXPECT_EQ(read.originNs, trace.originNs);
  EXPECT_EQ(read.lost, 5u);
  EXPECT_EQ(nlohmann::json::parse(runtime::traceSummary(read))["lost"], 5);
  ASSERT_EQ(read.spans.size(), trace.spans.size());
  for (size_t i = 0; i < read.spans.size(); ++i) {
    const Span &r = read.spans[i], &t = trace.spans[i];
    EXPECT_EQ(std::tie(r.rank, r.lane, r.kind, r.beginNs, r.endNs, r.name, r.program, r.line, r.peer, r.bytes),
              std::tie(t.rank, t.lane, t.kind, t.beginNs, t.endNs, t.name, t.program, t.line, t.peer, t.bytes));
  }
  auto withTime = [](const char* ts, const char* dur) {
    return R"({"otherData":{"origin_ns":"0"},"traceEvents":[{"ph":"X","name":"put k","cat":"put","pid":0,"tid":0,"ts":)" +
           std::string(ts) + ",\"dur\":" + dur + R"(,"args":{"program":[0,0,0],"line":1}}]})";
  };
  EXPECT_EQ(runtime::timeline(runtime::readChromeTrace(withTime("-5", "1")), 10).find("rank 0"), 0u);
  for (const std::string& wrong :
       {std::string(), std::string("{}"), std::string("[1]"), withTime("1e300", "1"), withTime("1", "-1"),
        withTime("1", "1e300"), withTime("\"now\"", "1"),
        std::string(R"({"otherData":{"origin_ns":"0"},"traceEvents":[{"ph":"X"}]})"),
        std::string(R"({"otherData":{"origin_ns":"0"},"traceEvents":[{"ph":"X","name":"x","cat":"dance"}]})")})
    EXPECT_THROW(runtime::readChromeTrace(wrong), std::runtime_error) << wrong;
}

TEST(Trace, LanesAreNamed) {
  interpreter::Trace trace{{seen(0, 3, SpanKind::Compute, 0, 1), seen(0, 10002, SpanKind::Copy, 0, 1),
                            seen(0, 20000 + 3 * 64, SpanKind::Load, 0, 1),
                            seen(0, 20001 + 3 * 64, SpanKind::Signal, 0, 0),
                            seen(0, 20002 + 3 * 64 + 5, SpanKind::Put, 0, 1)}};
  std::map<int, std::string> names;
  std::vector<std::pair<int, int>> order;
  auto file = nlohmann::json::parse(runtime::chromeTrace(trace));
  for (auto& e : file["traceEvents"]) {
    if (e["name"] == "thread_name") names[e["tid"]] = e["args"]["name"];
    if (e["name"] == "thread_sort_index") order.emplace_back(e["args"]["sort_index"], e["tid"]);
  }
  EXPECT_EQ(names, (std::map<int, std::string>{{3, "slot 3"},
                                               {10002, "stream 2"},
                                               {20192, "slot 3 producer"},
                                               {20193, "slot 3 signaller"},
                                               {20199, "slot 3 warp 5"}}));
  std::sort(order.begin(), order.end());
  std::vector<int> lanes;
  for (auto [place, lane] : order) lanes.push_back(lane);
  EXPECT_EQ(lanes, (std::vector<int>{10002, 3, 20192, 20193, 20199}));
}

TEST(Trace, ArrowsLeadFromASignalToTheWaitItEnded) {
  auto about = [](Span s, const char* name, int peer) {
    s.name = name, s.peer = peer, s.signal = "`flag` + 8";
    return s;
  };
  interpreter::Trace trace{
      {about(span(1, SpanKind::Signal, 10, 20), "signal", 0),
       about(span(1, SpanKind::Put, 30, 120, 64), "put_signal", 0),
       about(span(1, SpanKind::Signal, 400, 420), "signal", 0), about(span(2, SpanKind::Signal, 100, 110), "signal", 0),
       about(span(0, SpanKind::Wait, 50, 120), "wait", 1), about(span(0, SpanKind::Wait, 130, 130), "wait", 1)}};
  std::string text = runtime::chromeTrace(trace);
  std::vector<std::string> titles;
  std::vector<std::tuple<std::string, int, double>> arrows;
  auto file = nlohmann::json::parse(text);
  for (auto& e : file["traceEvents"]) {
    if (e["ph"] == "X") titles.push_back(e["name"]);
    if (e["ph"] == "s" || e["ph"] == "f") arrows.emplace_back(e["ph"], e["pid"], e["ts"]);
  }
  EXPECT_EQ(titles[0], "signal `flag` + 8");
  EXPECT_EQ(titles[1], "put_signal `flag` + 8");
  EXPECT_EQ(titles[4], "wait `flag` + 8");
  EXPECT_EQ(arrows, (std::vector<std::tuple<std::string, int, double>>{{"s", 1, 0.03}, {"f", 0, 0.119}}));
  interpreter::Trace read = runtime::readChromeTrace(text);
  EXPECT_EQ(read.spans[1].name, "put_signal");
  EXPECT_EQ(read.spans[1].signal, "`flag` + 8");
  EXPECT_EQ(read.spans[4].name, "wait");
}

TEST(Trace, AKernelMayHaveTheNameOfItsCategory) {
  Span kernel = span(0, SpanKind::Kernel, 0, 10);
  kernel.name = "kernel";
  std::string text = runtime::chromeTrace({{kernel}});
  EXPECT_NE(text.find(R"("name":"kernel kernel")"), std::string::npos);
  EXPECT_EQ(runtime::readChromeTrace(text).spans[0].name, "kernel");
}

TEST(Trace, MeasuredTimesBeginWithTheFirstSpan) {
  interpreter::Trace measured{{span(0, SpanKind::Compute, 500000, 500600), span(0, SpanKind::Load, 500000, 501000)},
                              77};
  EXPECT_EQ(nlohmann::json::parse(runtime::traceSummary(measured))["end_ns"], 1000);
  EXPECT_EQ(runtime::timeline(measured, 4),
            "rank 0  compute |██▃ |\n        wait    |    |\n        move    |    |\n                 0 1.0 us\n");
}

TEST(Trace, PartsOfOneRunShareAFile) {
  std::string path = testing::TempDir() + "tandem_parts.json";
  std::filesystem::remove(path);
  auto part = [](int rank, int64_t origin) {
    return interpreter::Trace{{span(rank, SpanKind::Compute, 10, 20)}, origin};
  };
  runtime::addToTraceFile(path, part(0, 5));
  EXPECT_EQ(contentOf(path), runtime::chromeTrace(part(0, 5)));
  runtime::addToTraceFile(path, part(1, 5));
  runtime::addToTraceFile(path, interpreter::Trace{{}, 5});
  interpreter::Trace both = runtime::readChromeTrace(contentOf(path));
  ASSERT_EQ(both.spans.size(), 2u);
  EXPECT_EQ(both.spans[1].rank, 1);

  runtime::addToTraceFile(path, interpreter::Trace{{}, 6});
  EXPECT_EQ(runtime::readChromeTrace(contentOf(path)).spans.size(), 0u) << "another run's file is replaced";
  std::vector<std::thread> writers;
  for (int r = 0; r < 8; ++r) writers.emplace_back([&, r] { runtime::addToTraceFile(path, part(r, 6)); });
  for (std::thread& t : writers) t.join();
  EXPECT_EQ(runtime::readChromeTrace(contentOf(path)).spans.size(), 8u);
  std::filesystem::remove(path);
  EXPECT_THROW(runtime::addToTraceFile("/no/such/folder/t.json", part(0, 5)), std::runtime_error);
}

}  // namespace
