// Streams of sessions on the fake driver: signals, barriers and events. Streams that wait really wait.
#include "runtime/backend/cuda/ranks/test/session_fixture.h"
#include "runtime/ranks/test/one_signal.h"

namespace tandem::runtime::cuda {
namespace {

TEST_F(SessionTest, SignalsBetweenStreams) {
  EXPECT_EQ(run(threads(2),
                [](Session& s, int rank) {
                  uint64_t signals = s.allocate(rank, 256, true, true, "signals", kPlace),
                           data = s.allocate(rank, 256, true, true, "data", kPlace);
                  StreamId other = s.createStream(rank);
                  int peer = 1 - rank;
                  uint64_t local = s.allocate(rank, 64, false, true, "local", kPlace);
                  signalWait(s, rank, other, signals, 3, Compare::Ge, 5, 8);
                  s.copy(rank, other, local, data, 8);
                  uint64_t got = 0;
                  s.copyToHost(rank, other, &got, local, 8);
                  s.set(rank, 0, s.peerAddress(rank, data, peer), uint8_t(rank + 1), 8);
                  signalWrite(s, rank, 0, s.peerAddress(rank, signals, peer), 3, 4, 8, SignalKind::Set);
                  signalWrite(s, rank, 0, s.peerAddress(rank, signals, peer), 3, 1, 8, SignalKind::Add);
                  signalWrite(s, rank, 0, s.peerAddress(rank, signals, peer) + 128, 1, 9, 4, SignalKind::Add);
                  s.synchronize(rank);
                  EXPECT_EQ(got, 0x0101010101010101u * Word(peer + 1));
                  s.barrier(rank, 0);
                  EXPECT_EQ(words(signals)[16], 9u);
                  EXPECT_THROW(signalWait(s, rank, 0, signals + 4, 1, Compare::Eq, 1, 8), std::invalid_argument);
                  EXPECT_THROW(signalWait(s, rank, 0, signals, 1, Compare::Eq, 1, 2), std::invalid_argument);
                  EXPECT_THROW(signalWait(s, rank, 0, signals, 1, Compare::Ne, 3, 8), std::invalid_argument);
                }),
            none(2));
}

TEST_F(SessionTest, BarriersOnStreamsHoldAgainAndAgain) {
  constexpr int rounds = 200;
  EXPECT_EQ(run(threads(4),
                [](Session& s, int rank) {
                  uint64_t counts = s.allocate(rank, 64, true, true, "counts", kPlace),
                           seen = s.allocate(rank, 64, false, true, "seen", kPlace);
                  int pair = s.createTeam(rank, {rank & ~1, rank | 1});
                  for (int round = 1; round <= rounds; ++round) {
                    for (int peer = 0; peer < 4; ++peer)
                      signalWrite(s, rank, 0, s.peerAddress(rank, counts, peer) + uint64_t(rank) * 8, 1, Word(round), 8,
                                  SignalKind::Set);
                    s.barrierOnStream(rank, 0, 0);
                    s.copy(rank, 0, seen, counts, 32);
                    s.barrierOnStream(rank, 0, 0);
                    if (round % 3 == rank % 3) std::this_thread::sleep_for(std::chrono::microseconds(100));
                    if (round % 7 == 0) s.barrierOnStream(rank, 0, pair);
                    s.synchronize(rank, 0);
                    for (int i = 0; i < 4; ++i)
                      ASSERT_EQ(words(seen)[i], Word(round)) << "rank " << rank << " of " << i;
                  }
                }),
            none(4));
}

TEST_F(SessionTest, AStreamBesideAnotherIsTheSameEachTimeAndGoesOnWhileItWaits) {
  EXPECT_EQ(run(threads(2),
                [](Session& s, int rank) {
                  StreamId other = s.createStream(rank), beside = s.streamBeside(rank, other);
                  EXPECT_EQ(s.streamBeside(rank, other), beside);
                  EXPECT_NE(s.streamBeside(rank, 0), beside);
                  EXPECT_THROW(s.streamBeside(rank, 77), std::invalid_argument);
                  uint64_t word = s.allocate(rank, 64, false, true, "w", kPlace);
                  signalWait(s, rank, other, word, 1, Compare::Eq, 1, 8);
                  signalWrite(s, rank, beside, word, 1, 1, 8, SignalKind::Set);
                  s.synchronize(rank);
                }),
            none(2));
}

TEST_F(SessionTest, EventsStayValidAndWorkInACapture) {
  Stream own = nullptr;  // outlives the session that adopts it
  EXPECT_EQ(run(threads(1),
                [&](Session& s, int rank) {
                  StreamId a = s.createStream(rank), b = s.createStream(rank);
                  EXPECT_THROW(s.waitEvent(rank, a, 0), std::invalid_argument);
                  EXPECT_THROW(s.waitEvent(rank, a, 1), std::invalid_argument);
                  EventId first = s.recordEvent(rank, a);
                  for (int i = 0; i < 300; ++i) s.recordEvent(rank, a);
                  s.waitEvent(rank, b, first);
                  uint64_t word = s.allocate(rank, 64, false, true, "w", kPlace);
                  signalWait(s, rank, a, word, 1, Compare::Eq, 1, 8);
                  EventId held = s.recordEvent(rank, a);
                  s.waitEvent(rank, b, held);
                  s.set(rank, b, word + 8, 1, 1);
                  EXPECT_EQ(words(word)[1], 0u);
                  signalWrite(s, rank, 0, word, 1, 1, 8, SignalKind::Set);
                  s.synchronize(rank);
                  EXPECT_EQ(words(word)[1], 1u);

                  StreamId adopted = s.adoptStream(rank, 0);
                  EXPECT_EQ(s.adoptStream(rank, 0), adopted);
                  EXPECT_TRUE(s.hasStream(rank, adopted));
                  EXPECT_FALSE(s.hasStream(rank, adopted + 1));
                  EXPECT_EQ(driver().streamCreate(&own, 1), kSuccess);
                  StreamId captured = s.adoptStream(rank, reinterpret_cast<uint64_t>(own));
                  capture(own, true);
                  EventId inside = s.recordEvent(rank, captured);
                  s.waitEvent(rank, captured, inside);
                  for (int i = 0; i < 10; ++i) s.recordEvent(rank, captured);
                  s.releaseAsync(rank, captured, word);
                  EXPECT_THROW(s.synchronize(rank, captured), std::invalid_argument);
                  capture(own, false);
                  EXPECT_NE(s.allocate(rank, 64, false, false, "v", kPlace), word) << "a graph may still use it";
                }),
            none(1));
  EXPECT_EQ(driver().streamDestroy(own), kSuccess);
}

}  // namespace
}  // namespace tandem::runtime::cuda
