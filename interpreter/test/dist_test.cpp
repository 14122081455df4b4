// These tests cover signals, puts, fences, barriers and collectives between ranks, and the delays that the seed may
// cause.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

constexpr int64_t kSys = 2, kAcquire = 1, kEq = 0, kGe = 5, kSet = 0, kAdd = 1, kBlock = 2;

std::vector<Address> symmetric(World& w, uint64_t bytes, const std::string& name, bool initialised = true) {
  std::vector<Address> all;
  for (int r = 0; r < w.options().rankCount; ++r)
    all.push_back(w.allocate(r, bytes, MemoryKind::Symmetric, initialised, name));
  return all;
}
Register wait(ProgramBuilder& b, Register p, Register count, Register value, int64_t compare = kEq) {
  Register token = b.uniform(Elem::I32);
  b.add(Op::Wait, Elem::I64, {p, count, value}, {token}, {kSys, kAcquire, compare});
  return token;
}

struct Ring {
  ProgramBuilder b;
  Register rank = b.uniform(Elem::I32), n = b.uniform(Elem::I32), next, one;
  Ring() {
    b.add(Op::Rank, Elem::I32, {kNone}, {rank});
    b.add(Op::NumRanks, Elem::I32, {kNone}, {n});
    one = b.constant(Elem::I64, 1);
    next = b.binary(BinaryOp::RemS, b.binary(BinaryOp::AddI, rank, b.constant(Elem::I32, 1)), n);
  }
};

TEST(Dist, NotifyAfterStoresToAPeer) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    World world({.rankCount = 4, .seed = seed});
    auto flag = symmetric(world, 8, "flag"), data = symmetric(world, 4, "data", false),
         out = symmetric(world, 4, "out", false);
    Ring k;
    ProgramBuilder& b = k.b;
    Register f = b.pointerArgument("flag", Elem::I64), d = b.pointerArgument("data", Elem::I32),
             o = b.pointerArgument("out", Elem::I32);
    Register peer = b.uniform(Elem::I64);
    b.add(Op::SymmAt, Elem::I64, {d, k.next}, {peer});
    b.store(peer, k.rank);
    b.add(Op::Notify, Elem::I64, {f, k.next, k.one}, {}, {kSet, kSys});
    Register token = wait(b, f, b.constant(Elem::I32, 1), k.one);
    Register tied = b.uniform(Elem::I64);
    b.add(Op::ConsumeToken, Elem::I64, {d, token}, {tied});
    b.store(o, b.load(tied, Elem::I32));
    std::vector<std::vector<uint64_t>> arguments;
    for (int r = 0; r < 4; ++r) arguments.push_back({flag[r], data[r], out[r]});
    ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, arguments), World::Stop::Done) << renderAll(world);
    for (int r = 0; r < 4; ++r) EXPECT_EQ(*at<int32_t>(out[r]), (r + 3) % 4);
    world.finish();
    EXPECT_TRUE(world.reports().empty()) << renderAll(world);
    EXPECT_EQ(world.counters().waits, 4u);
  }
}

