// cp.async, copies in bulk, tensor maps and mbarriers as PTX texts.
#include "emulator/test/run_ptx.h"
#include "emulator/units/swizzle.h"
#include "emulator/units/tensor_map.h"
#include <gtest/gtest.h>
#include <numeric>

namespace tandem::emulator {
namespace {

// %tid, %lane, the pointers %p0 ..., and an mbarrier `full` that thread 0 makes for one arrival.
std::string begin(unsigned pointers) {
  std::string text = R"(.reg .b32 %tid, %at, %t<8>, %full; .reg .b64 %wide, %p<4>; .reg .pred %first, %done;
    .shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 full;
    mov.u32 %tid, %tid.x; setp.eq.u32 %first, %tid, 0; mov.u32 %full, full; mov.u32 %at, tile;
    @%first mbarrier.init.shared::cta.b64 [%full], 1;
    @%first fence.mbarrier_init.release.cluster;
    bar.sync 0;
    )";
  for (unsigned i = 0; i < pointers; ++i)
    text += "ld.param.u64 %p" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n";
  return text;
}

const std::string kWait = R"({ WAIT: mbarrier.try_wait.parity.shared::cta.b64 %done, [%full], 0; @!%done bra WAIT; }
)";

template <class T> std::vector<T> counted(size_t count) {
  std::vector<T> made(count);
  std::iota(made.begin(), made.end(), T(1));
  return made;
}

// The phase ends when the copies of the thread are there, with or without an arrival that is expected in addition.
TEST(CopyInstructions, MbarriersHearOfThreadsCopies) {
  TestKernel kernel(2, begin(2) + R"(
    cp.async.cg.shared.global [%at], [%p0], 16;
    cp.async.mbarrier.arrive.shared::cta.b64 [%full];
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%full];
    )" + kWait + R"(ld.shared.b32 %t0, [%at+12]; st.global.b32 [%p1], %t0;)");
  auto in = counted<uint32_t>(4);
  std::vector<uint32_t> out(1);
  kernel.run({.block = {1, 1, 1}}, {kernel.reachable(in), kernel.reachable(out)});
  EXPECT_EQ(out[0], 4u);
}

TEST(CopyInstructions, ThreadsCopyTheBytesThatTheyAreTold) {
  TestKernel kernel(2, begin(2) + R"(
    mul.wide.u32 %wide, %tid, 16; add.s64 %p0, %p0, %wide; add.s64 %p1, %p1, %wide;
    mad.lo.s32 %at, %tid, 16, %at;
    mul.lo.s32 %t0, %tid, 4; min.u32 %t0, %t0, 16;
    cp.async.cg.shared.global [%at], [%p0], 16, %t0;
    setp.lt.u32 %done, %tid, 7;
    @!%done cp.async.ca.shared.global [%at], [%p0], 4, %done;
    setp.gt.u32 %done, %tid, 6;
    @%done cp.async.ca.shared.global [%at+4], [%p0+4], 4, %done;
    cp.async.commit_group; cp.async.wait_group 0;
    ld.shared.v4.b32 {%t0,%t1,%t2,%t3}, [%at]; st.global.v4.b32 [%p1], {%t0,%t1,%t2,%t3};)");
  auto in = counted<uint32_t>(32);
  std::vector<uint32_t> out(32);
  kernel.run({.block = {8, 1, 1}}, {kernel.reachable(in), kernel.reachable(out)});
  for (unsigned thread = 0; thread < 8; ++thread)
    for (unsigned i = 0; i < 4; ++i) {
      bool isLeftOut = i >= thread || (thread == 7 && i == 1);  // a true predicate leaves the copy's bytes out
      EXPECT_EQ(out[thread * 4 + i], isLeftOut ? 0 : in[thread * 4 + i]) << thread << " " << i;
    }
}

TEST(CopyInstructions, BulkThereAndBack) {
  TestKernel kernel(3, begin(3) + R"(
    @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 256;
    @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%p0], 256, [%full];
    )" + kWait + R"(
    @%first cp.async.bulk.global.shared::cta.bulk_group [%p1], [%at], 256;
    @%first cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%p2], [%at], 256;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;)");
  auto in = counted<uint32_t>(64);
  std::vector<uint32_t> out(64), most(64, 40);
  kernel.run({.block = {64, 1, 1}}, {kernel.reachable(in), kernel.reachable(out), kernel.reachable(most)});
  EXPECT_EQ(in, out);
  EXPECT_EQ(most[10], 40u);
  EXPECT_EQ(most[50], 51u);
}

