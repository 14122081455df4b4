// These tests compare a stream's waits with the comparisons that they stand for, for words on both sides of the value.
#include "runtime/ranks/memory_operations.h"
#include "runtime/ranks/test/host_platform.h"
#include <gtest/gtest.h>

namespace tandem::runtime::ranks {
namespace {

bool means(Compare compare, int64_t word, int64_t value) {
  switch (compare) {
    case Compare::Eq: return word == value;
    case Compare::Ne: return word != value;
    case Compare::Gt: return word > value;
    case Compare::Le: return word <= value;
    case Compare::Lt: return word < value;
    case Compare::Ge: return word >= value;
  }
  return false;
}

// True if a stream with this wait goes on.
bool passes(Compare compare, int64_t word, int64_t value, int bytes) {
  WaitTest test = waitTest(compare, uint64_t(value), bytes);
  return holds({true, bytes, reinterpret_cast<Address>(&word), test.value, test.flag});
}

TEST(MemoryOperations, EveryComparisonMeansWhatItSays) {
  for (int bytes : {4, 8})
    for (int64_t value : {-5, -1, 0, 1, 7, 1000000})
      for (int64_t word : {value - 1000, value - 1, value, value + 1, value + 1000})
        for (Compare compare : {Compare::Eq, Compare::Ne, Compare::Gt, Compare::Le, Compare::Lt, Compare::Ge}) {
          if (compare == Compare::Ne && value != 0 && value != -1) continue;
          EXPECT_EQ(passes(compare, word, value, bytes), means(compare, word, value))
              << word << " " << wordOf(compare) << " " << value << " with " << bytes << " bytes";
          uint64_t ends = satisfying(waitTest(compare, uint64_t(value), bytes), bytes);
          EXPECT_TRUE(passes(compare, int64_t(ends), value, bytes)) << wordOf(compare) << " " << value;
        }
}

TEST(MemoryOperations, SaysWhatAStreamCannotTest) {
  try {
    waitTest(Compare::Ne, 5, 8);
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(
        e.what(),
        "a stream of a GPU cannot wait for `ne 5`; it can for eq, gt, ge, lt and le, and for `ne` with 0 and -1");
  }
}

TEST(MemoryOperations, ABatchKeepsItsOrderAndA32BitWriteItsLowWord) {
  HostDevice device;
  Stream stream = device.createStream(StreamKind::Ordinary);
  uint32_t words[2] = {};
  uint64_t wide = 1;
  MemoryOperations batch;
  batch.wait(reinterpret_cast<Address>(&words[0]), waitTest(Compare::Ge, 1, 4), 4);
  batch.write(reinterpret_cast<Address>(&words[1]), ~uint64_t(0), 4);
  batch.write(reinterpret_cast<Address>(&wide), ~uint64_t(0), 8);
  batch.submit(device, stream, "test");
  EXPECT_FALSE(device.idle(stream, "test"));
  EXPECT_EQ(words[1], 0u) << "behind the wait";
  words[0] = 2;
  EXPECT_TRUE(device.idle(stream, "test"));
  EXPECT_EQ(words[1], ~uint32_t(0));
  EXPECT_EQ(wide, ~uint64_t(0));
  device.destroyStream(stream);
}

}  // namespace
}  // namespace tandem::runtime::ranks
