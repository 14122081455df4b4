// The lists of a route from C++ and from C.
#include "tandem/ops/route_align.h"
#include "tandem/ops/route_ids.h"
#include "tandem/ops/route_ranks.h"
#include <gtest/gtest.h>

extern "C" int listsFromC(td_session* session, int rank, const uint64_t* tensors, int64_t m, int64_t experts,
                          int64_t topK, int64_t align, int64_t destinations);

namespace tandem {
namespace {

constexpr int64_t kTokens = 3, kExperts = 4, kTopK = 2, kAlign = 4, kDestinations = 2, kSlots = kTokens * kTopK;
constexpr int kIds[] = {0, 1, 3, 1, 2, -1};

TEST(RouteLists, FromCppAndC) {
  auto main = [](Team& team) {
    auto words = [&](int64_t count) { return team.localZeros({count}, DType::Int32); };
    Tensor ids = team.localZeros({kTokens, kTopK}, DType::Int32),
           weights = team.localZeros({kTokens, kTopK}, DType::Float32);
    std::copy_n(kIds, kSlots, ids.data<int>());
    Tensor route = words(64 + 18 * kExperts + 4 * kSlots), rows = words(1), experts = words(kSlots + kExperts),
           padded = words(kSlots + kExperts * kAlign), offsets = words(kDestinations + 1), slots = words(kSlots),
           tokens = words(kSlots);
    auto expect = [&] {
      auto of = [](const Tensor& t) { return std::vector<int>(t.data<int>(), t.data<int>() + t.size()); };
      EXPECT_EQ(of(rows), (std::vector{16}));
      EXPECT_EQ(of(experts), (std::vector{0, 1, 2, 3, -1, -1, -1, -1, -1, -1}));
      std::vector<int> wanted = {0, 6, 6, 6, 1, 3, 6, 6, 4, 6, 6, 6, 2, 6, 6, 6};
      wanted.resize(size_t(padded.size()), 6);
      EXPECT_EQ(of(padded), wanted);
      EXPECT_EQ(of(offsets), (std::vector{0, 2, 4}));
      EXPECT_EQ(of(tokens), (std::vector{0, 1, 1, 2, -1, -1}));
      EXPECT_EQ(of(slots), (std::vector{3, 2, 1, 1, 0, 0}));
    };
    ops::RouteIds dealt(team, kTokens, kExperts, kTopK, DType::Int32);
    ops::RouteAlign aligned(team, kTokens, kExperts, kTopK, kAlign, DType::Int32);
    ops::RouteRanks listed(team, kTokens, kExperts, kTopK, kDestinations, DType::Int32);
    dealt.run(ids, weights, route, kTokens);
    aligned.run(route, rows, experts, padded, kTokens);
    listed.run(route, offsets, slots, tokens, kTokens);
    team.synchronize();
    expect();
    for (const Tensor& t : {rows, experts, padded, offsets, slots, tokens}) team.fill(t, 0);
    uint64_t tensors[] = {route.address,   rows.address,  experts.address, padded.address,
                          offsets.address, slots.address, tokens.address};
    EXPECT_EQ(listsFromC(team.session(), team.rank(), tensors, kTokens, kExperts, kTopK, kAlign, kDestinations), 0)
        << td_last_error();
    team.synchronize();
    expect();
  };
  EXPECT_TRUE(launch(main, {.ranks = 1, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