// Rank 0 puts 7 and signals rank 1, which copies the value that it sees. Returns that value.
enum class Order { None, Fence, Quiet, PutSignal, Blocking };
int64_t seenAfterSignal(uint64_t seed, Order order, std::vector<Span>* spans = nullptr) {
  World world({.rankCount = 2, .seed = seed, .trace = spans != nullptr});
  auto flag = symmetric(world, 8, "flag"), data = symmetric(world, 64, "data"), out = symmetric(world, 8, "out");
  *at<int64_t>(data[0]) = 7;
  ProgramBuilder b;
  Register f = b.pointerArgument("flag", Elem::I64), d = b.pointerArgument("data", Elem::I64),
           o = b.pointerArgument("out", Elem::I64);
  Register rank = b.uniform(Elem::I32), one32 = b.constant(Elem::I32, 1), one = b.constant(Elem::I64, 1),
           bytes = b.constant(Elem::I64, 64);
  b.add(Op::Rank, Elem::I32, {kNone}, {rank});
  Register isZero = b.compare(CompareOp::Eq, rank, b.constant(Elem::I32, 0));
  uint32_t branch = b.add(Op::Branch, Elem::I1, {isZero}, {}, {0});
  if (order == Order::PutSignal) {
    b.add(Op::PutSignal, Elem::I64, {d, d, bytes, f, one, one32}, {}, {1, kSet, kBlock});
  } else {
    b.add(Op::Put, Elem::I64, {d, d, bytes, one32}, {}, {order != Order::Blocking, kBlock});
    if (order == Order::Fence) b.add(Op::Fence, Elem::I64, {});
    if (order == Order::Quiet) b.add(Op::Quiet, Elem::I64, {kNone});
    b.add(Op::Signal, Elem::I64, {f, one, one32}, {}, {kSet});
  }
  uint32_t skip = b.add(Op::Jump, Elem::I32, {}, {}, {0});
  b.patch(branch, b.pc());
  Register seen = b.uniform(Elem::I64);
  b.add(Op::SignalWait, Elem::I64, {f, one}, {seen}, {kEq});
  b.store(o, b.load(d, Elem::I64));
  b.patch(skip, b.pc());
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{flag[0], data[0], out[0]}, {flag[1], data[1], out[1]}}),
            World::Stop::Done)
      << renderAll(world);
  world.finish();
  if (order == Order::None) EXPECT_TRUE(hasReport(world, "unfinished-put")) << renderAll(world);
  if (spans) *spans = world.trace().spans;
  return *at<int64_t>(out[1]);
}

TEST(Dist, WithoutAFenceSomeSeedShowsOldData) {
  for (Order order : {Order::None, Order::Blocking}) {
    int stale = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) stale += seenAfterSignal(seed, order) == 0;
    EXPECT_GT(stale, 0);
    EXPECT_LT(stale, 40);
  }
}

TEST(Dist, FenceQuietAndPutSignalOrderTheData) {
  for (Order order : {Order::Fence, Order::Quiet, Order::PutSignal})
    for (uint64_t seed = 0; seed < 40; ++seed) ASSERT_EQ(seenAfterSignal(seed, order), 7) << seed;
}

// In modelled time, too, the wait ends when the data is there, and not with the signal that the put has to come before.
TEST(Dist, WhatFenceAndQuietOrderTakesItsTime) {
  for (Order order : {Order::Fence, Order::Quiet, Order::PutSignal, Order::None}) {
    std::vector<Span> spans;
    seenAfterSignal(1, order, &spans);
    int64_t arrivedNs = 0, waitedNs = 0;
    for (const Span& s : spans) {
      if (s.kind == SpanKind::Put) arrivedNs = std::max(arrivedNs, s.endNs);
      if (s.kind == SpanKind::Wait && s.rank == 1) waitedNs = std::max(waitedNs, s.endNs);
    }
    EXPECT_GT(arrivedNs, 0);
    EXPECT_EQ(waitedNs >= arrivedNs, order != Order::None) << int(order);
  }
}

// The source of a non-blocking put is read late: overwriting it before quiet shows on some seed.
TEST(Dist, NonBlockingPutReadsItsSourceLate) {
  int late = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    World world({.rankCount = 2, .seed = seed});
    auto data = symmetric(world, 8, "data"), from = symmetric(world, 8, "from");
    ProgramBuilder b;
    Register d = b.pointerArgument("data", Elem::I64), s = b.pointerArgument("from", Elem::I64),
             one32 = b.constant(Elem::I32, 1);
    b.store(s, b.constant(Elem::I64, 1));
    b.add(Op::Put, Elem::I64, {d, s, b.constant(Elem::I64, 8), one32}, {}, {1, kBlock});
    b.store(s, b.constant(Elem::I64, 2));
    b.add(Op::Quiet, Elem::I64, {kNone});
    Launch l;
    l.program = b.finish();
    l.arguments = {{data[0]}, {from[0]}};
    world.launch(0, 0, l);
    ASSERT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Done) << renderAll(world);
    int64_t got = *at<int64_t>(data[1]);
    ASSERT_TRUE(got == 1 || got == 2);
    late += got == 2;
  }
  EXPECT_GT(late, 0);
}

