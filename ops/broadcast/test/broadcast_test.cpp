// Broadcast from C++ and from C.
#include "tandem/ops/broadcast.h"
#include <gtest/gtest.h>

extern "C" int broadcastFromC(td_session* session, int rank, uint64_t x, uint64_t out, int64_t count, int64_t root);

namespace tandem {
namespace {

constexpr int64_t kCount = 100;

TEST(Broadcast, FromCppAndC) {
  auto main = [](Team& team) {
    Tensor x = team.localZeros({kCount}, DType::Int32), out = team.localZeros({kCount}, DType::Int32);
    for (int64_t i = 0; i < kCount; ++i) x.data<int>()[i] = int(1000 * team.rank() + i);
    auto expectFrom = [&](int root) {
      team.synchronize();
      for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(out.data<int>()[i], 1000 * root + i) << "rank " << team.rank();
    };
    ops::Broadcast op(team, kCount, DType::Int32);
    op.run(x, out, 2);
    expectFrom(2);
    op.close();
    EXPECT_EQ(broadcastFromC(team.session(), team.rank(), x.address, out.address, kCount, 1), 0) << td_last_error();
    expectFrom(1);
  };
  EXPECT_TRUE(launch(main, {.ranks = 3, .check = true}).warnings.empty());
}

TEST(Broadcast, RootsAreRanks) {
  auto main = [](Team& team) {
    ops::Broadcast op(team, 8, DType::Float16);
    Tensor x = team.localZeros({8}, DType::Float16);
    op.run(x, x, 2);
  };
  try {
    launch(main, {.ranks = 2});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "`broadcast`: `root` is 2, 0 to 1 are possible");
  }
}

}  // namespace
}  // namespace tandem
