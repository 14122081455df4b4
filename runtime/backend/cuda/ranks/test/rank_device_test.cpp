// How a batch of words reaches the driver.
#include "runtime/backend/cuda/ranks/rank_device.h"
#include "runtime/backend/cuda/test/fake_driver.h"
#include "runtime/ranks/memory_operations.h"

namespace tandem::runtime::cuda {
namespace {

using ranks::MemoryOperations;
using RankDeviceTest = FakeDriver;

TEST_F(RankDeviceTest, EncodesTypesValuesAndFlags) {
  RankDevice device(0);
  uint32_t words[2] = {};
  uint64_t wide = 0;
  MemoryOperations batch;
  batch.write(reinterpret_cast<Address>(&words[0]), 7, 4);
  batch.write(reinterpret_cast<Address>(&wide), ~uint64_t(0), 8);
  batch.wait(reinterpret_cast<Address>(&words[0]), ranks::waitTest(Compare::Gt, 6, 4), 4);
  batch.wait(reinterpret_cast<Address>(&wide), ranks::waitTest(Compare::Eq, ~uint64_t(0), 8), 8);
  batch.wait(reinterpret_cast<Address>(&wide), ranks::waitTest(Compare::Ne, 0, 8), 8);
  clear();
  batch.submit(device, nullptr, "test");
  EXPECT_EQ(log(),
            "memory operation 2 value 7 flags 0\nmemory operation 5 value 18446744073709551615 flags 0\n"
            "memory operation 1 value 7 flags 0\nmemory operation 4 value 18446744073709551615 flags 1\n"
            "memory operation 4 value 18446744073709551615 flags 2\n");
  EXPECT_EQ(words[0], 7u);
  failNext("cuStreamBatchMemOp", kInvalidValue);
  EXPECT_EQ(errorOf<DriverError>([&] { batch.submit(device, nullptr, "writing a test's signals"); }),
            "writing a test's signals: `cuStreamBatchMemOp` failed: invalid argument (CUDA_ERROR_INVALID_VALUE)");
}

TEST_F(RankDeviceTest, SplitsWhatTheDriverDoesNotTakeAtOnce) {
  RankDevice device(0);
  std::vector<uint32_t> words(600);
  MemoryOperations batch;
  for (uint32_t& w : words) batch.write(reinterpret_cast<Address>(&w), 3, 4);
  batch.submit(device, nullptr, "test");
  EXPECT_EQ(words, std::vector<uint32_t>(600, 3));
}

}  // namespace
}  // namespace tandem::runtime::cuda
