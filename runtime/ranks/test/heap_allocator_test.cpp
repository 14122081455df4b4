// Offsets: never overlapping, aligned, the same for the same calls, and gaps that touch are one gap.
#include "runtime/ranks/heap_allocator.h"
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace tandem::runtime::ranks {
namespace {

TEST(HeapAllocator, FirstFitAndCoalescing) {
  HeapAllocator heap(4096);
  EXPECT_EQ(heap.allocate(1)->offset, 0u);
  EXPECT_EQ(heap.allocate(256)->offset, 256u);
  EXPECT_EQ(heap.allocate(257)->offset, 512u);
  EXPECT_EQ(heap.allocate(0)->offset, 1024u) << "no bytes have an address of their own";
  EXPECT_TRUE(heap.release(256));
  EXPECT_TRUE(heap.release(512));
  EXPECT_FALSE(heap.release(512));
  EXPECT_FALSE(heap.release(1));
  std::optional<HeapAllocator::Range> joined = heap.allocate(768);
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->offset, 256u) << "both gaps at once";
  EXPECT_TRUE(joined->reused);
  EXPECT_FALSE(heap.allocate(256)->reused);
  EXPECT_FALSE(heap.allocate(4096));
  EXPECT_FALSE(heap.allocate(~uint64_t(0)));
  EXPECT_EQ(heap.used(), 1536u);
}

TEST(HeapAllocator, RandomCallsNeverOverlapAndAreTheSameOnTwo) {
  std::mt19937 random(5);
  constexpr uint64_t capacity = 1 << 20;
  HeapAllocator a(capacity), b(capacity);
  std::map<uint64_t, uint64_t> live;
  for (int i = 0; i < 5000; ++i) {
    if (live.empty() || random() % 5 < 3) {
      uint64_t bytes = random() % 20000;
      std::optional<HeapAllocator::Range> got = a.allocate(bytes), same = b.allocate(bytes);
      ASSERT_EQ(got.has_value(), same.has_value());
      if (!got) continue;
      ASSERT_EQ(got->offset, same->offset);
      ASSERT_EQ(got->offset % HeapAllocator::kAlignment, 0u);
      ASSERT_GE(got->bytes, bytes);
      ASSERT_LE(got->offset + got->bytes, capacity);
      auto next = live.lower_bound(got->offset);
      if (next != live.end()) ASSERT_LE(got->offset + got->bytes, next->first);
      if (next != live.begin()) ASSERT_LE(std::prev(next)->first + std::prev(next)->second, got->offset);
      live.emplace(got->offset, got->bytes);
    } else {
      auto victim = std::next(live.begin(), long(random() % live.size()));
      ASSERT_TRUE(a.release(victim->first));
      ASSERT_TRUE(b.release(victim->first));
      live.erase(victim);
    }
  }
  for (auto [offset, bytes] : live) a.release(offset);
  EXPECT_EQ(a.allocate(capacity)->offset, 0u) << "all gaps are one again";
}

}  // namespace
}  // namespace tandem::runtime::ranks
