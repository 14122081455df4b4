// Streams of the C++ API: copies, events, signals.
#include "api/test/program.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

namespace tandem {
namespace {

TEST(Streams, EventsOrderTwoStreams) {
  auto main = [](Team& team) {
    Tensor x = team.localZeros({1}, DType::Int32), y = team.localZeros({1}, DType::Int32);
    int other = team.newStream();
    team.launch(addOne(), {}, {x});
    team.waitEvent(team.recordEvent(0), other);
    team.copy(y, x, other);
    team.synchronize(other);
    EXPECT_EQ(*y.data<int32_t>(), 1);
  };
  for (uint64_t seed = 0; seed < 10; ++seed) launch(main, {.ranks = 2, .seed = seed});
}

TEST(Streams, EachHasOneBesideItThatGoesOnMeanwhile) {
  auto main = [](Team& team) {
    int other = team.newStream(), beside = team.streamBeside(0);
    EXPECT_EQ(team.streamBeside(0), beside);
    EXPECT_EQ(std::set({0, other, beside, team.streamBeside(other), team.streamBeside(beside)}).size(), 5u);
    EXPECT_THROW(team.streamBeside(77), Error);
    Tensor flag = team.zeros({1}, DType::Int64);
    team.signalWait(flag, Compare::Eq, 1);
    team.signalWrite(flag, 1, beside);
    team.synchronize();
  };
  launch(main, {.ranks = 2});
}

TEST(Streams, SignalsBetweenRanks) {
  auto main = [](Team& team) {
    Tensor data = team.zeros({1000}, DType::Int32), flag = team.zeros({1}, DType::Int64);
    int next = (team.rank() + 1) % team.size();
    for (int i = 0; i < 1000; ++i) data.data<int32_t>()[i] = team.rank();
    Tensor got = team.zeros({1000}, DType::Int32);
    team.copy(team.peer(got, next), data);
    team.signalAdd(team.peer(flag, next), 3);
    team.signalWait(flag, Compare::Ge, 3);
    team.signalWrite(flag, 0);
    team.synchronize();
    EXPECT_EQ(got.data<int32_t>()[999], (team.rank() + team.size() - 1) % team.size());
  };
  for (uint64_t seed = 0; seed < 10; ++seed) EXPECT_TRUE(launch(main, {.ranks = 4, .seed = seed}).warnings.empty());
}

TEST(Streams, WrongNumbersAreErrors) {
  EXPECT_THROW(launch([](Team& t) { t.copy(t.zeros({1}, DType::Int32), t.zeros({2}, DType::Int32)); }, {.ranks = 1}),
               Error);
  EXPECT_THROW(launch([](Team& t) { t.synchronize(7); }, {.ranks = 1}), Error);
  EXPECT_THROW(launch([](Team& t) { t.launch(addOne(), {.stream = 9}, {t.zeros({1}, DType::Int32)}); }, {.ranks = 1}),
               Error);
  EXPECT_THROW(launch([](Team& t) { t.waitEvent(t.recordEvent(5), 0); }, {.ranks = 1}), Error);
  EXPECT_THROW(launch([](Team& t) { t.waitEvent(12345, 0); }, {.ranks = 1}), Error);
  EXPECT_THROW(launch([](Team& t) { t.peer(t.zeros({1}, DType::Int32), 9); }, {.ranks = 1}), Error);
}

TEST(Streams, OnlySymmetricMemoryHasPeers) {
  auto words = [](const std::function<Tensor(Team&)>& make) {
    return std::string(thrownBy<Error>([&](Team& team) { team.peer(make(team), 0); }, 1).what());
  };
  EXPECT_EQ(words([](Team& team) { return team.localZeros({1}, DType::Int32, "mine"); }),
            "`mine` of rank 0 is not in rank 0's symmetric memory");
  EXPECT_EQ(words([](Team&) { return Tensor{}; }), "address 0x0 is not in rank 0's symmetric memory");
  auto ofPeer = [](Team& team) { team.peer(team.peer(team.zeros({1}, DType::Int32, "x"), 1 - team.rank()), 0); };
  EXPECT_NE(std::string(thrownBy<Error>(ofPeer).what()).find("'s symmetric memory"), std::string::npos);
}

TEST(Streams, ColumnsWithinTheMatrix) {
  auto main = [](Team& team) {
    Tensor x = team.zeros({4, 4}, DType::Int32);
    team.copyColumns(x, x, 1, std::numeric_limits<int64_t>::max());
  };
  EXPECT_STREQ(thrownBy<Error>(main).what(), "9223372036854775807 columns from column 1 of a matrix of 4");
}

TEST(Streams, SignalsOfAWholeTensor) {
  auto main = [](Team& team) {
    Tensor flags = team.zeros({5}, DType::Int32);
    int next = (team.rank() + 1) % team.size(), writer = team.newStream();
    team.signalWait(flags, Compare::Eq, 9);
    team.signalWrite(team.peer(flags, next), 4, writer);
    team.signalAdd(team.peer(flags, next), 5, writer);
    team.synchronize();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(flags.data<int32_t>()[i], 9);
    team.signalWrite(flags, 0);
  };
  for (uint64_t seed = 0; seed < 10; ++seed) EXPECT_TRUE(launch(main, {.ranks = 3, .seed = seed}).warnings.empty());
}

TEST(Streams, OneSignalOfATensorIsOne) {
  auto main = [](Team& team) {
    Tensor flags = team.zeros({3}, DType::Int64), middle{flags.address + 8, {1}, DType::Int64},
           none{flags.address, {0}, DType::Int64};
    team.signalWrite(middle, 7);
    team.signalWait(none, Compare::Eq, 1);
    team.synchronize();
    EXPECT_EQ(std::vector<int64_t>(flags.data<int64_t>(), flags.data<int64_t>() + 3), (std::vector<int64_t>{0, 7, 0}));
    team.signalWrite(flags, 0);
  };
  launch(main, {.ranks = 1});
}

TEST(Streams, HostCopiesAndFill) {
  auto main = [](Team& team) {
    std::vector<int32_t> in = {1, 2, 3, 4}, out(4), filled(4);
    Tensor x = team.empty({4}, DType::Int32), y = team.empty({4}, DType::Int32);
    team.copyFromHost(x, in.data());
    team.launch(addOne(), {}, {x});
    team.copyToHost(out.data(), x);
    team.fill(y, 0x11);
    team.copyToHost(filled.data(), y);
    team.synchronize();
    EXPECT_EQ(out, (std::vector<int32_t>{2, 2, 3, 4}));
    EXPECT_EQ(filled, std::vector<int32_t>(4, 0x11111111));
  };
  launch(main, {.ranks = 2, .check = true});
}

}  // namespace
}  // namespace tandem
