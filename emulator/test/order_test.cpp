// Accesses of shared memory that are ordered, and the same with one instruction left out or changed: the first are
// silent, the others are told with both places.
#include "emulator/test/run_ptx.h"
#include <gtest/gtest.h>
#include <regex>

namespace tandem::emulator {
namespace {

constexpr unsigned kThreads = 128;

// What the check says of the body, run by four warps of a block, or of each of two that are a cluster; "" if nothing.
std::string told(const std::string& body, unsigned blocks = 1) {
  TestKernel kernel(1, R"(
    .reg .b32 %tid, %at, %other, %v<8>, %full, %empty, %again; .reg .pred %first, %done, %warp<4>; .reg .b32 %row; .reg .b64 %p0;
    .shared .align 1024 .b8 tile[8192]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty; .shared .align 8 .b64 again;
    ld.param.u64 %p0, [p0];
    mov.u32 %tid, %tid.x; setp.eq.u32 %first, %tid, 0; mov.u32 %full, full; mov.u32 %empty, empty; mov.u32 %again, again;
    mov.u32 %at, tile; mad.lo.s32 %at, %tid, 16, %at; xor.b32 %other, %at, 512; mov.u32 %row, tile; mov.b32 %v0, 0;
    shr.u32 %v1, %tid, 5; setp.eq.u32 %warp0, %v1, 0; setp.eq.u32 %warp1, %v1, 1;
    setp.eq.u32 %warp2, %v1, 2; setp.eq.u32 %warp3, %v1, 3;
    )" + body);
  kernel.checkOrder();
  std::vector<uint64_t> memory(1024);
  try {
    kernel.run({.grid = {blocks, 1, 1}, .block = {kThreads, 1, 1}, .cluster = {blocks, 1, 1}},
               {kernel.reachable(memory)});
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "";
}

// The body is silent; without `needed` (or with `instead` for it) the text shows two instructions.
void expectNeeded(const std::string& body, const std::string& needed, const std::string& one, const std::string& other,
                  const std::string& instead = "", unsigned blocks = 1) {
  EXPECT_EQ(told(body, blocks), "");
  std::string wrong = body;
  size_t at = wrong.find(needed);
  ASSERT_NE(at, std::string::npos);
  wrong.replace(at, needed.size(), instead);
  std::string text = told(wrong, blocks);
  for (const std::string& place : {one, other}) EXPECT_NE(text.find(place), std::string::npos) << text;
}

const std::string kMakeBarriers = R"(
  @%first mbarrier.init.shared::cta.b64 [%full], 1; @%first mbarrier.init.shared::cta.b64 [%empty], 128;
  @%first mbarrier.init.shared::cta.b64 [%again], 1;
  @%first fence.mbarrier_init.release.cluster; bar.sync 1;
)";
const std::string kLoad = R"(
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 2048;
  @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%at], [%p0], 2048, [%full];
)";
std::string wait(const std::string& barrier, int parity) {
  return "{ WAIT: mbarrier.try_wait.parity.shared::cta.b64 %done, [%" + barrier + "], " + std::to_string(parity) +
         "; @!%done bra WAIT; }\n";
}

TEST(Order, Barriers) {
  expectNeeded("st.shared.b32 [%at], %v0; bar.sync 0; ld.shared.b32 %v1, [%other];", "bar.sync 0;", "st.shared",
               "ld.shared");
  expectNeeded(
      "st.shared.b32 [%at], %v0; bar.sync 0; ld.shared.b32 %v1, [%other]; bar.sync 0; st.shared.b64 [%at], %p0;",
      " bar.sync 0; st.shared.b64", "ld.shared", "st.shared.b64", " st.shared.b64");
  expectNeeded("st.shared.v2.b64 [%at], {%p0, %p0}; bar.sync 0; st.shared.b32 [%other+4], %v0;", "bar.sync 0;",
               "st.shared.v2", "st.shared.b32");
  // Bytes of one word are no race.
  EXPECT_EQ(told("mad.lo.s32 %at, %tid, -15, %at; st.shared.b8 [%at], %v0; bar.sync 0; ld.shared.b32 %v1, [%other];"),
            "");
}