TensorMap mapOf(uint64_t address, uint64_t width, uint64_t height, uint16_t boxWidth, uint16_t boxHeight) {
  TensorMap map;
  map.address = address;
  map.element = TensorMap::U32;
  map.lastDimension = 1;
  map.sizes = {width, height};
  map.strides = {width * 4};
  map.box = {boxWidth, boxHeight};
  map.steps.fill(1);
  map.swizzle = TensorMap::Bytes128;
  return map;
}

struct alignas(128) MapBytes {
  std::byte bytes[TensorMap::kBytes];
};

std::vector<MapBytes> written(const TensorMap& map) {
  std::vector<MapBytes> made(1);
  map.write(made[0].bytes);
  return made;
}

// A box that sticks out of the tensor at its left and lower edges; p3 gets shared memory as it is.
TEST(CopyInstructions, BoxesOfTensors) {
  TestKernel kernel(4, begin(4) + R"(
    mov.b32 %t0, -2; mov.b32 %t1, 5;
    @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 1024;
    @%first cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%p0, {%t0, %t1}], [%full];
    )" + kWait + R"(
    @%first cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%p1, {%t0, %t1}], [%at];
    mov.b32 %t0, 3; mov.b32 %t1, 0;
    @%first cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%p1, {%t0, %t1}], [%at];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    mul.wide.u32 %wide, %tid, 16; add.s64 %p3, %p3, %wide; mad.lo.s32 %at, %tid, 16, %at;
    ld.shared.v4.b32 {%t0,%t1,%t2,%t3}, [%at]; st.global.v4.b32 [%p3], {%t0,%t1,%t2,%t3};)");
  auto in = counted<uint32_t>(40 * 8);
  std::vector<uint32_t> out(40 * 8), shared(256);
  auto from = written(mapOf(kernel.reachable(in), 40, 8, 32, 8));
  auto to = written(mapOf(kernel.reachable(out), 40, 8, 32, 8));
  kernel.run({.block = {64, 1, 1}},
             {kernel.reachable(from), kernel.reachable(to), kernel.reachable(in), kernel.reachable(shared)});
  auto box = [&](int row, int column) {  // what the box has
    int x = column - 2, y = row + 5;
    return x >= 0 && x < 40 && y < 8 ? in[size_t(y) * 40 + size_t(x)] : 0;
  };
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 32; ++column)
      EXPECT_EQ(shared[swizzled(unsigned(row * 128 + column * 4), 128) / 4], box(row, column)) << row << " " << column;
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 40; ++x) {
      uint32_t wanted = y >= 5 && x < 30 ? in[size_t(y) * 40 + size_t(x)] : 0;
      if (x >= 3 && x < 35) wanted += box(y, x - 3);
      EXPECT_EQ(out[size_t(y) * 40 + size_t(x)], wanted) << y << " " << x;
    }
}

// One block of two loads for both.
TEST(CopyInstructions, Multicast) {
  TestKernel kernel(2, begin(2) + R"(
    .reg .b16 %both; .reg .b32 %rank; .reg .pred %leads;
    mov.u32 %rank, %cluster_ctarank; mov.b16 %both, 3; mov.b32 %t0, 0;
    @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 1024;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    setp.eq.and.u32 %leads, %rank, 0, %first;
    @%leads cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        [%at], [%p0, {%t0, %t0}], [%full], %both;
    )" + kWait + R"(
    mad.lo.s32 %at, %tid, 16, %at; mad.lo.s32 %t4, %rank, 64, %tid; mul.wide.u32 %wide, %t4, 16; add.s64 %p1, %p1, %wide;
    ld.shared.v4.b32 {%t0,%t1,%t2,%t3}, [%at]; st.global.v4.b32 [%p1], {%t0,%t1,%t2,%t3};)");
  auto in = counted<uint32_t>(32 * 8);
  std::vector<uint32_t> out(512);
  auto map = written(mapOf(kernel.reachable(in), 32, 8, 32, 8));
  kernel.run({.grid = {2, 1, 1}, .block = {64, 1, 1}, .cluster = {2, 1, 1}},
             {kernel.reachable(map), kernel.reachable(out)});
  for (size_t block = 0; block < 2; ++block)
    for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(out[block * 256 + i], in[swizzled(i * 4, 128) / 4]) << block;
}

