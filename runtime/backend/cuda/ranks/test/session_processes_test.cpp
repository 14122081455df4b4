// Sessions on the fake driver whose ranks are processes.
#include "runtime/backend/cuda/ranks/test/session_fixture.h"
#include "runtime/ranks/test/one_signal.h"
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace tandem::runtime::cuda {
namespace {

class ProcessTest : public SessionTest {
 protected:
  // Runs a rank in a process of its own, which exits with the value of `body`, or with 90 after an error.
  pid_t rankProcess(int rank, int ranks, const std::function<int(Session&)>& body) {
    pid_t child = fork();
    if (child) return child;
    RanksOptions o;
    o.ranks = ranks;
    o.rank = rank;
    o.rendezvous = "session-test-" + std::to_string(getppid());
    o.devices = {rank % 2};
    o.heapStride = uint64_t(256) << 20;
    try {
      std::unique_ptr<Session> session = makeSession(o);
      session->enter(rank);
      int code = body(*session);
      session->leave(rank);
      _exit(code);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
      _exit(90);
    }
  }
  int exitCode(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

TEST_F(ProcessTest, ProcessesShareTheHeap) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank)
    children.push_back(rankProcess(rank, 3, [rank](Session& s) {
      uint64_t a = s.allocate(rank, 4096, true, true, "a", kPlace);
      int next = (rank + 1) % 3;
      for (int round = 1; round <= 20; ++round) {
        signalWrite(s, rank, 0, s.peerAddress(rank, a, next), 1, Word(round), 8, SignalKind::Set);
        signalWait(s, rank, 0, a, 1, Compare::Ge, Word(round), 8);
        s.barrierOnStream(rank, 0, 0);
      }
      s.synchronize(rank);
      s.barrier(rank, 0);
      return words(a)[0] == 20 ? 10 + rank : 1;
    }));
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(exitCode(children[size_t(rank)]), 10 + rank);
}

TEST_F(ProcessTest, ADeadProcessEndsTheOthersWaits) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank)
    children.push_back(rankProcess(rank, 3, [rank](Session& s) {
      try {
        uint64_t a = s.allocate(rank, 64, true, true, "a", kPlace);
        if (rank == 2) raise(SIGKILL);
        signalWait(s, rank, 0, a, 1, Compare::Eq, 1, 8);
        s.synchronize(rank);
      } catch (const RunStopped& e) {
        return std::strncmp(e.what(), "rank 2 is gone", 14) ? 2 : s.reports().at(0).kind == "rank-gone" ? 20 : 3;
      }
      return 1;
    }));
  EXPECT_EQ(exitCode(children[2]), 128 + SIGKILL);
  EXPECT_EQ(exitCode(children[0]), 20);
  EXPECT_EQ(exitCode(children[1]), 20);
}

}  // namespace
}  // namespace tandem::runtime::cuda
