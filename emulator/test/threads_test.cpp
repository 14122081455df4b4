// Threads that part and meet, calls, and what ends a launch.
#include "emulator/test/run_ptx.h"
#include <gtest/gtest.h>

namespace tandem::emulator {
namespace {

using Words = std::vector<uint32_t>;

const std::string kPlaces = R"(
.reg .b64 %out, %o;
.reg .b32 %t;
ld.param.u64 %out, [p0];
mov.u32 %t, %tid.x;
mul.wide.u32 %o, %t, 4;
add.u64 %out, %out, %o;
)";

// What a kernel of one block stores at [%out], thread by thread; %t is the thread.
Words stored(const std::string& body, uint32_t threads = kLanes, const std::string& before = "") {
  TestKernel kernel(1, kPlaces + body, before);
  Words out(threads, 0xdead);
  Shape shape;
  shape.block = {threads, 1, 1};
  kernel.run(shape, {kernel.reachable(out)});
  return out;
}

std::string faultOf(const std::string& body, int& code, uint32_t threads = kLanes) {
  try {
    stored(body, threads);
  } catch (const Fault& fault) {
    code = fault.code;
    return fault.what();
  }
  return "nothing";
}

TEST(Threads, MeetBehindALoopThatEachLeavesInItsTurn) {
  Words out = stored(R"(
.reg .b32 %i, %together;
.reg .pred %p;
mov.b32 %i, 0;
LOOP:
add.u32 %i, %i, 1;
setp.lt.u32 %p, %i, %t;
@%p bra LOOP;
activemask.b32 %together;
xor.b32 %i, %i, %together;
st.global.b32 [%out], %i;
)");
  for (uint32_t t = 0; t < kLanes; ++t) EXPECT_EQ(~out[t], std::max(t, 1u)) << t;
}

// The place where threads meet stands before the branch that leads there, as a loop's end may.
TEST(Threads, MeetWhereverTheTextHasThePlace) {
  Words out = stored(R"(
.reg .b32 %i, %sum, %together;
.reg .pred %p, %q;
mov.b32 %i, 0;
mov.b32 %sum, 0;
setp.eq.u32 %q, %t, 3;
bra.uni HEAD;
LATCH:
activemask.b32 %together;
popc.b32 %together, %together;
add.u32 %sum, %sum, %together;
add.u32 %i, %i, 1;
setp.lt.u32 %p, %i, 4;
@%p bra HEAD;
bra.uni END;
HEAD:
@%q bra RARE;
bra.uni LATCH;
RARE:
add.u32 %sum, %sum, 1000;
bra.uni LATCH;
END:
st.global.b32 [%out], %sum;
)");
  for (uint32_t t = 0; t < kLanes; ++t) EXPECT_EQ(out[t], 4 * kLanes + (t == 3 ? 4000 : 0)) << t;
}

TEST(Threads, OneThatSpinsLetsTheOthersGoOn) {
  Words out = stored(R"(
.reg .b32 %v;
.reg .pred %p, %first;
setp.ne.u32 %first, %t, 0;
@%first bra WAIT;
bra.uni GIVE;
WAIT:
ld.volatile.shared.b32 %v, [flag];
setp.ne.b32 %p, %v, 7;
@%p bra WAIT;
bra.uni DONE;
GIVE:
st.volatile.shared.b32 [flag], 7;
DONE:
st.global.b32 [%out], 1;
)",
                     kLanes, ".shared .align 4 .b32 flag;\n");
  EXPECT_EQ(out, Words(kLanes, 1));
}

TEST(Threads, ShufflesReachTheLaneThatTheyName) {
  Words out = stored("shfl.sync.bfly.b32 %t, %t, 5, 31, -1;\nst.global.b32 [%out], %t;\n");
  for (uint32_t t = 0; t < kLanes; ++t) EXPECT_EQ(out[t], t ^ 5);
  out = stored(R"(
.reg .b32 %v;
.reg .pred %p;
shfl.sync.up.b32 %v|%p, %t, 3, 0x1800, -1;
selp.b32 %v, %v, 99, %p;
st.global.b32 [%out], %v;
)");
  for (uint32_t t = 0; t < kLanes; ++t) EXPECT_EQ(out[t], t % 8 < 3 ? 99 : t - 3) << t;
}

