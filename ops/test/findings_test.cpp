#include "ops/findings.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

std::string told(std::vector<int32_t> words) {
  words.resize(kFindingWords);
  HostWords of{{}, words.data()};
  std::string text = takeFinding(of, "ag_moe");
  EXPECT_EQ(takeFinding(of, "ag_moe"), "") << "a finding is told once";
  return text;
}

TEST(Findings, NameWhatWasSeenAndWhatIsAllowed) {
  std::string begin = "`ag_moe`: an earlier call found that ", end = "; it computed nothing from it";
  EXPECT_EQ(told({0}), "");
  EXPECT_EQ(told({1, 99, 7, 3, 1}), begin + "`ids`: token 3, slot 1 has 99, -1 to 7 are possible" + end);
  EXPECT_EQ(told({2, 8, 7, 3, 1}), begin + "`logits`: token 3 has one that is no number" + end);
  EXPECT_EQ(told({3, 24, 12}), begin + "`route` is of 24 tokens, one of 12 is needed" + end);
  EXPECT_EQ(told({4, 2, 1}), begin + "`route` has 2 experts of a token, 1 are needed" + end);
  EXPECT_EQ(told({5, 8, 16}), begin + "`route` is of 8 experts, one of 16 is needed" + end);
  EXPECT_EQ(told({6, 64, 128}),
            begin + "`route` has blocks of 64 rows, 128 are needed: `block_m` must be the same in both" + end);
  EXPECT_EQ(told({9, 1, 2}), begin + "`route` is of a team of 1 ranks, the operator's has 2" + end);
  EXPECT_EQ(told({10, 1, 0}), begin + "`route` is rank 1's, that of rank 0 is needed" + end);
  EXPECT_EQ(told({11, 99, 7, 3, 1}), begin + "`placement`: expert 3, copy 1 has place 99, 0 to 7 are possible" + end);
  EXPECT_EQ(told({77, 1, 0}), begin + "data that it cannot use, finding 77" + end);
}

TEST(Findings, OperatorsWithoutWordsHaveNone) { EXPECT_EQ(takeFinding({}, "route"), ""); }

TEST(Findings, AreLookedAtByWhoWaitsForTheStreams) {
  auto main = [](Team& team) {
    HostWords words = findingsOf(team, "route_ids"), others = findingsOf(team, "route_ids");
    team.synchronize();
    for (const HostWords& of : {words, others}) {
      of.host[1] = 99;
      of.host[2] = 7;
      of.host[0] = 1;
      try {
        team.synchronize();
        FAIL() << "rank " << team.rank() << " is not told";
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("has 99, -1 to 7 are possible"), std::string::npos) << e.what();
      }
      team.synchronize();
    }
    words.host[0] = 2;
    others.host[0] = 2;
    try {
      team.synchronize();
      FAIL() << "rank " << team.rank() << " is not told";
    } catch (const Error& e) {
      std::string_view text = e.what(), what = "has one that is no number";
      EXPECT_NE(text.find(what), text.rfind(what)) << "both are told at once: " << text;
    }
    team.synchronize();
    words.host[0] = 1;
    forget(team, words);
    team.synchronize(0);
  };
  launch(main, {.ranks = 2});
}

}  // namespace
}  // namespace tandem::ops
