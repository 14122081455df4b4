// These tests run sessions on real GPUs, for behaviour that the fake driver cannot show. They are skipped where there
// is no GPU. Tests with processes come first: a process that has used the driver cannot be forked.
#include "runtime/ranks/test/one_signal.h"
#include "runtime/backend/cuda/device.h"
#include "runtime/backend/cuda/ranks/session.h"
#include <chrono>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tandem::runtime::cuda {
namespace {

const HostPlace kPlace;
constexpr int kSkipped = 77;

// Each rank pushes to the next and signals it, many times, with barriers between; returns the first error.
std::string ring(Session& s, int rank) {
  constexpr uint64_t bytes = 8 << 20;
  int count = s.rankCount(), next = (rank + 1) % count, before = (rank + count - 1) % count;
  uint64_t data = s.allocate(rank, bytes, true, true, "data", kPlace),
           flags = s.allocate(rank, 256, true, true, "flags", kPlace);
  uint64_t source = s.allocate(rank, bytes, false, false, "source", kPlace);
  std::vector<uint8_t> got(bytes);
  s.copyToHost(rank, 0, got.data(), data, bytes);
  s.synchronize(rank, 0);
  for (uint8_t b : got)
    if (b) return "initialised memory is not zero";
  for (int round = 1; round <= 20; ++round) {
    s.set(rank, 0, source, uint8_t(round * 8 + rank), bytes);
    s.copy(rank, 0, s.peerAddress(rank, data, next), source, bytes);
    signalWrite(s, rank, 0, s.peerAddress(rank, flags, next), 2, uint64_t(round), 8, SignalKind::Set);
    signalWrite(s, rank, 0, s.peerAddress(rank, flags, next) + 64, 1, 2, 4, SignalKind::Add);
    signalWait(s, rank, 0, flags, 2, Compare::Ge, uint64_t(round), 8);
    signalWait(s, rank, 0, flags + 64, 1, Compare::Gt, uint64_t(2 * round - 1), 4);
    s.copyToHost(rank, 0, got.data(), data, bytes);
    s.barrierOnStream(rank, 0, 0);
    s.synchronize(rank, 0);
    if (got.front() != uint8_t(round * 8 + before) || got.back() != got.front())
      return "round " + std::to_string(round) + ": wrong data";
  }
  auto begin = std::chrono::steady_clock::now();
  constexpr int barriers = 500;
  for (int i = 0; i < barriers; ++i) s.barrierOnStream(rank, 0, 0);
  s.synchronize(rank);
  double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / barriers;
  if (rank == 0) std::printf("%d ranks: %.1f us a barrier on streams\n", count, us);
  s.barrier(rank, 0);
  return "";
}

// Runs a rank's main; returns its error.
std::string mainOf(Session& s, int rank, const std::function<std::string(Session&, int)>& body) {
  std::string error;
  try {
    s.enter(rank);
    error = body(s, rank);
    s.leave(rank);
  } catch (const std::exception& e) {
    error = e.what();
    s.abort(rank, error);
  }
  return error;
}

std::vector<std::string> onThreads(const RanksOptions& options, const std::function<std::string(Session&, int)>& body) {
  std::unique_ptr<Session> session = makeSession(options);
  std::vector<std::string> errors(size_t(options.ranks));
  std::vector<std::thread> all;
  for (int r = 0; r < options.ranks; ++r) all.emplace_back([&, r] { errors[size_t(r)] = mainOf(*session, r, body); });
  for (std::thread& t : all) t.join();
  return errors;
}

TEST(GpuSession, AcrossProcesses) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < 2; ++rank) {
    pid_t child = fork();
    if (child == 0) {
      RanksOptions o;
      o.ranks = 2;
      o.rank = rank;
      o.rendezvous = "gpu-test-" + std::to_string(getppid());
      try {
        if (deviceCount() == 0) _exit(kSkipped);
        std::unique_ptr<Session> s = makeSession(o);
        std::string error = mainOf(*s, rank, ring);
        std::fprintf(stderr, "%s%s", error.c_str(), error.empty() ? "" : "\n");
        std::fflush(stdout);
        _exit(!error.empty());
      } catch (const Unavailable&) {
        _exit(kSkipped);
      }
    }
    children.push_back(child);
  }
  int codes[2];
  for (int rank = 0; rank < 2; ++rank) {
    int status = 0;
    waitpid(children[size_t(rank)], &status, 0);
    codes[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  if (codes[0] == kSkipped) GTEST_SKIP() << "no GPU";
  EXPECT_EQ(codes[0], 0);
  EXPECT_EQ(codes[1], 0);
}

class GpuThreads : public testing::Test {
 protected:
  void SetUp() override {
    try {
      count_ = deviceCount();
    } catch (const Unavailable& e) {
      GTEST_SKIP() << e.what();
    }
  }
  int count_ = 0;
};

TEST_F(GpuThreads, OneRankADevice) {
  RanksOptions o;
  o.ranks = count_;
  for (const std::string& e : onThreads(o, ring)) EXPECT_EQ(e, "");
}

TEST_F(GpuThreads, RanksThatShareADevice) {
  RanksOptions o;
  o.ranks = 3;
  o.devices = {0, 0, 0};
  for (const std::string& e : onThreads(o, ring)) EXPECT_EQ(e, "");
}

TEST_F(GpuThreads, AWaitThatNobodyEndsIsReportedAndTheDeviceGoesOn) {
  RanksOptions o;
  o.ranks = 2;
  o.devices = {0, count_ > 1 ? 1 : 0};
  o.waitTimeoutMs = 500;
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> errors = onThreads(o, [](Session& s, int rank) {
    uint64_t flags = s.allocate(rank, 256, true, true, "flags", kPlace);
    for (int i = 1; i < 4; ++i)
      if (rank == 1) signalWait(s, rank, 0, flags, 1, Compare::Eq, uint64_t(i), 8);
    s.barrierOnStream(rank, 0, 0);
    s.barrier(rank, 0);
    return std::string("nothing was reported");
  });
  EXPECT_EQ(errors[0].find("rank "), 0u) << errors[0];
  EXPECT_NE(errors[0].find("gave up waiting for the signal at offset "), std::string::npos) << errors[0];
  EXPECT_EQ(errors[1], errors[0]);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  o.waitTimeoutMs = 0;
  for (const std::string& e : onThreads(o, ring)) EXPECT_EQ(e, "");
}

}  // namespace
}  // namespace tandem::runtime::cuda
