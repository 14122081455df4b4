// Opening the driver, its errors, devices, contexts, memory, streams and events, all on the fake driver.
#include "runtime/backend/cuda/device.h"
#include "runtime/backend/cuda/memory.h"
#include "runtime/backend/cuda/test/fake_driver.h"
#include <thread>
#include <vector>

namespace tandem::runtime::cuda {
namespace {

// Runs in a process of its own: a driver is opened once.
void openAndExit(const char* file, bool none) {
  setenv("TANDEM_CUDA_DRIVER", file, 1);
  if (none) setenv("TANDEM_FAKE_CUDA_NONE", "1", 1);
  try {
    driver();
  } catch (const Unavailable& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::exit(7);
  }
  std::exit(0);
}

TEST(Driver, SaysInOneLineThatThereIsNoGpu) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(openAndExit("/nowhere/libcuda.so.1", false), testing::ExitedWithCode(7),
              "^no NVIDIA GPU: the CUDA driver cannot be opened: .*nowhere.*\n$");
  EXPECT_EXIT(openAndExit("libm.so.6", false), testing::ExitedWithCode(7),
              "^the CUDA driver `libm.so.6` is too old: it has no `cuInit`\n$");
  EXPECT_EXIT(openAndExit(TANDEM_FAKE_CUDA, true), testing::ExitedWithCode(7),
              "^no NVIDIA GPU: `cuInit` failed: no CUDA-capable device is detected .CUDA_ERROR_NO_DEVICE.\n$");
}

class Devices : public FakeDriver {};
class Memory : public FakeDriver {};

TEST_F(Devices, Properties) {
  EXPECT_EQ(deviceCount(), 2);
  EXPECT_EQ(propertiesOf(0).name, "Fake H200");
  EXPECT_EQ(propertiesOf(0).target, "sm_90a");
  EXPECT_EQ(propertiesOf(1).target, "sm_80");
  EXPECT_EQ(propertiesOf(0).maxSharedBytes, 232448);
  EXPECT_EQ(propertiesOf(0).memoryBytes, uint64_t(141) << 30);
  EXPECT_EQ(errorOf<std::out_of_range>([] { propertiesOf(2); }), "device 2 is not one of the 2");
}

TEST_F(Devices, ScopeKeepsTheContextThatFits) {
  std::thread([] {
    EXPECT_EQ(currentDevice(), 0);
    {
      OnDevice scope(1);
    }
    EXPECT_EQ(currentDevice(), 1) << "a thread without a context keeps the first";
    Context before = nullptr, inside = nullptr;
    driver().ctxGetCurrent(&before);
    {
      OnDevice scope(0);
      EXPECT_EQ(scope.device(), 0);
      EXPECT_EQ(currentDevice(), 0);
      EXPECT_NE(scope.context(), before);
    }
    EXPECT_EQ(currentDevice(), 1);
    OnDevice same(-1);
    driver().ctxGetCurrent(&inside);
    EXPECT_EQ(inside, before);
  }).join();
}

TEST_F(Memory, CopiesAndFills) {
  Address a = allocate(0, 16), b = allocate(0, 16);
  EXPECT_EQ(a % 256, 0u);
  std::vector<uint8_t> host(16, 3), back(16);
  copyFromHost(0, nullptr, a, host.data(), 16);
  set(0, nullptr, a, 9, 4);
  copy(0, nullptr, b, a, 16);
  copyToHost(0, nullptr, back.data(), b, 16);
  synchronize(0);
  EXPECT_EQ(back[3], 9);
  EXPECT_EQ(back[4], 3);
  EXPECT_EQ(deviceOf(a), 0);
  EXPECT_EQ(deviceOf(Address(reinterpret_cast<uintptr_t>(host.data()))), -1);
  release(0, a);
  release(0, b);
  EXPECT_EQ(allocate(0, 0), 0u);
  release(0, 0);
}

TEST_F(Memory, ErrorsNameTheCall) {
  failNext("cuMemAlloc", kOutOfMemory);
  EXPECT_EQ(errorOf<DriverError>([] { allocate(0, 64); }), "device 0 has no 64 bytes left");
  failNext("cuCtxSynchronize", kInvalidValue);
  EXPECT_EQ(errorOf<DriverError>([] { synchronize(0); }),
            "`cuCtxSynchronize` failed: invalid argument (CUDA_ERROR_INVALID_VALUE)");
  EXPECT_EQ(errorOf<DriverError>([] { release(0, 12); }),
            "`cuMemFree` failed: invalid argument (CUDA_ERROR_INVALID_VALUE)");
}

TEST_F(Memory, StreamsAndEvents) {
  Stream stream = createStream(0);
  Event start = createEvent(0), end = createEvent(0);
  recordEvent(0, stream, start);
  recordEvent(0, stream, end);
  waitEvent(0, nullptr, end);
  synchronizeEvent(0, end);
  synchronizeStream(0, stream);
  EXPECT_EQ(elapsedMs(0, start, end), 2);
  destroyEvent(0, start);
  destroyEvent(0, end);
  destroyStream(0, stream);
}

}  // namespace
}  // namespace tandem::runtime::cuda
