// Cells: split where accesses begin and end, over pages, and forgotten.
#include "interpreter/check/history.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::check {
namespace {

constexpr uint64_t kBase = 1 << 20;

// Stamps [address, address + bytes) and gives how many cells that took.
size_t mark(History& h, uint64_t address, uint64_t bytes, uint32_t actor, bool alike = false) {
  size_t cells = 0;
  h.each(address, bytes, alike, [&](Cell& c, uint64_t) {
    c.write.actor = actor;
    ++cells;
    return true;
  });
  return cells;
}

std::vector<std::pair<uint64_t, uint32_t>> seen(History& h, uint64_t address, uint64_t bytes) {
  std::vector<std::pair<uint64_t, uint32_t>> all;
  h.each(address, bytes, false, [&](Cell& c, uint64_t at) {
    all.push_back({at - kBase, c.write.actor});
    return true;
  });
  return all;
}

using Seen = std::vector<std::pair<uint64_t, uint32_t>>;

TEST(History, AnAccessInsideSplitsACell) {
  History h(kBase, 1 << 16);
  EXPECT_EQ(mark(h, kBase, 100, 1), 1u);
  EXPECT_EQ(mark(h, kBase + 10, 4, 2), 1u);
  EXPECT_EQ(seen(h, kBase, 100), (Seen{{0, 1}, {10, 2}, {14, 1}}));
  EXPECT_EQ(mark(h, kBase + 12, 1, 3), 1u);
  EXPECT_EQ(seen(h, kBase + 11, 4), (Seen{{11, 2}, {12, 3}, {13, 2}, {14, 1}}));
}

TEST(History, GapsBecomeCellsAndAlikeCellsOne) {
  History h(kBase, 1 << 16);
  mark(h, kBase + 8, 8, 1);
  mark(h, kBase + 32, 8, 2);
  EXPECT_EQ(seen(h, kBase, 48), (Seen{{0, 0}, {8, 1}, {16, 0}, {32, 2}, {40, 0}}));
  EXPECT_EQ(mark(h, kBase, 48, 5, true), 5u);
  EXPECT_EQ(seen(h, kBase, 48), (Seen{{0, 5}}));
}

TEST(History, RangesOverPages) {
  History h(kBase, 1 << 16);
  EXPECT_EQ(mark(h, kBase + History::kPageBytes - 8, 16, 1), 2u);
  EXPECT_EQ(mark(h, kBase + 1, 3 * History::kPageBytes, 2), 6u);
  h.forget(kBase + 16, 2 * History::kPageBytes);
  EXPECT_EQ(seen(h, kBase + 1, 16), (Seen{{1, 2}, {16, 0}}));
  EXPECT_EQ(seen(h, kBase + 2 * History::kPageBytes + 15, 2).back().second, 2u);
}

TEST(History, StopsWhenToldTo) {
  History h(kBase, 1 << 16);
  size_t calls = 0;
  EXPECT_FALSE(h.each(kBase, 3 * History::kPageBytes, false, [&](Cell&, uint64_t) { return ++calls < 2; }));
  EXPECT_EQ(calls, 2u);
}

}  // namespace
}  // namespace tandem::interpreter::check
