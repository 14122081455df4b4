// What the counters make of accesses whose cost is known.
#include "emulator/test/run_ptx.h"
#include <gtest/gtest.h>

namespace tandem::emulator {
namespace {

// The counts of a kernel of one warp; %t is the thread, %o `step` bytes for each before it, %out the array.
std::string countsOf(const std::string& body, uint32_t step) {
  TestKernel kernel(1,
                    ".reg .b64 %out, %w;\n.reg .b32 %t, %o, %v<4>;\nld.param.u64 %out, [p0];\nmov.u32 %t, %tid.x;\n"
                    "mul.lo.u32 %o, %t, " +
                        std::to_string(step) + ";\ncvt.u64.u32 %w, %o;\nadd.u64 %out, %out, %w;\n" + body,
                    ".shared .align 16 .b8 room[4096];\n");
  std::vector<uint32_t> array(2048);
  kernel.count();
  Shape shape;
  shape.block = {kLanes, 1, 1};
  kernel.run(shape, {(kernel.reachable(array) + 31) / 32 * 32});  // where a sector begins
  return kernel.counts();
}

bool has(const std::string& counts, const std::string& part) { return counts.find(part) != counts.npos; }

const std::string kStoreShared = "add.u32 %o, %o, 1024;\nst.shared.b32 [%o], %t;\n";

TEST(Counters, WordsOfOneBankComeOneByOne) {
  EXPECT_TRUE(has(countsOf(kStoreShared, 4), "\"shared_wavefronts\": 1, \"ideal_wavefronts\": 1"));
  EXPECT_TRUE(has(countsOf(kStoreShared, 8), "\"shared_wavefronts\": 2, \"ideal_wavefronts\": 1"));
  EXPECT_TRUE(has(countsOf(kStoreShared, 128), "\"shared_wavefronts\": 32, \"ideal_wavefronts\": 1"));
  EXPECT_TRUE(has(countsOf(kStoreShared, 0), "\"shared_wavefronts\": 1, \"ideal_wavefronts\": 1"));  // one word
}

TEST(Counters, SixteenBytesComeForEightLanesAtATime) {
  std::string body = "add.u32 %o, %o, 1024;\nld.shared.v4.b32 {%v0, %v1, %v2, %v3}, [%o];\n";
  EXPECT_TRUE(has(countsOf(body, 16), "\"shared_wavefronts\": 4, \"ideal_wavefronts\": 4"));
  EXPECT_TRUE(has(countsOf(body, 32), "\"shared_wavefronts\": 8, \"ideal_wavefronts\": 4"));
}

TEST(Counters, SectorsAreOf32Bytes) {
  std::string body = "ld.global.b32 %v0, [%out];\n";
  EXPECT_TRUE(has(countsOf(body, 4), "\"global_requests\": 1, \"global_sectors\": 4"));
  EXPECT_TRUE(has(countsOf(body, 32), "\"global_requests\": 1, \"global_sectors\": 32"));
}

TEST(Counters, ThreadsThatDoNotTakePartAreLeftOut) {
  std::string counts = countsOf(".reg .pred %p;\nsetp.lt.u32 %p, %t, 5;\n@%p st.global.b32 [%out], %t;\n", 4);
  EXPECT_TRUE(has(counts, "\"st.global\": {\"warp_instructions\": 1, \"thread_instructions\": 5,")) << counts;
}

}  // namespace
}  // namespace tandem::emulator