// An arrival at another block's mbarrier.
TEST(CopyInstructions, RemoteArrival) {
  TestKernel kernel(1, begin(1) + R"(
    .reg .b32 %rank, %remote;
    mov.u32 %rank, %cluster_ctarank; xor.b32 %t0, %rank, 1;
    mapa.shared::cluster.u32 %remote, %full, %t0;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    @%first mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote];
    )" + kWait + R"(st.global.b32 [%p0], %t0;)");
  std::vector<uint32_t> out(1);
  kernel.run({.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}}, {kernel.reachable(out)});
}

// A map that the kernel makes: p0 is the place for it, p1 the tensor.
TEST(CopyInstructions, MapsThatKernelsMake) {
  std::string replace = "@%first tensormap.replace.tile.";
  std::string at = ".shared::cta.b1024.b32 [%at], ", wideAt = ".shared::cta.b1024.b64 [%at], ";
  TestKernel kernel(3, begin(3) + R"(
    .reg .b64 %stride; mov.b64 %stride, 160; mov.b32 %t0, 0;
    mad.lo.s32 %t1, %tid, 4, %at; st.shared.b32 [%t1], %t0; bar.sync 0;
    )" + replace + "global_address" +
                           wideAt + "%p1;\n" + replace + "rank" + at + "1;\n" + replace + "box_dim" + at + "0, 32;\n" +
                           replace + "box_dim" + at + "1, 8;\n" + replace + "global_dim" + at + "0, 40;\n" + replace +
                           "global_dim" + at + "1, 8;\n" + replace + "global_stride" + wideAt + "0, %stride;\n" +
                           replace + "element_stride" + at + "0, 1;\n" + replace + "element_stride" + at + "1, 1;\n" +
                           replace + "elemtype" + at + "2;\n" + replace + "interleave_layout" + at + "0;\n" + replace +
                           "swizzle_mode" + at + "3;\n" + replace + "fill_mode" + at + "0;\n" + R"(
    bar.sync 0;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%p0], [%at], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%p0], 128;
    mov.b32 %t0, 8; mov.b32 %t1, 0;
    @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 1024;
    @%first cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%at+1024], [%p0, {%t0, %t1}], [%full];
    )" + kWait + R"(
    @%first cp.async.bulk.global.shared::cta.bulk_group [%p2], [%at+1024], 1024;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;)");
  std::vector<MapBytes> map(1);
  auto in = counted<uint32_t>(40 * 8);
  std::vector<uint32_t> out(256);
  kernel.run({.block = {32, 1, 1}}, {kernel.reachable(map), kernel.reachable(in), kernel.reachable(out)});
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned column = 0; column < 32; ++column)
      EXPECT_EQ(out[swizzled(row * 128 + column * 4, 128) / 4], in[row * 40 + column + 8]) << row << " " << column;
}

std::string faultOf(const std::string& body) {
  TestKernel kernel(1, begin(1) + body);
  std::vector<MapBytes> map(1);
  try {
    kernel.run({.block = {32, 1, 1}}, {kernel.reachable(map)});
  } catch (const Fault& fault) {
    return std::to_string(int(fault.code)) + ": " + fault.what();
  }
  return "none";
}

void expectFault(const std::string& body, const std::string& code, const std::string& text) {
  std::string found = faultOf(body);
  EXPECT_EQ(found.substr(0, 3), code) << found;
  EXPECT_NE(found.find(text), std::string::npos) << found;
}

TEST(CopyInstructions, Faults) {
  expectFault("@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 64;\n" + kWait, "719", "can never go on");
  expectFault("mbarrier.arrive.shared::cta.b64 _, [%at];", "719", "no mbarrier here");
  expectFault("@%first mbarrier.arrive.shared::cta.b64 _, [%full], 2;", "719",
              "2 arrivals at an mbarrier that waits for 1");
  expectFault(
      "mov.b32 %t0, 0; @%first cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%at], "
      "[%p0, {%t0}], [%full];",
      "715", "a tensor map with a size");
  expectFault("@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%p0], 256, [%full];",
              "700", "outside");
  expectFault("@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at+8], [%p0], 16, [%full];",
              "716", "");
}

}  // namespace
}  // namespace tandem::emulator
