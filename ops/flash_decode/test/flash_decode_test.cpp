// FlashDecode from C++ and from C.
#include "tandem/ops/flash_decode.h"
#include <algorithm>
#include <gtest/gtest.h>

extern "C" int flashDecodeFromC(td_session* session, int rank, uint64_t q, uint64_t keys, uint64_t values,
                                uint64_t table, uint64_t lengths, uint64_t out);

namespace tandem {
namespace {

constexpr uint16_t kOne = 0x3c00, kTwo = 0x4000;  // fp16

void fillWith(const Tensor& t, uint16_t bits) { std::fill_n(t.data<uint16_t>(), t.size(), bits); }

// Two pages of 16 keys: the values of page 1 are 2. All scores are 0, so the result is the mean of what is seen.
TEST(FlashDecode, FromCppAndC) {
  auto main = [](Team& team) {
    Tensor q = team.localZeros({1, 1, 2, 64}, DType::Float16), out = team.localZeros({1, 1, 2, 64}, DType::Float16);
    Tensor keys = team.localZeros({2, 16, 1, 64}, DType::Float16), values = team.localZeros(keys.shape, DType::Float16);
    Tensor table = team.localZeros({1, 1}, DType::Int32), lengths = team.localZeros({1}, DType::Int32);
    fillWith(values, kTwo);
    table.data<int>()[0] = 1;
    lengths.data<int>()[0] = 5;
    auto expectAll = [&](uint16_t wanted) {
      team.synchronize();
      for (int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out.data<uint16_t>()[i], wanted);
    };
    ops::FlashDecode op(team, 1, 1, 2, 1, 64, {2, 16, 1}, DType::Float16, {.scale = 0.25});
    op.run(q, keys, values, table, lengths, out, 1);
    expectAll(kTwo);
    // A sink with a score of 0 beside one key has half of the weight.
    lengths.data<int>()[0] = 1;
    op.run(q, keys, values, table, lengths, out, 1, 0, {.sinks = team.localZeros({2}, DType::Float32)});
    expectAll(kOne);
    Tensor status = team.localZeros({2}, DType::Int32);
    table.data<int>()[0] = 2;
    op.run(q, keys, values, table, lengths, out, 1, 0, {.status = status});
    expectAll(0);
    EXPECT_EQ(status.data<int>()[0], 1);
    EXPECT_EQ(status.data<int>()[1], 1);
    op.close();
    table.data<int>()[0] = 1;
    EXPECT_EQ(flashDecodeFromC(team.session(), team.rank(), q.address, keys.address, values.address, table.address,
                               lengths.address, out.address),
              0)
        << td_last_error();
    expectAll(kTwo);
  };
  EXPECT_TRUE(launch(main, {.ranks = 2, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
