// A kernel image survives being written and read; damaged and senseless ones are refused with a reason.
#include "abi/kernel_image_io.h"
#include <gtest/gtest.h>

namespace tandem::abi {
namespace {
using Op = HostExpr::Op;

HostExpr argument(int64_t i) { return {{{Op::Argument, i}}}; }
HostExpr constant(int64_t v) { return {{{Op::Constant, v}}}; }

KernelImage sample() {
  KernelImage image;
  image.name = "matmul";
  image.target = "sm_90a";
  image.cubin = std::string(
      "\x7f"
      "ELF\0\xff",
      6);
  image.ptx = ".version 8.6\n";
  image.roomyCubin = "more registers";
  image.roomyBlocks = 1;
  image.threads = 384;
  image.sharedBytes = 200000;
  image.cluster = {2, 1, 1};
  image.params = {ParamType::Pointer, ParamType::I32, ParamType::I64};
  TensorMapRecipe r;
  r.element = TensorMapRecipe::Element::BF16;
  r.base = {{{Op::Argument, 0}, {Op::Constant, -16}, {Op::Add}}};
  r.shape = {argument(1), constant(64)};
  r.strides = {argument(2), constant(1)};
  r.box = {128, 64};
  r.swizzleBytes = 128;
  r.nanFill = true;
  image.tensorMaps = {r};
  image.registers = 168;
  image.spillBytes = 8;
  image.remarks = {
      {RemarkKind::Load, RemarkOutcome::Missed, "pipeline-loads", "not ahead", "ask for stages", "k.py", 12, 9}};
  image.usesRanks = true;
  image.usesGridBarrier = true;
  image.folds = true;
  image.apart = {{"a", "c"}, {"b", "c"}};
  return image;
}

std::string errorOf(std::string_view bytes) {
  std::string error;
  EXPECT_FALSE(readImage(bytes, error));
  return error;
}

TEST(KernelImageIo, RoundTrip) {
  std::string error, bytes = writeImage(sample());
  std::optional<KernelImage> read = readImage(bytes, error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(writeImage(*read), bytes);
  EXPECT_EQ(read->cubin, sample().cubin);
  EXPECT_EQ(read->ptx, sample().ptx);
  EXPECT_EQ(read->roomyCubin, sample().roomyCubin);
  EXPECT_EQ(read->roomyBlocks, 1);
  EXPECT_EQ(read->cluster, sample().cluster);
  EXPECT_EQ(read->tensorMaps[0].base.steps[1].value, -16);
  EXPECT_TRUE(read->tensorMaps[0].nanFill);
  EXPECT_EQ(read->remarks, sample().remarks);
  EXPECT_TRUE(read->folds);
  EXPECT_EQ(read->apart, sample().apart);
}

TEST(KernelImageIo, EveryDamagedByteIsNoticed) {
  std::string bytes = writeImage(sample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = char(damaged[i] ^ 0x11);
    EXPECT_NE(errorOf(damaged), "") << "byte " << i;
  }
}

TEST(KernelImageIo, EveryShortFileIsNoticed) {
  std::string bytes = writeImage(sample());
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_NE(errorOf(std::string_view(bytes).substr(0, n)), "") << n << " bytes";
  EXPECT_EQ(errorOf(bytes + "x"), "the kernel image is damaged");
}

TEST(KernelImageIo, AnotherVersionIsNamed) {
  std::string bytes = writeImage(sample());
  bytes[7] = '9';
  EXPECT_EQ(errorOf(bytes), "the kernel image is of version `09`, this library reads version `04`");
  EXPECT_EQ(errorOf("hello"), "these 5 bytes are not a kernel image");
}

std::string problemAfter(void (*change)(KernelImage&)) {
  KernelImage image = sample();
  change(image);
  EXPECT_EQ(errorOf(writeImage(image)), problemOf(image));
  return problemOf(image);
}

TEST(KernelImageCheck, SaysWhatIsWrong) {
  EXPECT_EQ(problemOf(sample()), "");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.tensorMaps[0].shape[0] = argument(3); }),
            "kernel `matmul` tensor map 0 has a shape that uses argument 3 of 3");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.tensorMaps[0].base.steps = {{Op::Constant, 1}, {Op::Add}}; }),
            "kernel `matmul` tensor map 0 has a base that takes a value that is not there");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.tensorMaps[0].strides[1].steps.clear(); }),
            "kernel `matmul` tensor map 0 has a stride that leaves 0 values instead of one");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.tensorMaps[0].base.steps.assign(33, {Op::Constant, 1}); }),
            "kernel `matmul` tensor map 0 has a base that stacks more than 32 values");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.tensorMaps[0].box[1] = 257; }),
            "kernel `matmul` tensor map 0 has a box size of 257, not 1 to 256");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.tensorMaps[0].shape.pop_back(); }),
            "kernel `matmul` tensor map 0 has 2 box sizes, 1 shape sizes and 2 strides");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.threads = 0; }), "kernel `matmul` has 0 threads, not 1 to 1024");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.cubin = i.ptx = ""; }), "kernel `matmul` has no code");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.roomyBlocks = 0; }),
            "kernel `matmul` has code for launches of few blocks alone");
  EXPECT_EQ(problemAfter([](KernelImage& i) { i.cluster[2] = 0; }),
            "kernel `matmul` has a cluster size of 0, not 1 to 16");
}

}  // namespace
}  // namespace tandem::abi
