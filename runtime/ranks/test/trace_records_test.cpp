// These tests read spans out of records that are written as kernels write them: chunks, slots, lanes, tiles, lost
// records.
#include "runtime/ranks/trace_records.h"
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace tandem::runtime::ranks {
namespace {

using interpreter::Span;
using interpreter::SpanKind;

constexpr uint64_t kBase = 0x10000, kSites = 0x77;
const char* const kText =
    "gemm\nkernel k.py:4:1\ntile k.py:9:5\nwait dir/k.py:11:9\nput k.py:12:9\nsignal k.py:13:9\nstore k.py:14:9";
enum Site : uint32_t { kKernel, kTile, kWait, kPut, kSignal, kStore };

class TraceRecords : public testing::Test {
 protected:
  // A new chunk for the program; gives its number.
  size_t open(int32_t program, uint16_t role = 0, uint16_t warp = 0, uint64_t previous = 0) {
    tandem_trace_chunk head{previous, kSites, {program, 0, 0}, role, warp};
    chunks_.emplace_back();
    std::memcpy(chunks_.back().data(), &head, sizeof head);
    at_.push_back(sizeof head);
    return chunks_.size() - 1;
  }
  void record(size_t chunk, uint64_t timeNs, Site site, bool end = false, int32_t value = -1) {
    tandem_trace_record r{timeNs, 2 * site + end, value};
    std::memcpy(&chunks_[chunk][at_[chunk]], &r, sizeof r);
    at_[chunk] += sizeof r;
  }
  static uint64_t endOf(size_t chunk) { return kBase + (chunk + 1) * sizeof(TraceChunk); }
  std::vector<Span> spans() {
    TraceKernel kernel = readSites(kText);
    auto out = spansOf(chunks_, kBase, [&](uint64_t sites) -> const TraceKernel& {
      EXPECT_EQ(sites, kSites);
      return kernel;
    });
    std::sort(out.begin(), out.end(), [](const Span& a, const Span& b) {
      return std::pair(a.beginNs, a.endNs) < std::pair(b.beginNs, b.endNs);
    });
    return out;
  }
  static std::string shown(const Span& s) {
    return std::to_string(s.lane) + " " + s.name + " " + std::to_string(s.beginNs) + "-" + std::to_string(s.endNs);
  }

  std::vector<TraceChunk> chunks_;
  std::vector<size_t> at_;
};

TEST_F(TraceRecords, SitesAreNamedByTheirText) {
  TraceKernel kernel = readSites(kText);
  EXPECT_EQ(kernel.name, "gemm");
  ASSERT_EQ(kernel.sites.size(), 6u);
  EXPECT_EQ(kernel.sites[kWait].kind, "wait");
  EXPECT_EQ(kernel.sites[kWait].file, "dir/k.py");
  EXPECT_EQ(kernel.sites[kWait].line, 11u);
  EXPECT_TRUE(readSites("k\nno place").sites.empty());
}

TEST_F(TraceRecords, AProgramComputesWhereItDoesNotWaitOrCopy) {
  size_t c = open(5);
  record(c, 100, kKernel);
  record(c, 110, kWait);
  record(c, 150, kWait, true);
  record(c, 170, kPut, false, 3);
  record(c, 180, kPut, true);
  record(c, 180, kSignal, false, 2);
  record(c, 200, kKernel, true);
  auto s = spans();
  ASSERT_EQ(s.size(), 6u);
  EXPECT_EQ(shown(s[0]), "0 gemm 100-110");
  EXPECT_EQ(shown(s[1]), "0 k.py:11 110-150");
  EXPECT_EQ(s[1].kind, SpanKind::Wait);
  EXPECT_EQ(s[1].line, 11u);
  EXPECT_EQ(shown(s[2]), "0 gemm 150-170");
  EXPECT_EQ(s[2].kind, SpanKind::Compute);
  EXPECT_EQ(s[3].kind, SpanKind::Put);
  EXPECT_EQ(s[3].peer, 3);
  EXPECT_EQ(shown(s[3]), "0 k.py:12 170-180");
  auto signal = std::find_if(s.begin(), s.end(), [](const Span& x) { return x.kind == SpanKind::Signal; });
  ASSERT_NE(signal, s.end());
  EXPECT_EQ(signal->peer, 2);
  EXPECT_EQ(signal->beginNs, signal->endNs);
  for (const Span& span : s) EXPECT_EQ(span.program[0], 5);
}

TEST_F(TraceRecords, TilesAreNumberedAndProducersLoadThem) {
  size_t c = open(0, 1), p = open(0, 2, 8), g = open(0, 3, 9);
  record(c, 100, kKernel);
  record(c, 105, kTile, false, 7);
  record(c, 190, kTile, true);
  record(c, 200, kKernel, true);
  record(p, 102, kTile, false, 7);
  record(p, 120, kWait);
  record(p, 130, kWait, true);
  record(p, 150, kTile, true);
  record(g, 195, kSignal, false, 1);
  std::vector<std::string> found;
  for (const Span& s : spans()) found.push_back(shown(s));
  const std::string producer = "20000", signaller = "20001";
  EXPECT_EQ(found, (std::vector<std::string>{"0 gemm 100-105", producer + " tile 7 102-120", "0 gemm tile 7 105-190",
                                             producer + " k.py:11 120-130", producer + " tile 7 130-150",
                                             "0 gemm 190-200", signaller + " k.py:13 195-195"}));
}

TEST_F(TraceRecords, AChunkContinuesTheOneThatItNames) {
  size_t first = open(1), other = open(2), second = open(1, 0, 0, endOf(first));
  record(first, 100, kKernel);
  record(other, 100, kKernel);
  record(other, 120, kKernel, true);
  record(second, 150, kKernel, true);
  auto s = spans();
  ASSERT_EQ(s.size(), 2u);
  std::sort(s.begin(), s.end(), [](const Span& a, const Span& b) { return a.program[0] < b.program[0]; });
  EXPECT_EQ(s[0].endNs, 150);
  EXPECT_EQ(s[1].endNs, 120);
  EXPECT_NE(s[0].lane, s[1].lane) << "they ran at the same time";
}

TEST_F(TraceRecords, ALaterProgramTakesTheLowestFreeSlot) {
  const uint64_t times[][2] = {{100, 200}, {100, 150}, {160, 300}, {210, 250}};
  for (int32_t p = 0; p < 4; ++p) {
    size_t c = open(p);
    record(c, times[p][0], kKernel);
    record(c, times[p][1], kKernel, true);
  }
  std::vector<int32_t> lanes(4);
  for (const Span& s : spans()) lanes[size_t(s.program[0])] = s.lane;
  EXPECT_EQ(lanes[2], lanes[1]);
  EXPECT_EQ(lanes[3], lanes[0]);
  EXPECT_EQ(*std::max_element(lanes.begin(), lanes.end()), 1);
}

TEST_F(TraceRecords, LostEndsCloseAtTheLastRecord) {
  size_t c = open(0), orphan = open(9, 0, 0, 0xdead);  // whose first chunk is lost
  record(c, 100, kKernel);
  record(c, 130, kWait);
  record(orphan, 140, kKernel, true);
  auto s = spans();
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(shown(s[0]), "0 gemm 100-130");
  EXPECT_EQ(shown(s[1]), "0 k.py:11 130-130");
}

TEST_F(TraceRecords, WarpsThatGoTheirOwnWayHaveTheirOwnLanes) {
  size_t c = open(0), w = open(0, 0, 3);
  record(c, 100, kKernel);
  record(c, 200, kKernel, true);
  record(w, 120, kPut, false, 1);
  record(w, 140, kPut, true);
  auto s = spans();
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[1].lane, interpreter::kPartLanes + interpreter::kWarpParts + 3);
  EXPECT_EQ(s[1].kind, SpanKind::Put);
}

}  // namespace
}  // namespace tandem::runtime::ranks
