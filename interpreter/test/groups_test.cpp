// Threads of one program at different places: who goes on, where they meet again, whose values they have then.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

// A kernel over `flags` and `out` with the words that per-thread code is made of.
class Groups : public testing::Test {
 protected:
  Groups() : world_({.rankCount = 1}) {
    flags_ = world_.allocate(0, 64 * 4, MemoryKind::Local, true, "flags");
    out_ = world_.allocate(0, 64 * 4, MemoryKind::Local, true, "out");
    flagsPointer_ = b.pointerArgument("flags", Elem::I32);
    outPointer_ = b.pointerArgument("out", Elem::I32);
    tid_ = b.tid();
  }
  Register number(int64_t n) { return b.spread(b.constant(Elem::I32, n)); }
  Register isThread(int64_t n) { return b.compare(CompareOp::Eq, tid_, number(n)); }
  void when(Register condition, const std::function<void()>& body) {
    uint32_t begin = b.add(Op::IfBegin, Elem::I1, {condition}, {}, {0});
    body();
    b.patch(begin, b.pc());
    uint32_t otherwise = b.add(Op::IfElse, Elem::I1, {}, {}, {0});
    b.patch(otherwise, b.pc());
    b.add(Op::IfEnd, Elem::I1, {});
  }
  // Spins until flags[index] is not 0; `index` differs by thread.
  void await(Register index) {
    Register seen = b.lanes(Elem::I32), place = b.offset(flagsPointer_, index, 4);
    b.add(Op::LoopBegin, Elem::I32, {});
    uint32_t top = b.add(Op::Ld, Elem::I32, {place}, {seen}, {1, 1, 0});
    uint32_t test = b.add(Op::LoopTest, Elem::I1, {b.compare(CompareOp::Eq, seen, number(0))}, {}, {0});
    b.add(Op::LoopBack, Elem::I32, {}, {}, {top});
    b.patch(test, b.pc());
    b.add(Op::LoopEnd, Elem::I32, {});
  }
  void set(Register index) { b.add(Op::St, Elem::I32, {b.offset(flagsPointer_, index, 4), number(1)}, {}, {2, 1, 0}); }
  void write(Register value) { b.add(Op::St, Elem::I32, {b.offset(outPointer_, tid_, 4), value}, {}, {0, 1, 0}); }
  World::Stop run() { return launchAll(world_, b.finish(), {1, 1, 1}, {{flags_, out_}}, 2); }

  World world_;
  ProgramBuilder b;
  Address flags_ = 0, out_ = 0;
  Register flagsPointer_ = 0, outPointer_ = 0, tid_ = 0;
};

TEST_F(Groups, WhatComesAfterAnIfDoesNotWaitForItsThreads) {
  when(isThread(0), [&] { await(number(0)); });
  when(isThread(1), [&] { set(number(0)); });
  b.add(Op::ThreadBarrier, Elem::I1, {});
  write(b.binary(BinaryOp::AddI, tid_, number(1)));
  ASSERT_EQ(run(), World::Stop::Done) << renderAll(world_);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(at<int32_t>(out_)[t], t + 1);
}

// Thread t waits in one loop for thread t + 1, so that the loop is left by one thread after the other.
TEST_F(Groups, ThreadsThatHaveLeftALoopGoOn) {
  await(b.binary(BinaryOp::MinS, tid_, number(62)));
  set(b.binary(BinaryOp::MaxS, b.binary(BinaryOp::SubI, tid_, number(1)), number(0)));
  write(tid_);
  at<int32_t>(flags_)[62] = 1;
  ASSERT_EQ(run(), World::Stop::Done) << renderAll(world_);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(at<int32_t>(out_)[t], t);
}

