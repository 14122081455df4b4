// These tests load and launch on the fake driver: they check, byte by byte, what reaches the driver, and what is
// refused before.
#include "abi/dist_context.h"
#include "runtime/backend/cuda/context_registry.h"
#include "runtime/backend/cuda/kernel.h"
#include "runtime/backend/cuda/test/fake_driver.h"

namespace tandem::runtime::cuda {
namespace {
using abi::ParamType;
using Op = abi::HostExpr::Op;

abi::HostExpr argument(int64_t i) { return {{{Op::Argument, i}}}; }

abi::KernelImage plain() {
  abi::KernelImage image;
  image.name = "add";
  image.target = "sm_90a";
  image.cubin = "FAKE add 8,4,2 40 16";
  image.params = {ParamType::Pointer, ParamType::I32, ParamType::F16};
  return image;
}

abi::KernelImage withMaps() {
  abi::KernelImage image = plain();
  image.cubin = "FAKE add 8,4,2,128,128 40 0";
  abi::TensorMapRecipe r;
  r.base = argument(0);
  r.shape = {argument(1), argument(1)};
  r.strides = {argument(1), {{{Op::Constant, 1}}}};
  r.box = {64, 64};
  image.tensorMaps = {r, r};
  return image;
}

class Launch : public FakeDriver {
 protected:
  std::unique_ptr<Kernel> make(const abi::KernelImage& image) {
    return std::make_unique<Kernel>(std::make_shared<abi::KernelImage>(image));
  }
  std::string refusal(const abi::KernelImage& image) {
    return errorOf<std::runtime_error>([&] { make(image)->on(0); });
  }
};

constexpr uint64_t kArguments[] = {0x1000, 64, 0x3c00};

TEST_F(Launch, ArgumentsAreReadWithTheirOwnSizes) {
  auto kernel = make(plain());
  kernel->launch(0, {.grid = {5, 6, 7}}, kArguments);
  EXPECT_NE(log().find("launch add on 0 grid 5,6,7 block 128,1,1 shared 0 stream 0 0010000000000000 40000000 003c\n"),
            std::string::npos)
      << log();
  EXPECT_EQ(kernel->on(0).registers, 40);
  EXPECT_EQ(kernel->on(0).localBytes, 16);
}

// The GPU has 132 multiprocessors. The roomy code shows by reading one argument as four bytes.
TEST_F(Launch, BlocksThatAllFitAtOnceGetTheCodeWithMoreRegisters) {
  abi::KernelImage image = plain();
  image.roomyCubin = "FAKE add 8,4,4 80 0";
  image.roomyBlocks = 2;
  auto kernel = make(image);
  for (int rows : {24, 25}) {
    clear();
    kernel->launch(0, {.grid = {11, rows, 1}}, kArguments);
    EXPECT_NE(log().find(rows == 24 ? " 40000000 003c0000\n" : " 40000000 003c\n"), std::string::npos) << log();
  }
  EXPECT_EQ(kernel->on(0).registers, 40);
}

// The address of the context follows the arguments and maps; without a session it is that of a world of one.
TEST_F(Launch, KernelsThatNameRanksGetAContext) {
  abi::KernelImage image = withMaps();
  image.usesRanks = true;
  image.cubin = "FAKE add 8,4,2,128,128,8 40 16";
  auto kernel = make(image);
  kernel->launch(0, {.rankContext = 0x1122}, kArguments);
  EXPECT_NE(log().find(" 2211000000000000\n"), std::string::npos) << log();
  clear();
  kernel->launch(0, {}, kArguments);
  Address at = rankContextOn(0);
  auto* context = reinterpret_cast<const tandem_dist_context*>(at);
  char text[20];
  std::snprintf(text, sizeof text, " %016llx\n", static_cast<unsigned long long>(__builtin_bswap64(at)));
  EXPECT_NE(log().find(text), std::string::npos) << log() << text;
  EXPECT_EQ(context->rank, 0);
  EXPECT_EQ(context->rank_count, 1);
  EXPECT_EQ(context->stride, 0);
  EXPECT_EQ(context->watch, nullptr);
  EXPECT_EQ(context->teams[0].size, 1);
  EXPECT_EQ(context->teams[0].members[0], 0);
  EXPECT_EQ(context->teams[0].indices[0], 0);
  EXPECT_EQ(*context->teams[0].epoch, 0u);
  EXPECT_EQ(*context->teams[0].signals, 0u);
  EXPECT_EQ(rankContextOn(0), at) << "made once";
  EXPECT_NE(rankContextOn(1), at);
}

TEST_F(Launch, LoadsOnceOnEachDevice) {
  auto kernel = make(plain());
  for (int i = 0; i < 3; ++i) kernel->launch(0, {}, kArguments);
  for (int i = 0; i < 3; ++i) kernel->launch(1, {}, kArguments);
  std::string text = log();
  EXPECT_EQ(text.find("load on 0"), text.rfind("load on 0"));
  EXPECT_EQ(text.find("load on 1"), text.rfind("load on 1"));
  EXPECT_NE(text.find("launch add on 1"), std::string::npos);
}

TEST_F(Launch, AttributesAndLargeSharedMemory) {
  abi::KernelImage image = plain();
  image.cluster = {4, 2, 2};
  image.sharedBytes = 200000;
  image.threads = 384;
  make(image)->launch(
      0, {.grid = {3, 1, 1}, .stream = reinterpret_cast<Stream>(uintptr_t(2)), .cooperative = true, .dependent = true},
      kArguments);
  std::string text = log();
  EXPECT_NE(text.find("attribute 8 = 200000\nattribute 9 = 100\nattribute 14 = 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("grid 12,2,2 block 384,1,1 shared 200000 stream 2 cluster 4,2,2 cooperative dependent "),
            std::string::npos)
      << text;
}

TEST_F(Launch, TensorMapsFollowTheArgumentsAndAreEncodedOnce) {
  auto kernel = make(withMaps());
  for (int i = 0; i < 3; ++i) kernel->launch(0, {}, kArguments);
  std::string text = log();
  size_t encodings = 0;
  for (size_t at = 0; (at = text.find("encode", at)) != std::string::npos; ++at) ++encodings;
  EXPECT_EQ(encodings, 2u);
  std::string map = "00100000000000004000000000000000" + std::string(224, '0');
  EXPECT_NE(text.find(" 003c " + map + " " + map + "\n"), std::string::npos) << text;
}

TEST_F(Launch, ManyParametersAndMaps) {
  abi::KernelImage image = withMaps();
  image.tensorMaps.resize(9, image.tensorMaps[0]);
  image.params.resize(70, ParamType::I8);
  image.cubin = "FAKE add 8,4,2";
  for (int i = 3; i < 70; ++i) image.cubin += ",1";
  for (int i = 0; i < 9; ++i) image.cubin += ",128";
  image.cubin += " 40 0";
  std::vector<uint64_t> arguments(70, 0xab);
  arguments[0] = 4096;
  arguments[1] = 64;
  make(image)->launch(0, {}, arguments);
  EXPECT_NE(log().find("ab 00100000000000004000000000000000"), std::string::npos);
}

TEST_F(Launch, AnEmptyGridLaunchesNothing) {
  make(plain())->launch(0, {.grid = {4, 0, 1}}, kArguments);
  EXPECT_EQ(log(), "");
}

TEST_F(Launch, RefusesWrongCalls) {
  auto kernel = make(plain());
  EXPECT_EQ(errorOf<std::invalid_argument>([&] { kernel->launch(0, {}, {}); }),
            "kernel `add` takes 3 arguments, 0 given");
  EXPECT_EQ(errorOf<std::invalid_argument>([&] { kernel->launch(0, {.grid = {1, -1, 1}}, kArguments); }),
            "kernel `add`: the grid has a negative size");
  EXPECT_EQ(errorOf<std::invalid_argument>([&] { kernel->launch(0, {.grid = {1, 1, 65536}}, kArguments); }),
            "kernel `add`: the grid has size 65536 in dimension 2, at most 65535 is possible");
  EXPECT_EQ(errorOf<std::out_of_range>([&] { kernel->launch(2, {}, kArguments); }), "device 2 is not one of the 2");
  abi::KernelImage image = plain();
  image.threads = 2000;
  EXPECT_EQ(errorOf<std::invalid_argument>([&] { make(image); }), "kernel `add` has 2000 threads, not 1 to 1024");
}

TEST_F(Launch, SaysWhenTheDeviceIsTooSmall) {
  abi::KernelImage image = plain();
  image.sharedBytes = 300000;
  EXPECT_EQ(errorOf<OutOfResources>([&] { make(image)->on(0); }),
            "out of resources: kernel `add` needs 300000 bytes of shared memory, the device has 232448");
  image = plain();
  image.cubin = "FAKE add 8,4,2 200 0";
  image.threads = 1024;
  EXPECT_EQ(errorOf<OutOfResources>([&] { make(image)->on(0); }),
            "out of resources: kernel `add` needs 1024 threads, its registers leave room for 512");
}

TEST_F(Launch, LoadErrorsCarryTheDriversLog) {
  failNext("cuModuleLoadDataEx", kInvalidValue);
  EXPECT_EQ(
      refusal(plain()),
      "kernel `add`: `cuModuleLoadDataEx` failed: invalid argument (CUDA_ERROR_INVALID_VALUE)\nptxas error: no such instruction");
  failNext("cuModuleLoadDataEx", kNoBinaryForGpu);
  EXPECT_EQ(errorOf<DriverError>([&] { make(plain())->on(1); }),
            "kernel `add`: its code is for `sm_90a`, device 1 is `sm_80`");
  EXPECT_EQ(make(plain())->on(0).registers, 40) << "a failed load can be repeated";
}

TEST_F(Launch, ThePtxIsUsedWithoutACubin) {
  abi::KernelImage image = plain();
  std::swap(image.cubin, image.ptx);
  EXPECT_EQ(make(image)->on(0).registers, 40);
}

TEST_F(Launch, ThePtxOfAnotherTargetIsUsed) {
  abi::KernelImage image = plain();
  image.target = "sm_80";
  image.ptx = image.cubin;
  image.cubin = "FAKE add 8,4,2 50 0";
  EXPECT_EQ(make(image)->on(0).registers, 40);
  EXPECT_EQ(make(image)->on(1).registers, 50) << "device 1 is an sm_80";
}

}  // namespace
}  // namespace tandem::runtime::cuda
