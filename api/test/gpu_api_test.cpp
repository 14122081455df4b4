// The GPU interface as a program outside sees it, on the fake driver: this test links the runtime library only.
#include "tandem/gpu.h"
#include "abi/kernel_image_io.h"
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tandem::gpu {
namespace {
using abi::ParamType;

std::string imageBytes() {
  abi::KernelImage image;
  image.name = "scale";
  image.target = "sm_90a";
  image.cubin = "FAKE scale 8,4,4,2,2,8,1 40 0";
  image.ptx = ".version 8.0";
  image.params = {ParamType::Pointer, ParamType::I32, ParamType::F32, ParamType::F16,
                  ParamType::BF16,    ParamType::F64, ParamType::I1};
  image.threads = 256;
  return abi::writeImage(image);
}

class GpuApi : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("TANDEM_CUDA_DRIVER", TANDEM_FAKE_CUDA, 1); }
  std::string log() {
    return reinterpret_cast<const char* (*)()>(dlsym(dlopen(TANDEM_FAKE_CUDA, RTLD_NOW), "fakeLog"))();
  }
  template <class Body> std::string errorOf(Body body) {
    try {
      body();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing was thrown";
  }
};

TEST_F(GpuApi, Devices) {
  ASSERT_EQ(devices().size(), 2u);
  EXPECT_EQ(devices()[0].target, "sm_90a");
  EXPECT_EQ(devices()[0].multiprocessors, 132);
  char* json = nullptr;
  ASSERT_EQ(td_gpu_devices(&json), 0);
  EXPECT_NE(std::string(json).find("\"max_shared_bytes\":232448"), std::string::npos);
  td_free(json);
}

TEST_F(GpuApi, NumbersBecomeTheParametersTypes) {
  Kernel kernel = Kernel::fromImage(imageBytes());
  EXPECT_EQ(kernel.name(), "scale");
  EXPECT_EQ(kernel.threads(), 256);
  Stream stream;
  kernel.launch({.grid = {2, 3, 1}, .device = 0}, uint64_t(0x1000), -2, 1.5, 65519.0, 1.0, 1, true);
  EXPECT_NE(
      log().find(
          "grid 2,3,1 block 256,1,1 shared 0 stream 0 0010000000000000 feffffff 0000c03f ff7b 803f 000000000000f03f 01\n"),
      std::string::npos)
      << log();
  kernel.launch({.device = 0}, uint64_t(0), 0, 0.0f, 5.9604644775390625e-8, -3.5e38, 0.5, false);
  EXPECT_NE(log().find(" 00000000 0100 80ff 000000000000e03f 00\n"), std::string::npos) << log();
}

TEST_F(GpuApi, WrongCallsSaySo) {
  Kernel kernel = Kernel::fromImage(imageBytes());
  EXPECT_EQ(errorOf([&] { kernel.launch({}, 1); }), "kernel `scale` takes 7 arguments, 1 given");
  EXPECT_EQ(errorOf([&] { kernel.launch({}, 1.5, 0, 0, 0, 0, 0, 0); }),
            "a kernel's integer or pointer is given the number 1.500000");
  EXPECT_EQ(errorOf([&] { kernel.launch({}, 0, int64_t(1) << 32, 0, 0, 0, 0, 0); }),
            "a kernel's i32 is given 4294967296");
  EXPECT_EQ(errorOf([&] { kernel.launch({}, 0, -(int64_t(1) << 31) - 1, 0, 0, 0, 0, 0); }),
            "a kernel's i32 is given -2147483649");
  EXPECT_EQ(errorOf([&] { kernel.launch({.device = 0}, 0, 4294967295u, 0, 0, 0, 0, 0); }), "nothing was thrown");
  EXPECT_EQ(errorOf([&] { kernel.launch({.grid = {-1, 1, 1}}, 0, 0, 0, 0, 0, 0, 0); }),
            "kernel `scale`: the grid has a negative size");
  EXPECT_EQ(errorOf([&] { Kernel::fromFile("/nowhere/k.tdimage"); }), "cannot read `/nowhere/k.tdimage`");
  EXPECT_EQ(errorOf([&] { Kernel::fromImage("junk"); }), "these 4 bytes are not a kernel image");
  EXPECT_NE(td_gpu_launch(nullptr, 0, 0, 1, 1, 1, nullptr, 0, 0), 0);
  EXPECT_STREQ(td_last_error(), "`kernel` is null");
  EXPECT_NE(td_gpu_launch(kernel.handle(), 0, 0, 1, 1, 1, nullptr, 7, 0), 0);
  EXPECT_STREQ(td_last_error(), "`arguments` is null");
  EXPECT_NE(td_gpu_launch(kernel.handle(), 0, 0, 1, 1, 1, nullptr, 0, 8), 0);
  EXPECT_STREQ(td_last_error(), "unknown launch flags 8");
  EXPECT_NE(td_gpu_event_record(0, 0, 0), 0);
  EXPECT_STREQ(td_last_error(), "`event` is null");
}

TEST_F(GpuApi, Files) {
  std::string path = testing::TempDir() + "scale-" + std::to_string(getpid()) + ".tdimage";
  Kernel kernel = Kernel::fromImage(imageBytes());
  char* bytes = nullptr;
  uint64_t count = 0;
  ASSERT_EQ(td_gpu_kernel_image(kernel.handle(), &bytes, &count), 0);
  std::ofstream(path, std::ios::binary).write(bytes, std::streamsize(count));
  td_free(bytes);
  EXPECT_EQ(Kernel::fromFile(path).ptx(), ".version 8.0");
  std::ofstream(path) << "x";
  EXPECT_EQ(errorOf([&] { Kernel::fromFile(path); }), "`" + path + "`: these 1 bytes are not a kernel image");
}

TEST_F(GpuApi, KernelQuestions) {
  Kernel kernel = Kernel::fromImage(imageBytes());
  const void* bytes = nullptr;
  uint64_t count = 0;
  ASSERT_EQ(td_gpu_kernel_cubin(kernel.handle(), &bytes, &count), 0);
  EXPECT_EQ(std::string(static_cast<const char*>(bytes), count), "FAKE scale 8,4,4,2,2,8,1 40 0");
  int registers = 0, local = -1;
  ASSERT_EQ(td_gpu_kernel_prepare(kernel.handle(), 0, &registers, &local), 0);
  EXPECT_EQ(registers, 40);
  EXPECT_EQ(local, 0);
  char* json = nullptr;
  ASSERT_EQ(td_gpu_kernel_info(kernel.handle(), &json), 0);
  EXPECT_NE(std::string(json).find("\"params\":[\"pointer\",\"i32\",\"fp32\",\"fp16\",\"bf16\",\"fp64\",\"i1\"]"),
            std::string::npos);
  EXPECT_NE(std::string(json).find("\"remarks\":[]"), std::string::npos);
  td_free(json);
}

TEST_F(GpuApi, Buffers) {
  Buffer buffer(64, 0);
  Stream stream(0);
  int values[16] = {1, 2, 3}, back[16] = {};
  buffer.copyFrom(values, sizeof values, stream.handle());
  buffer.copyTo(back, sizeof back, stream.handle());
  EXPECT_EQ(back[2], 3);
  buffer.fill(255);
  buffer.copyTo(back, 4);
  EXPECT_EQ(back[0], -1);
  EXPECT_EQ(errorOf([&] { buffer.copyTo(back, 65); }), "copy of 65 bytes out of a buffer of 64");
}

TEST_F(GpuApi, Events) {
  uint64_t start = 0, end = 0;
  float ms = 0;
  ASSERT_EQ(td_gpu_event_create(0, &start) | td_gpu_event_create(0, &end), 0);
  ASSERT_EQ(td_gpu_event_record(0, 0, start) | td_gpu_event_record(0, 0, end) | td_gpu_event_wait(0, 0, end), 0);
  ASSERT_EQ(td_gpu_event_synchronize(0, end) | td_gpu_event_elapsed(0, start, end, &ms), 0);
  EXPECT_EQ(ms, 2);
  EXPECT_EQ(td_gpu_event_destroy(0, start) | td_gpu_event_destroy(0, end), 0);
}

}  // namespace
}  // namespace tandem::gpu