// Both groups compute `sum` behind the `if`, at different times; each thread keeps its own.
TEST_F(Groups, EachThreadHasItsOwnValuesWhereTheyMeet) {
  Register flag = b.lanes(Elem::I32), early = b.lanes(Elem::I32);
  Register place = b.offset(flagsPointer_, number(1), 4);
  when(isThread(7), [&] { await(number(0)); });
  b.add(Op::Ld, Elem::I32, {place}, {flag}, {1, 1, 0});
  b.add(Op::Binary, Elem::I32, {flag, tid_}, {early}, {}, uint8_t(BinaryOp::AddI));
  when(isThread(9), [&] {
    set(number(1));
    set(number(0));
  });
  b.add(Op::ThreadBarrier, Elem::I1, {});
  write(early);
  ASSERT_EQ(run(), World::Stop::Done) << renderAll(world_);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(at<int32_t>(out_)[t], t == 7 ? 8 : t);
}

// The warp of the thread that waits is not whole; its shuffle waits for that thread, the other warp's does not.
TEST_F(Groups, AWarpMeetsInsideAnIf) {
  Register full = number(0xffffffff), shuffled = b.lanes(Elem::I32);
  when(isThread(3), [&] { await(number(0)); });
  when(b.compare(CompareOp::SLt, tid_, number(64)), [&] {
    b.add(Op::Shuffle, Elem::I32, {full, tid_, number(3)}, {shuffled}, {0});
    when(isThread(40), [&] { set(number(0)); });
    write(shuffled);
  });
  ASSERT_EQ(run(), World::Stop::Done) << renderAll(world_);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(at<int32_t>(out_)[t], t / 32 * 32 + 3);
}

TEST_F(Groups, AnUpdateOfTheWholeProgramIsDoneOnce) {
  when(isThread(0), [&] { await(number(0)); });
  when(isThread(1), [&] { set(number(0)); });
  b.add(Op::AtomicRmw, Elem::I32, {outPointer_, b.constant(Elem::I32, 5), kNone}, {b.uniform(Elem::I32)}, {3, 1},
        uint8_t(RmwOp::Add));
  ASSERT_EQ(run(), World::Stop::Done) << renderAll(world_);
  EXPECT_EQ(at<int32_t>(out_)[0], 5);
}

TEST_F(Groups, ABarrierThatSomeThreadsNeverReachIsAnError) {
  when(isThread(0), [&] { await(number(0)); });
  when(isThread(1), [&] {
    set(number(0));
    b.add(Op::ThreadBarrier, Elem::I1, {});
  });
  EXPECT_EQ(run(), World::Stop::Error);
  EXPECT_TRUE(hasReport(world_, "divergent-block-operation")) << renderAll(world_);
}

TEST_F(Groups, WhatNobodySetsIsALivelockThatSaysWhereAllAre) {
  when(isThread(0), [&] { await(number(0)); });
  b.add(Op::ThreadBarrier, Elem::I1, {});
  EXPECT_EQ(run(), World::Stop::Stuck);
  world_.reportStuck({});
  EXPECT_TRUE(hasReport(world_, "livelock"));
  EXPECT_NE(renderAll(world_).find("1 of its 64 threads; 63 wait for the others at"), std::string::npos)
      << renderAll(world_);
}

// Threads 0 and 32 wait in different `if`s, one inside the other's second branch, through many rounds of a loop.
TEST_F(Groups, ManyRoundsOfPartingAndMeeting) {
  Register zero = b.constant(Elem::I32, 0), rounds = b.constant(Elem::I32, 50), total = b.lanes(Elem::I32);
  b.add(Op::Splat, Elem::I32, {zero}, {total});
  b.forLoop(zero, rounds, [&](Register i) {
    Register mine = b.spread(i);
    Register round = b.binary(BinaryOp::AddI, mine, number(0));
    when(isThread(0), [&] { await(round); });
    when(isThread(32), [&] { set(round); });
    b.add(Op::Binary, Elem::I32, {total, mine}, {total}, {}, uint8_t(BinaryOp::AddI));
    b.add(Op::ThreadBarrier, Elem::I1, {});
  });
  write(total);
  ASSERT_EQ(run(), World::Stop::Done) << renderAll(world_);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(at<int32_t>(out_)[t], 49 * 50 / 2);
}

}  // namespace
}  // namespace tandem::interpreter::test
