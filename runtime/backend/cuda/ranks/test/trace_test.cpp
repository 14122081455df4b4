// These tests trace sessions on the fake driver, whose device clock is the host's plus an hour: clocks, streams, and
// records that kernels leave in the buffer.
#include "abi/dist_context.h"
#include "runtime/backend/cuda/ranks/clock.h"
#include "runtime/backend/cuda/memory.h"
#include "runtime/backend/cuda/ranks/rank_device.h"
#include "runtime/backend/cuda/ranks/session.h"
#include "runtime/backend/cuda/context_registry.h"
#include "runtime/backend/cuda/test/fake_driver.h"
#include <algorithm>
#include <cstring>
#include <thread>

namespace tandem::runtime::cuda {
namespace {

using interpreter::Span;
using interpreter::SpanKind;
constexpr int64_t kHourNs = 3600000000000;

class TraceTest : public FakeDriver {
 protected:
  std::unique_ptr<Session> run(int ranks, bool trace, const std::function<void(Session&, int)>& body) {
    RanksOptions o;
    o.ranks = ranks;
    o.devices.assign(size_t(ranks), 0);
    o.heapStride = uint64_t(256) << 20;
    o.trace = trace;
    auto session = makeSession(o);
    std::vector<std::thread> all;
    for (int r = 0; r < ranks; ++r)
      all.emplace_back([&, r] {
        session->enter(r);
        body(*session, r);
        session->leave(r);
      });
    for (std::thread& t : all) t.join();
    session->finish();
    return session;
  }
  // Returns the buffer that a kernel finds by its rank's context.
  static tandem_trace* bufferHere() { return reinterpret_cast<tandem_dist_context*>(rankContextOn(0))->trace; }
};

TEST_F(TraceTest, TheDeviceClockIsFoundBesideTheHosts) {
  Clock clock(0);
  Event then = createEvent(0);
  Stream stream = createStream(0);
  ranks::ClockPair pair = clock.compare(handleOf(stream), handleOf(then));
  EXPECT_NEAR(double(int64_t(pair.deviceNs) - kHourNs), double(pair.hostNs), double(pair.doubtNs) + 1);
  EXPECT_LT(pair.doubtNs, 10000000);
  EXPECT_GE(pair.lastNs, pair.deviceNs);
  synchronizeStream(0, stream);
  EXPECT_GE(elapsedMs(0, then, then), 0) << "it was recorded";
  destroyStream(0, stream);
  destroyEvent(0, then);
}

TEST_F(TraceTest, StreamsShowWhatTheyWereGiven) {
  auto session = run(2, true, [](Session& s, int rank) {
    EXPECT_TRUE(s.target(rank).ends_with("+trace"));
    Address x = s.allocate(rank, 4096, true, true, "x", {});
    StreamId stream = s.createStream(rank);
    s.copy(rank, stream, s.peerAddress(rank, x, 1 - rank), x, 64);
    s.barrierOnStream(rank, stream, 0);
    s.synchronize(rank);
  });
  auto trace = session->trace();
  ASSERT_TRUE(trace);
  EXPECT_GT(trace->originNs, 0);
  for (int rank : {0, 1}) {
    auto of = [&](SpanKind kind) {
      return std::find_if(trace->spans.begin(), trace->spans.end(),
                          [&](const Span& s) { return s.rank == rank && s.kind == kind; });
    };
    auto copy = of(SpanKind::Copy), barrier = of(SpanKind::Barrier);
    ASSERT_NE(copy, trace->spans.end());
    ASSERT_NE(barrier, trace->spans.end());
    EXPECT_EQ(copy->peer, 1 - rank);
    EXPECT_EQ(copy->bytes, 64u);
    EXPECT_GE(copy->lane, interpreter::kStreamLanes);
    EXPECT_GE(copy->beginNs, 0);
    EXPECT_LT(copy->beginNs, 60000000000) << "after the run's own beginning";
    EXPECT_LE(copy->beginNs, copy->endNs);
    EXPECT_LE(copy->endNs, barrier->endNs);
  }
}

TEST_F(TraceTest, WhatKernelsLeaveInTheBufferIsRead) {
  int64_t began = 0;
  auto session = run(1, true, [&](Session&, int) {
    tandem_trace* trace = bufferHere();
    ASSERT_NE(trace, nullptr);
    EXPECT_EQ(trace->chunks % TANDEM_TRACE_CHUNK_BYTES, 0u);
    trace->taken = trace->capacity + 3;
    auto* chunk = reinterpret_cast<tandem_trace_chunk*>(trace->chunks);
    std::string text = "one\nkernel k.py:1:1\nput k.py:2:3";
    static std::vector<char> table(4 + text.size());
    auto length = uint32_t(text.size());
    std::memcpy(table.data(), &length, 4);
    std::memcpy(table.data() + 4, text.data(), text.size());
    *chunk = {0, reinterpret_cast<uint64_t>(table.data()), {4, 0, 0}, 0, 0};
    began = ranks::hostClockNs();
    auto at = [&](int64_t us) { return uint64_t(began + kHourNs + us * 1000); };
    tandem_trace_record records[] = {{at(0), 0, -1}, {at(10), 2, 0}, {at(30), 3, -1}, {at(40), 1, -1}};
    std::memcpy(chunk + 1, records, sizeof records);
  });
  auto trace = session->trace();
  ASSERT_EQ(trace->spans.size(), 3u);
  EXPECT_EQ(trace->lost, 3u);
  const Span& put =
      *std::find_if(trace->spans.begin(), trace->spans.end(), [](const Span& s) { return s.kind == SpanKind::Put; });
  constexpr double doubtNs = 1000000;  // of the fake driver on a busy machine
  EXPECT_NEAR(double(put.beginNs + trace->originNs), double(began + 10000), doubtNs);
  EXPECT_NEAR(double(put.endNs - put.beginNs), 20000, 10);
  EXPECT_EQ(put.program[0], 4);
  auto reports = session->reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].text.find("warning: the trace of rank 0 has no room for 3 records"), std::string::npos)
      << reports[0].text;
  EXPECT_EQ(reports[0].severity, Severity::Warning);
}

TEST_F(TraceTest, UntracedRunsHaveNoBufferAndNoEvents) {
  auto session = run(1, false, [](Session& s, int) {
    EXPECT_EQ(s.target(0).find('+'), std::string::npos);
    EXPECT_EQ(bufferHere(), nullptr);
  });
  EXPECT_FALSE(session->trace());
  EXPECT_EQ(log().find("tandem_clock"), std::string::npos);
}

}  // namespace
}  // namespace tandem::runtime::cuda
