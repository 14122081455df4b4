// A mixture of experts from C++ and from C.
#include "tandem/ops/moe_mlp.h"
#include "tandem/ops/route.h"
#include "tandem/ops/route_ids.h"
#include <gtest/gtest.h>

extern "C" int mixtureFromC(td_session* session, int rank, uint64_t ids, uint64_t weights, uint64_t route, uint64_t x,
                            uint64_t up, uint64_t down, uint64_t out, int64_t m, int64_t n, int64_t k, int64_t experts,
                            int64_t topK);

namespace tandem {
namespace {

constexpr int64_t kTokens = 6, kColumns = 8, kInner = 4, kExperts = 3, kTopK = 2;

TEST(MoeMlp, FromCppAndC) {
  auto main = [](Team& team) {
    int64_t own = ops::rowsOfRank(kTokens, team.size(), team.rank()), shard = ops::shardRows(kTokens, team.size());
    Tensor ids = team.localZeros({kTokens, kTopK}, DType::Int32),
           weights = team.localZeros({kTokens, kTopK}, DType::Float32);
    Tensor route = team.localZeros({64 + 18 * kExperts + 4 * kTokens * kTopK}, DType::Int32);
    Tensor x = team.localZeros({own, kColumns}, DType::Float32), out = team.localZeros({own, kColumns}, DType::Float32);
    Tensor up = team.localZeros({kExperts, kInner, kColumns}, DType::Float32);
    Tensor down = team.localZeros({kExperts, kColumns, kInner}, DType::Float32);
    // Token t goes to experts t % 3 and, for twice as much, (t + 1) % 3; expert e multiplies by e + 1 on each rank.
    for (int64_t t = 0; t < kTokens; ++t)
      for (int64_t slot = 0; slot < kTopK; ++slot) {
        ids.data<int>()[t * kTopK + slot] = int((t + slot) % kExperts);
        weights.data<float>()[t * kTopK + slot] = float(slot + 1);
      }
    for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = float(team.rank() * shard + int64_t(i / kColumns));
    for (int64_t e = 0; e < kExperts; ++e)
      for (int64_t i = 0; i < kInner; ++i) {
        up.data<float>()[(e * kInner + i) * kColumns + i] = float(e + 1);
        down.data<float>()[(e * kColumns + i) * kInner + i] = 1;
      }
    auto expectTokens = [&] {
      for (int64_t i = 0; i < own; ++i) {
        int64_t t = team.rank() * shard + i, first = t % kExperts + 1, second = (t + 1) % kExperts + 1;
        for (int64_t c = 0; c < kColumns; ++c)
          ASSERT_EQ(out.data<float>()[i * kColumns + c],
                    c < kInner ? float(team.size() * t * (first + 2 * second)) : 0);
      }
    };
    ops::RouteIds dealt(team, kTokens, kExperts, kTopK, DType::Int32);
    ops::MoeMlpConfig config;
    config.shared = true;
    ops::MoeMlp op(team, kTokens, kColumns, kInner, kExperts, kTopK, DType::Float32, config);
    EXPECT_NE(ops::workspaceReport(team).find("moe_rs rows"), std::string::npos);
    dealt.run(ids, weights, route, kTokens);
    op.run(x, up, down, route, out, kTokens);
    team.synchronize();
    expectTokens();
    op.close();
    EXPECT_EQ(ops::workspaceReport(team), "[]");
    dealt.close();
    team.fill(out, 0);
    EXPECT_EQ(mixtureFromC(team.session(), team.rank(), ids.address, weights.address, route.address, x.address,
                           up.address, down.address, out.address, kTokens, kColumns, kInner, kExperts, kTopK),
              0)
        << td_last_error();
    team.synchronize();
    expectTokens();
  };
  EXPECT_TRUE(launch(main, {.ranks = 2, .check = true}).warnings.empty());
}

TEST(Route, SizesThatCannotBeAreNamed) {
  auto thrown = [](int64_t experts, int64_t topK, const ops::RouteConfig& config) -> std::string {
    try {
      launch([&](Team& team) { ops::Route(team, 8, experts, topK, DType::Float32, config); }, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  ops::RouteConfig groups;
  groups.groups = 3;
  EXPECT_EQ(thrown(5, 6, {}), "`route`: `top_k` is 6, 1 to 5 are possible");
  EXPECT_EQ(thrown(2000, 6, {}), "`route`: `experts` is 2000, 1 to 1024 are possible");
  EXPECT_EQ(thrown(8, 2, groups), "`route`: `groups` is 3, which does not divide 8 experts");
  groups.groups = 4;
  EXPECT_EQ(thrown(8, 3, groups), "`route`: `top_k` is 3, but 1 of 4 groups have 2 experts");
}

}  // namespace
}  // namespace tandem