// Warps that all have a value may all store it, and each read what it has stored.
TEST(Order, StoresOfTheSame) {
  std::string body = "st.shared.b32 [%row], %v0; ld.shared.b32 %v1, [%row];";
  expectNeeded(body, "%v0;", "st.shared", "st.shared", "%tid;");
  expectNeeded(body + "bar.sync 0; st.shared.b64 [%row], %p0;", "bar.sync 0;", "st.shared.b32", "st.shared.b64");
}

// A barrier of some warps orders no others, and an arrival does not order what comes behind it.
TEST(Order, NamedBarriers) {
  std::string body = R"(
    @%warp0 st.shared.b32 [%row], %v0;
    @%warp0 bar.arrive 2, 64;
    @%warp1 bar.sync 2, 64;
    @%warp1 ld.shared.b32 %v1, [%row];)";
  expectNeeded(body, "%warp1 ld", "st.shared", "ld.shared", "%warp2 ld");
  expectNeeded(body, "st.shared.b32 [%row], %v0;\n    @%warp0 bar.arrive 2, 64;", "st.shared", "ld.shared",
               "bar.arrive 2, 64; @%warp0 st.shared.b32 [%row], %v0;");
}

TEST(Order, Mbarriers) {
  std::string body = kMakeBarriers + "st.shared.b32 [%at], %v0; mbarrier.arrive.shared::cta.b64 _, [%empty];\n" +
                     wait("empty", 0) + "ld.shared.b32 %v1, [%other];";
  expectNeeded(body, wait("empty", 0), "st.shared", "ld.shared");
  expectNeeded(body, "bar.sync 1;", "mbarrier.init", "mbarrier.arrive");
}

TEST(Order, AtomicsAreOrderedAmongThemselves) {
  EXPECT_EQ(told("mov.u32 %at, tile; red.relaxed.cta.shared.add.u32 [%at], 1; bar.sync 0; ld.shared.b32 %v1, [%at];"),
            "");
  expectNeeded("mov.u32 %at, tile; red.relaxed.cta.shared.add.u32 [%at], 1; bar.sync 0; ld.shared.b32 %v1, [%at];",
               "bar.sync 0;", "ld.shared", "red.");
}

TEST(Order, BytesThatCome) {
  std::string read = "ld.shared.b32 %v1, [%other];\n";
  expectNeeded(kMakeBarriers + kLoad + wait("full", 0) + read, wait("full", 0), "cp.async.bulk", "ld.shared");
  std::string another = std::regex_replace(kLoad, std::regex("%full"), "%again");
  // What was read is overwritten when all have said that they are done.
  std::string reuse = kMakeBarriers + kLoad + wait("full", 0) + read +
                      "mbarrier.arrive.shared::cta.b64 _, [%empty];\n" + wait("empty", 0) + another;
  expectNeeded(reuse, wait("empty", 0), "ld.shared", "cp.async.bulk");
  // What threads wrote needs a proxy fence before bytes come over it.
  std::string over = kMakeBarriers + "st.shared.b32 [%at], %v0; fence.proxy.async.shared::cta; bar.sync 0;\n" + kLoad;
  expectNeeded(over, "fence.proxy.async.shared::cta;", "st.shared", "cp.async.bulk");
  EXPECT_NE(told(kMakeBarriers + "st.shared.b32 [%at], %v0; bar.sync 0;\n" + kLoad).find("no fence.proxy.async"),
            std::string::npos);
}

TEST(Order, BytesThatGo) {
  std::string store = R"(
    st.shared.b32 [%at], %v0; fence.proxy.async; bar.sync 0;
    @%first cp.async.bulk.global.shared::cta.bulk_group [%p0], [%at], 2048;
    @%first cp.async.bulk.commit_group; @%first cp.async.bulk.wait_group.read 0; bar.sync 0;
    st.shared.b32 [%other], %tid;)";
  expectNeeded(store, "fence.proxy.async;", "st.shared", "cp.async.bulk");
  expectNeeded(store, "wait_group.read 0", "cp.async.bulk", "st.shared", "wait_group.read 1");
  expectNeeded(store, "@%first cp.async.bulk.commit_group;", "cp.async.bulk", "st.shared");
}