TEST(Dist, GetCopiesFromThePeer) {
  for (int64_t nbi : {0, 1}) {
    World world({.rankCount = 3});
    auto data = symmetric(world, 256, "data"), out = symmetric(world, 256, "out", false);
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 64; ++k) at<int32_t>(data[r])[k] = r * 1000 + k;
    Ring k;
    Register d = k.b.pointerArgument("data", Elem::I32), o = k.b.pointerArgument("out", Elem::I32);
    k.b.add(Op::Get, Elem::I64, {o, d, k.b.constant(Elem::I64, 256), k.next}, {}, {nbi, kBlock});
    k.b.add(Op::Quiet, Elem::I64, {kNone});
    ASSERT_EQ(launchAll(world, k.b.finish(), {1, 1, 1}, {{data[0], out[0]}, {data[1], out[1]}, {data[2], out[2]}}),
              World::Stop::Done)
        << renderAll(world);
    for (int r = 0; r < 3; ++r) EXPECT_EQ(at<int32_t>(out[r])[63], (r + 1) % 3 * 1000 + 63);
    EXPECT_EQ(world.counters().getBytes, 3u * 256);
  }
}

TEST(Dist, BarrierMakesPutsVisibleAndSyncDoesNot) {
  int stale = 0;
  for (int64_t syncOnly : {0, 1})
    for (uint64_t seed = 0; seed < 40; ++seed) {
      World world({.rankCount = 3, .seed = seed});
      auto data = symmetric(world, 8, "data"), out = symmetric(world, 8, "out");
      Ring k;
      ProgramBuilder& b = k.b;
      Register d = b.pointerArgument("data", Elem::I64), o = b.pointerArgument("out", Elem::I64);
      b.add(Op::PutValue, Elem::I64, {d, k.one, k.next});
      b.add(Op::Barrier, Elem::I32, {b.constant(Elem::I32, 0)}, {}, {syncOnly, kBlock});
      b.store(o, b.load(d, Elem::I64));
      b.add(Op::Barrier, Elem::I32, {b.constant(Elem::I32, 0)}, {}, {0, kBlock});
      ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{data[0], out[0]}, {data[1], out[1]}, {data[2], out[2]}}),
                World::Stop::Done);
      for (int r = 0; r < 3; ++r) {
        if (syncOnly)
          stale += *at<int64_t>(out[r]) == 0;
        else
          ASSERT_EQ(*at<int64_t>(out[r]), 1);
      }
    }
  EXPECT_GT(stale, 0);
}

TEST(Dist, CollectivesAndTeams) {
  World world({.rankCount = 4});
  int odd = world.createTeam({3, 1});
  auto data = symmetric(world, 8, "data"), all = symmetric(world, 32, "all"), one = symmetric(world, 8, "one"),
       ids = symmetric(world, 16, "ids");
  for (int r = 0; r < 4; ++r) *at<int64_t>(data[r]) = 10 + r;
  ProgramBuilder b;
  Register d = b.pointerArgument("data", Elem::I64), a = b.pointerArgument("all", Elem::I64),
           o = b.pointerArgument("one", Elem::I64);
  Register i = b.pointerArgument("ids", Elem::I32), team = b.constant(Elem::I32, odd),
           world0 = b.constant(Elem::I32, 0), bytes = b.constant(Elem::I64, 8);
  b.add(Op::Fcollect, Elem::I64, {world0, a, d, bytes}, {}, {kBlock, false, -1});
  b.add(Op::Broadcastmem, Elem::I64, {world0, o, d, bytes, b.constant(Elem::I32, 2)}, {}, {kBlock, false, -1});
  Register mine = b.uniform(Elem::I32), count = b.uniform(Elem::I32), translated = b.uniform(Elem::I32);
  b.add(Op::Rank, Elem::I32, {team}, {mine});
  b.add(Op::NumRanks, Elem::I32, {team}, {count});
  b.add(Op::TranslateRank, Elem::I32, {team, b.constant(Elem::I32, 1), world0}, {translated});
  b.store(i, mine);
  b.store(b.offsetBy(i, 4), count);
  b.store(b.offsetBy(i, 8), translated);
  std::vector<std::vector<uint64_t>> arguments;
  for (int r = 0; r < 4; ++r) arguments.push_back({data[r], all[r], one[r], ids[r]});
  ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, arguments), World::Stop::Done) << renderAll(world);
  for (int r = 0; r < 4; ++r) {
    for (int k = 0; k < 4; ++k) EXPECT_EQ(at<int64_t>(all[r])[k], 10 + k);
    EXPECT_EQ(*at<int64_t>(one[r]), 12);
    EXPECT_EQ(at<int32_t>(ids[r])[0], r == 3 ? 0 : r == 1 ? 1 : -1);
    EXPECT_EQ(at<int32_t>(ids[r])[1], 2);
    EXPECT_EQ(at<int32_t>(ids[r])[2], 1);
  }
}

