// These tests compare a stream's waits with the comparisons that they stand for, for words on both sides of the value.
#include "runtime/backend/cuda/ranks/memory_operations.h"
#include "runtime/backend/cuda/test/fake_driver.h"

namespace tandem::runtime::cuda {
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

class MemoryOperationsTest : public FakeDriver {
 protected:
  // Returns true if a stream with this wait goes on.
  bool passes(Compare compare, int64_t word, int64_t value, int bytes) {
    Stream stream = nullptr;
    EXPECT_EQ(driver().streamCreate(&stream, 1), kSuccess);
    MemoryOperations batch;
    batch.wait(reinterpret_cast<Address>(&word), waitTest(compare, uint64_t(value), bytes), bytes);
    batch.submit(stream, "test");
    bool done = driver().streamQuery(stream) == kSuccess;
    driver().streamDestroy(stream);
    return done;
  }
};

TEST_F(MemoryOperationsTest, EveryComparisonMeansWhatItSays) {
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

TEST_F(MemoryOperationsTest, SaysWhatAStreamCannotTest) {
  EXPECT_EQ(errorOf<std::invalid_argument>([] { waitTest(Compare::Ne, 5, 8); }),
            "a stream of a GPU cannot wait for `ne 5`; it can for eq, gt, ge, lt and le, and for `ne` with 0 and -1");
}

TEST_F(MemoryOperationsTest, EncodesTypesValuesAndFlags) {
  uint32_t words[2] = {};
  uint64_t wide = 0;
  MemoryOperations batch;
  batch.write(reinterpret_cast<Address>(&words[0]), 7, 4);
  batch.write(reinterpret_cast<Address>(&wide), ~uint64_t(0), 8);
  batch.wait(reinterpret_cast<Address>(&words[0]), waitTest(Compare::Gt, 6, 4), 4);
  batch.wait(reinterpret_cast<Address>(&wide), waitTest(Compare::Eq, ~uint64_t(0), 8), 8);
  clear();
  batch.submit(nullptr, "test");
  EXPECT_EQ(log(),
            "memory operation 2 value 7 flags 0\nmemory operation 5 value 18446744073709551615 flags 0\n"
            "memory operation 1 value 7 flags 0\nmemory operation 4 value 18446744073709551615 flags 1\n");
  EXPECT_EQ(words[0], 7u);
  failNext("cuStreamBatchMemOp", kInvalidValue);
  EXPECT_EQ(errorOf<DriverError>([&] { batch.submit(nullptr, "writing a test's signals"); }),
            "writing a test's signals: `cuStreamBatchMemOp` failed: invalid argument (CUDA_ERROR_INVALID_VALUE)");
}

TEST_F(MemoryOperationsTest, SplitsWhatTheDriverDoesNotTakeAtOnce) {
  std::vector<uint32_t> words(600);
  MemoryOperations batch;
  for (uint32_t& w : words) batch.write(reinterpret_cast<Address>(&w), 3, 4);
  batch.submit(nullptr, "test");
  EXPECT_EQ(words, std::vector<uint32_t>(600, 3));
}

}  // namespace
}  // namespace tandem::runtime::cuda
