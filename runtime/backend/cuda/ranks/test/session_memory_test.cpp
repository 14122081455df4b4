// Symmetric memory of sessions on the fake driver, which is really shared, and the contexts through which kernels reach it.
#include "abi/dist_context.h"
#include "runtime/backend/cuda/context_registry.h"
#include "runtime/backend/cuda/kernel.h"
#include "runtime/backend/cuda/ranks/test/session_fixture.h"
#include "runtime/ranks/test/one_signal.h"
#include <atomic>

namespace tandem::runtime::cuda {
namespace {

TEST_F(SessionTest, SymmetricMemoryIsOnePlaceForAll) {
  EXPECT_EQ(run(threads(4),
                [](Session& s, int rank) {
                  EXPECT_EQ(s.rankCount(), 4);
                  EXPECT_EQ(s.target(rank), "sm_90a");
                  EXPECT_EQ(s.residentPrograms(rank), 132);
                  uint64_t a = s.allocate(rank, 4096, true, true, "a", kPlace),
                           b = s.allocate(rank, 100, true, true, "b", kPlace);
                  EXPECT_EQ(b - a, 4096u);
                  for (int i = 0; i < 512; ++i) ASSERT_EQ(words(a)[i], 0u);
                  s.barrier(rank, 0);
                  for (int peer = 0; peer < 4; ++peer) words(s.peerAddress(rank, a, peer))[rank] = Word(rank + 1);
                  s.barrier(rank, 0);
                  for (int i = 0; i < 4; ++i) EXPECT_EQ(words(a)[i], Word(i + 1));
                  EXPECT_EQ(s.peerAddress(rank, a, rank), a);
                  EXPECT_THROW(s.peerAddress(rank, a, 4), std::invalid_argument);
                  EXPECT_THROW(s.peerAddress(rank, 64, 1), std::invalid_argument);
                  s.barrier(rank, 0);
                  s.release(rank, a, kPlace);
                  EXPECT_THROW(s.release(rank, a, kPlace), std::invalid_argument);
                  uint64_t again = s.allocate(rank, 4000, true, true, "again", kPlace);
                  EXPECT_EQ(again, a);
                  EXPECT_EQ(words(again)[1], 0u) << "zeros again";
                  uint64_t large = s.allocate(rank, uint64_t(100) << 20, true, false, "another piece", kPlace);
                  words(s.peerAddress(rank, large + (uint64_t(99) << 20), (rank + 1) % 4))[0] = Word(rank);
                  s.barrier(rank, 0);
                  EXPECT_EQ(words(large + (uint64_t(99) << 20))[0], Word((rank + 3) % 4));
                  EXPECT_NE(s.allocate(rank, 0, true, false, "nothing", kPlace),
                            s.allocate(rank, 0, true, false, "nothing", kPlace));
                }),
            none(4));
}

TEST_F(SessionTest, DifferentSizesAreAnErrorOnAllAndTheSessionGoesOn) {
  EXPECT_EQ(
      run(threads(3),
          [](Session& s, int rank) {
            std::string error;
            try {
              s.allocate(rank, rank == 2 ? 2048 : 1024, true, true, "x", kPlace);
            } catch (const std::invalid_argument& e) {
              error = e.what();
            }
            EXPECT_EQ(
                error,
                "symmetric memory has one size on all ranks: rank 0 asks for 1024 bytes, rank 2 for 2048 bytes (`x`)");
            try {
              s.allocate(rank, uint64_t(1) << 40, true, true, "huge", kPlace);
            } catch (const std::runtime_error& e) {
              error = e.what();
            }
            EXPECT_EQ(error.find("the symmetric heap has no room for 1099511627776 bytes"), 0u) << error;
            words(s.allocate(rank, 1024, true, true, "x", kPlace))[127] = 1;
          }),
      none(3));
}

TEST_F(SessionTest, WhatFailsOnOneRankFailsOnAll) {
  EXPECT_EQ(
      run(threads(3),
          [this](Session& s, int rank) {
            s.barrier(rank, 0);
            if (rank == 1) failNext("cuMemCreate", kOutOfMemory);
            s.barrier(rank, 0);
            std::string error;
            try {
              s.allocate(rank, uint64_t(100) << 20, true, false, "x", kPlace);
            } catch (const std::runtime_error& e) {
              error = e.what();
            }
            EXPECT_NE(
                error.find("a piece of 67108864 bytes of the heap on device 0: `cuMemCreate` failed: out of memory"),
                std::string::npos)
                << error;
            EXPECT_EQ(error.find("symmetric memory: rank "), 0u);
            s.barrier(rank, 0);
            s.allocate(rank, uint64_t(100) << 20, true, false, "x", kPlace);
          }),
      none(3));
}

TEST_F(SessionTest, TheContextSaysWhoIsWhere) {
  EXPECT_EQ(run(threads(4),
                [](Session& s, int rank) {
                  uint64_t heap = s.allocate(rank, 8, true, true, "x", kPlace);
                  auto* context = reinterpret_cast<const tandem_dist_context*>(rankContextOn(0));
                  EXPECT_EQ(context->rank, rank);
                  EXPECT_EQ(context->rank_count, 4);
                  EXPECT_EQ(context->stride, int64_t(256) << 20);
                  EXPECT_GE(heap, context->heap_base);
                  EXPECT_EQ(s.peerAddress(rank, heap, 3), heap + uint64_t((3 - rank) * context->stride));
                  ASSERT_EQ(context->team_count, 6);
                  EXPECT_EQ(context->teams[2].size, 4);  // the node
                  EXPECT_EQ(context->teams[4].size, 1);  // who shares the GPU
                  EXPECT_EQ(context->teams[0].size, 4);
                  EXPECT_NE(context->watch, nullptr);
                  std::vector<int> members = rank % 2 ? std::vector{3, 1} : std::vector{0, 2};
                  ASSERT_EQ(s.createTeam(rank, members), 6);
                  if (rank < 3) ASSERT_EQ(s.createTeam(rank, {2, 1, 0}), 7);
                  const tandem_dist_team& mine = context->teams[6];
                  EXPECT_EQ(mine.rank, rank == 3 || rank == 0 ? 0 : 1);
                  EXPECT_EQ(mine.size, 2);
                  for (int i = 0; i < 2; ++i) EXPECT_EQ(mine.members[i], members[size_t(i)]);
                  for (int r = 0; r < 4; ++r)
                    EXPECT_EQ(mine.indices[r], members[0] == r ? 0 : members[1] == r ? 1 : -1);
                  EXPECT_EQ(*mine.epoch, 0u);
                  if (rank < 3) EXPECT_EQ(context->teams[7].rank, 2 - rank);
                  // A member's slot is the same word on all: rank 0 writes it on 2.
                  uint64_t slot = reinterpret_cast<uint64_t>(mine.signals + mine.rank);
                  words(s.peerAddress(rank, slot, members[size_t(1 - mine.rank)]))[0] = Word(40 + rank);
                  s.barrier(rank, 0);
                  EXPECT_EQ(mine.signals[1 - mine.rank], Word(40 + members[size_t(1 - mine.rank)]));
                  EXPECT_THROW(s.createTeam(rank, {rank, rank}), std::invalid_argument);
                  EXPECT_THROW(s.createTeam(rank, {(rank + 1) % 4}), std::invalid_argument);
                  EXPECT_THROW(s.barrier(rank, 99), std::invalid_argument);
                }),
            none(4));
  EXPECT_NE(rankContextOn(0), 0u) << "a world of one after the session";
  EXPECT_EQ(reinterpret_cast<const tandem_dist_context*>(rankContextOn(0))->rank_count, 1);
}

TEST_F(SessionTest, LaunchesUseTheirRanksContext) {
  abi::KernelImage image;
  image.name = "k";
  image.target = "sm_90a";
  image.cubin = "FAKE k 8,8 40 0";
  image.params = {abi::ParamType::Pointer};
  image.usesRanks = true;
  Code code{nullptr, std::make_shared<Kernel>(std::make_shared<abi::KernelImage>(image))};
  std::atomic<Address> contexts[2];
  RanksOptions options = threads(2);
  options.devices = {0, 1};
  EXPECT_EQ(
      run(options,
          [&](Session& s, int rank) {
            uint64_t argument = 5;
            contexts[rank] = rankContextOn(rank);
            std::thread([&] { EXPECT_EQ(rankContextOn(rank), contexts[rank]) << "the device's only rank"; }).join();
            KernelLaunch launch;
            launch.code = code;
            launch.arguments = {&argument, 1};
            s.launch(rank, 0, launch);
            launch.code = {};
            EXPECT_THROW(s.launch(rank, 0, launch), std::invalid_argument);
            EXPECT_THROW(s.launch(rank, 9, launch), std::invalid_argument);
          }),
      none(2));
  for (int rank = 0; rank < 2; ++rank) {
    char text[64];
    std::snprintf(text, sizeof text, " 0500000000000000 %016llx",
                  static_cast<unsigned long long>(__builtin_bswap64(contexts[rank])));
    EXPECT_NE(log().find("launch k on " + std::to_string(rank)), std::string::npos);
    EXPECT_NE(log().find(text), std::string::npos) << log();
  }
}

TEST_F(SessionTest, MemoryComesBackInStreamOrder) {
  EXPECT_EQ(run(threads(1),
                [](Session& s, int rank) {
                  uint64_t flag = s.allocate(rank, 64, false, true, "flag", kPlace),
                           a = s.allocate(rank, 4096, false, false, "a", kPlace);
                  StreamId stream = s.createStream(rank);
                  signalWait(s, rank, stream, flag, 1, Compare::Eq, 1, 8);
                  s.releaseAsync(rank, stream, a);
                  uint64_t b = s.allocate(rank, 4096, false, false, "b", kPlace);
                  EXPECT_NE(a, b) << "the stream has not come to the release";
                  signalWrite(s, rank, 0, flag, 1, 1, 8, SignalKind::Set);
                  s.synchronize(rank);
                  EXPECT_EQ(s.allocate(rank, 4096, false, false, "c", kPlace), a);
                  EXPECT_THROW(s.releaseAsync(rank, stream, 64), std::invalid_argument);
                  uint64_t symmetric = s.allocate(rank, 64, true, false, "s", kPlace);
                  EXPECT_THROW(s.releaseAsync(rank, stream, symmetric), std::invalid_argument);
                  s.release(rank, b, kPlace);
                }),
            none(1));
  EXPECT_EQ(session_->reports().size(), 0u);
}

}  // namespace
}  // namespace tandem::runtime::cuda