TEST(Order, ThreadsCopies) {
  std::string copy = "cp.async.ca.shared.global [%at], [%p0], 16; cp.async.commit_group;\n";
  expectNeeded(copy + "cp.async.wait_group 0; ld.shared.b32 %v1, [%at];", "cp.async.wait_group 0;", "cp.async",
               "ld.shared");
  expectNeeded(
      copy +
          "cp.async.ca.shared.global [%at+4096], [%p0], 16; cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;"
          "ld.shared.b32 %v1, [%other];",
      "wait_group 1", "cp.async", "ld.shared", "wait_group 2");
  expectNeeded(
      kMakeBarriers +
          "cp.async.ca.shared.global [%at], [%p0], 16; cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%empty];\n" +
          wait("empty", 0) + "ld.shared.b32 %v1, [%other];",
      "cp.async.mbarrier.arrive.noinc.shared::cta.b64", "cp.async", "ld.shared", "mbarrier.arrive.shared::cta.b64 _,");
}

TEST(Order, Products) {
  std::string product = R"(
    .reg .f32 %d<4>; .reg .b64 %left, %right, %more;
    st.shared.b32 [%at], %v0; fence.proxy.async; bar.sync 0;
    mov.u32 %v2, tile; shr.u32 %v2, %v2, 4; cvt.u64.u32 %left, %v2; or.b64 %left, %left, 34363932672;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0,%d1,%d2,%d3}, %left, %left, 0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    bar.sync 0; st.shared.b64 [%at], %p0;)";
  expectNeeded(product, "fence.proxy.async;", "st.shared", "wgmma.mma_async");
  expectNeeded(product, "bar.sync 0;", "st.shared", "wgmma.mma_async");
  expectNeeded(product, "wait_group.sync.aligned 0", "wgmma.mma_async", "st.shared.b64", "wait_group.sync.aligned 1");
}

// Sums are there, and the left factor's registers free, when a wait has waited for the product's group; on all ways.
TEST(Order, RegistersOfProducts) {
  std::string body = R"(
    .reg .f32 %d<8>; .reg .b64 %right; .reg .b32 %a<4>; .reg .pred %more;
    mov.b64 %right, 34363932736;
    mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; mov.b32 %a3, 0; mov.b32 %v3, 0;
    st.shared.v2.b64 [%at], {%p0, %p0}; fence.proxy.async; bar.sync 0;
    LOOP: wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0,%d1,%d2,%d3}, {%a0,%a1,%a2,%a3}, %right, 0, 1, 1, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d4,%d5,%d6,%d7}, {%a0,%a1,%a2,%a3}, %right, 0, 1, 1, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 1;
    add.f32 %d0, %d0, %d1;
    wgmma.wait_group.sync.aligned 0;
    mov.b32 %a0, 1; add.s32 %v3, %v3, 1; setp.lt.u32 %more, %v3, 3;
    @%more bra LOOP;
    st.global.b32 [%p0], %d4;)";
  expectNeeded(body, "aligned 1;", "wgmma.mma_async", "add.f32", "aligned 2;");
  expectNeeded(body, "aligned 0;", "wgmma.mma_async", "mov.b32", "aligned 1;");
  expectNeeded(body, "mov.b32 %a0, 1;", "wgmma.mma_async", "wgmma.mma_async",
               "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
               "{%d0,%d1,%d4,%d5}, {%a0,%a1,%a2,%a3}, %right, 0, 1, 1, 0; wgmma.commit_group.sync.aligned;");
  expectNeeded(body, "LOOP: wgmma.fence.sync.aligned;", "add.f32", "wgmma.mma_async",
               "wgmma.fence.sync.aligned; LOOP:");
}

// The other block of the cluster says by this one's mbarrier that its memory can be read.
TEST(Order, Clusters) {
  std::string body = kMakeBarriers + R"(
    .reg .b32 %rank, %remote, %v9; .reg .pred %leads;
    mov.u32 %rank, %cluster_ctarank; xor.b32 %v9, %rank, 1; mapa.shared::cluster.u32 %remote, %empty, %v9;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    st.shared.b32 [%at], %v0;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote];
    )" + wait("empty", 0) +
                     R"(
    mapa.shared::cluster.u32 %remote, %at, %v9; ld.shared::cluster.b32 %v1, [%remote];)";
  expectNeeded(body, wait("empty", 0), "st.shared", "ld.shared::cluster", "", 2);
}

}  // namespace
}  // namespace tandem::emulator