TEST(Dist, CollectivesOfSizesThatNoBufferHas) {
  for (int64_t size : {int64_t(-1), int64_t(1) << 40}) {
    World world({.rankCount = 2});
    auto data = symmetric(world, 8, "data"), all = symmetric(world, 16, "all");
    ProgramBuilder b;
    Register d = b.pointerArgument("data", Elem::I64), a = b.pointerArgument("all", Elem::I64);
    b.add(Op::Fcollect, Elem::I64, {b.constant(Elem::I32, 0), a, d, b.constant(Elem::I64, size)}, {},
          {kBlock, false, -1});
    ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{data[0], all[0]}, {data[1], all[1]}}), World::Stop::Error);
    ASSERT_EQ(world.reports().size(), 1u) << renderAll(world);
    EXPECT_EQ(wordOf(world.reports()[0].kind), "out-of-bounds");
    EXPECT_GT(world.reports()[0].range.line, 0u);
  }
}

TEST(Dist, WaitOnSeveralSignals) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    World world({.rankCount = 4, .seed = seed});
    auto flags = symmetric(world, 32, "flags"), out = symmetric(world, 8, "out");
    Ring k;
    ProgramBuilder& b = k.b;
    Register f = b.pointerArgument("flags", Elem::I64), o = b.pointerArgument("out", Elem::I64);
    Register mine = b.offset(f, k.rank, 8);
    b.forLoop(b.constant(Elem::I32, 0), k.n,
              [&](Register peer) { b.add(Op::Signal, Elem::I64, {mine, k.one, peer}, {}, {kAdd}); });
    wait(b, f, k.n, k.one, kGe);
    b.store(o, k.one);
    ASSERT_EQ(launchAll(world, b.finish(), {1, 1, 1},
                        {{flags[0], out[0]}, {flags[1], out[1]}, {flags[2], out[2]}, {flags[3], out[3]}}),
              World::Stop::Done)
        << renderAll(world);
    for (int r = 0; r < 4; ++r) EXPECT_EQ(*at<int64_t>(out[r]), 1);
  }
}

std::string symmetricFault(int64_t peer, bool local, bool used = false) {
  World world({.rankCount = 2});
  auto data = symmetric(world, 8, "data");
  Address mine = world.allocate(0, 8, MemoryKind::Local, true, "mine");
  ProgramBuilder b;
  Register d = b.pointerArgument("data", Elem::I64), to = b.uniform(Elem::I64);
  b.add(Op::SymmAt, Elem::I64, {d, b.constant(Elem::I32, peer)}, {to});
  if (used) b.load(to, Elem::I64);
  Launch l;
  l.program = b.finish();
  l.arguments = {{local ? mine : data[0]}};
  world.launch(0, 0, l);
  world.run([&] { return world.idle(0); });
  return world.reports().empty() ? "" : wordOf(world.reports()[0].kind);
}

TEST(Dist, SymmAtChecksPeerAndPointer) {
  EXPECT_EQ(symmetricFault(1, false), "");
  EXPECT_EQ(symmetricFault(2, false), "bad-rank");
  EXPECT_EQ(symmetricFault(-1, false), "bad-rank");
  EXPECT_EQ(symmetricFault(1, true), "");
  EXPECT_EQ(symmetricFault(1, true, true), "out-of-bounds");
  EXPECT_EQ(symmetricFault(1, false, true), "");
}