TEST(Threads, BarriersCountAndReduce) {
  Words out = stored(R"(
.reg .b32 %n;
.reg .pred %p;
setp.lt.u32 %p, %t, 40;
bar.red.popc.u32 %n, 1, %p;
st.global.b32 [%out], %n;
)",
                     96);
  EXPECT_EQ(out, Words(96, 40));
}

TEST(Threads, CallsBringTheirOwnRegisters) {
  Words out = stored(R"(
.reg .b32 %a;
{
.param .b32 given;
.param .b32 got;
st.param.b32 [given], %t;
call.uni (got), twice, (given);
ld.param.b32 %a, [got];
}
add.u32 %a, %a, %t;
st.global.b32 [%out], %a;
)",
                     kLanes, R"(
.func (.param .b32 result) twice(.param .b32 value)
{
.reg .b32 %t;
.reg .pred %p;
ld.param.b32 %t, [value];
setp.gt.u32 %p, %t, 9;
@%p bra LARGE;
add.u32 %t, %t, %t;
st.param.b32 [result], %t;
ret;
LARGE:
st.param.b32 [result], 1000;
ret;
}
)");
  for (uint32_t t = 0; t < kLanes; ++t) EXPECT_EQ(out[t], t + (t > 9 ? 1000 : 2 * t)) << t;
}

TEST(Threads, TablesOfBranchesSortLanes) {
  Words out = stored(R"(
.reg .b32 %i;
rem.u32 %i, %t, 3;
TABLE: .branchtargets A, B, C;
brx.idx %i, TABLE;
A: mov.b32 %i, 10; bra.uni END;
B: mov.b32 %i, 20; bra.uni END;
C: mov.b32 %i, 30;
END:
st.global.b32 [%out], %i;
)");
  for (uint32_t t = 0; t < kLanes; ++t) EXPECT_EQ(out[t], 10 * (t % 3 + 1)) << t;
}

TEST(Faults, SayThreadLineAndAddress) {
  int code = 0;
  std::string text = faultOf("add.u64 %out, %out, 4;\nst.global.b32 [%out], %t;\n", code);
  EXPECT_EQ(code, 700);
  EXPECT_NE(text.find("kernel `test`, block (0, 0, 0), thread 31: 4 bytes at 0x"), text.npos) << text;
  EXPECT_NE(text.find("st.global.b32 [%out], %t"), text.npos) << text;
  faultOf("add.u64 %out, %out, 2;\nst.global.b32 [%out], %t;\n", code);
  EXPECT_EQ(code, 716);
  text = faultOf("ld.shared.b32 %t, [1020];\n", code);
  EXPECT_EQ(code, 700);
  EXPECT_NE(text.find("shared memory"), text.npos) << text;
  faultOf("trap;\n", code);
  EXPECT_EQ(code, 719);
}

TEST(Faults, NameEveryWarpThatWaitsForEver) {
  int code = 0;
  std::string text = faultOf(R"(
.reg .pred %p;
setp.lt.u32 %p, %t, 32;
@%p bra FIRST;
bar.sync 2, 64;
FIRST:
bar.sync 3, 64;
)",
                             code, 64);
  EXPECT_EQ(code, 719);
  EXPECT_NE(text.find("can never go on"), text.npos) << text;
  EXPECT_NE(text.find("warp 0, lanes 0xffffffff"), text.npos) << text;
  EXPECT_NE(text.find("bar.sync 2, 64"), text.npos) << text;
}

TEST(Modules, UnknownInstructionsAreNamedWithTheirLine) {
  try {
    TestKernel(0, ".reg .b32 %r;\nadd.s32 %r, %r, 1;\nfrobnicate.b32 %r, %r;\n");
    FAIL();
  } catch (const ptx::ParseError& e) {
    EXPECT_STREQ(e.what(), "line 8: the emulator does not know `frobnicate.b32 %r, %r`");
  }
}

}  // namespace
}  // namespace tandem::emulator