TEST(Dist, LeftoverSignalsAreWarned) {
  World world({.rankCount = 2});
  auto flags = symmetric(world, 32, "flags");
  Ring k;
  Register f = k.b.pointerArgument("flags", Elem::I64);
  k.b.add(Op::Signal, Elem::I64, {k.b.offsetBy(f, 16), k.one, k.next}, {}, {kSet});
  ASSERT_EQ(launchAll(world, k.b.finish(), {1, 1, 1}, {{flags[0]}, {flags[1]}}), World::Stop::Done);
  world.finish();
  ASSERT_EQ(world.reports().size(), 2u) << renderAll(world);
  EXPECT_EQ(wordOf(world.reports()[0].kind), "leftover-signal");
  EXPECT_EQ(rowOf(world.reports()[0].kind).severity, Severity::Warning);
  EXPECT_FALSE(world.failed());
  EXPECT_NE(world.reports()[0].message.find("offset 16 holds 1"), std::string::npos) << renderAll(world);
  EXPECT_GT(world.reports()[0].range.line, 0u);
}

TEST(Dist, SignalAddHappensOncePerThread) {
  World world({.rankCount = 2});
  auto flags = symmetric(world, 8, "flags");
  Ring k;
  Register f = k.b.pointerArgument("flags", Elem::I64);
  k.b.tid();
  k.b.add(Op::Signal, Elem::I64, {f, k.one, k.next}, {}, {kAdd});
  ASSERT_EQ(launchAll(world, k.b.finish(), {1, 1, 1}, {{flags[0]}, {flags[1]}}, 2), World::Stop::Done)
      << renderAll(world);
  EXPECT_EQ(*at<int64_t>(flags[0]), 64);
}

TEST(Dist, MultimemReachesEveryRank) {
  World world({.rankCount = 4});
  auto data = symmetric(world, 16, "data"), out = symmetric(world, 16, "out");
  for (int r = 0; r < 4; ++r) at<float>(data[r])[0] = float(r + 1);
  ProgramBuilder b;
  Register d = b.pointerArgument("data", Elem::F32), o = b.pointerArgument("out", Elem::F32),
           team = b.constant(Elem::I32, 0);
  Register multi = b.uniform(Elem::I64), sum = b.uniform(Elem::F32), multiOut = b.uniform(Elem::I64);
  b.add(Op::MulticastAt, Elem::I64, {team, d}, {multi});
  b.add(Op::MulticastAt, Elem::I64, {team, o}, {multiOut});
  b.add(Op::MultimemLdReduce, Elem::F32, {multi}, {sum});
  b.add(Op::MultimemSt, Elem::F32, {multiOut, sum});
  Launch l;
  l.program = b.finish();
  l.arguments = {{data[2]}, {out[2]}};
  world.launch(2, 0, l);
  ASSERT_EQ(world.run([&] { return world.idle(2); }), World::Stop::Done) << renderAll(world);
  for (int r = 0; r < 4; ++r) EXPECT_EQ(at<float>(out[r])[0], 10.0f);
  ProgramBuilder bad;
  Register p = bad.pointerArgument("data", Elem::F32), m = bad.uniform(Elem::I64);
  bad.add(Op::MulticastAt, Elem::I64, {bad.constant(Elem::I32, 0), p}, {m});
  bad.load(m, Elem::F32);
  Launch l2;
  l2.program = bad.finish();
  l2.arguments = {{data[0]}};
  world.launch(0, 0, l2);
  EXPECT_EQ(world.run([&] { return world.idle(0); }), World::Stop::Error);
  EXPECT_TRUE(hasReport(world, "out-of-bounds")) << renderAll(world);
}

TEST(Dist, BlockOperationsUnderAMaskAreRefused) {
  for (bool warp : {false, true}) {
    World world({.rankCount = 2});
    auto data = symmetric(world, 64, "data");
    ProgramBuilder b;
    Register d = b.pointerArgument("data", Elem::I64), tid = b.tid();
    Register few = b.compare(CompareOp::SLt, tid, b.spread(b.constant(Elem::I32, 4)));
    uint32_t branch = b.add(Op::IfBegin, Elem::I1, {few}, {}, {0});
    b.add(Op::Put, Elem::I64, {d, d, b.constant(Elem::I64, 8), b.constant(Elem::I32, 1)}, {}, {0, warp ? 1 : kBlock});
    b.patch(branch, b.pc());
    b.add(Op::IfEnd, Elem::I1, {});
    EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{data[0]}, {data[1]}}, 2), World::Stop::Error);
    EXPECT_TRUE(hasReport(world, warp ? "non-uniform-warp-operation" : "divergent-block-operation"))
        << renderAll(world);
  }
}

}  // namespace
}  // namespace tandem::interpreter::test
