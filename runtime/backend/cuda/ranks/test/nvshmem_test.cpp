// These tests run sessions through a stand-in for NVSHMEM: its start and end, its heap, the kernels that run, and the
// errors when it cannot be used.
#include "runtime/backend/cuda/nvshmem.h"
#include "abi/dist_context.h"
#include "runtime/backend/cuda/context_registry.h"
#include "runtime/backend/cuda/kernel.h"
#include "runtime/backend/cuda/ranks/session.h"
#include "runtime/backend/cuda/test/fake_driver.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tandem::runtime::cuda {
namespace {
namespace fs = std::filesystem;

const HostPlace kPlace;

uint64_t* words(uint64_t address) { return reinterpret_cast<uint64_t*>(address); }

class NvshmemSessionTest : public FakeDriver {
 protected:
  NvshmemSessionTest() : log_(testing::TempDir() + "fake-nvshmem-" + std::to_string(getpid())) {
    set("TANDEM_NVSHMEM", fs::path(TANDEM_FAKE_NVSHMEM).parent_path().c_str());
    set("TANDEM_FAKE_NVSHMEM_LOG", log_.c_str());
    std::ofstream(fs::path(TANDEM_FAKE_NVSHMEM).parent_path() / "libnvshmem_device.bc") << "the compiler's";
  }
  ~NvshmemSessionTest() override {
    for (const char* name : set_) unsetenv(name);
    fs::remove(log_);
  }
  void set(const char* name, const char* value) {
    setenv(name, value, 1);
    set_.push_back(name);
  }

  static RanksOptions options(int rank, int ranks, Transport transport) {
    RanksOptions o;
    o.ranks = ranks;
    o.rank = rank;
    o.rendezvous = "nvshmem-test-" + std::to_string(getppid());
    o.devices = {rank % 2};
    o.heapStride = uint64_t(256) << 20;
    o.transport = transport;
    return o;
  }
  // Runs `body` in a process for each rank; returns the texts of the exceptions, "" for none. A body reports by
  // throwing.
  using Body = std::function<void(Session&, int)>;
  std::vector<std::string> run(const std::vector<Transport>& transports, const Body& body) {
    constexpr size_t room = 4096;
    int ranks = int(transports.size());
    auto* said = static_cast<char*>(
        mmap(nullptr, room * size_t(ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank) {
      pid_t child = fork();
      if (child) {
        children.push_back(child);
        continue;
      }
      std::string text = one(options(rank, ranks, transports[size_t(rank)]), body);
      std::snprintf(said + room * size_t(rank), room, "%s", text.c_str());
      _exit(HasFailure());
    }
    std::vector<std::string> out;
    for (int rank = 0; rank < ranks; ++rank) {
      int status = 0;
      waitpid(children[size_t(rank)], &status, 0);
      EXPECT_EQ(status, 0) << "rank " << rank;
      out.push_back(said + room * size_t(rank));
    }
    munmap(said, room * size_t(ranks));
    return out;
  }
  static std::string one(const RanksOptions& options, const Body& body) {
    std::unique_ptr<Session> session;
    try {
      session = makeSession(options);
      session->enter(options.rank);
      body(*session, options.rank);
      session->leave(options.rank);
      return "";
    } catch (const std::exception& e) {
      if (session) session->abort(options.rank, e.what());
      return e.what();
    }
  }
  std::vector<std::string> logged() {
    std::vector<std::string> lines;
    std::ifstream in(log_);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  static std::vector<std::string> none(size_t ranks) { return std::vector<std::string>(ranks); }
  static const tandem_dist_context& contextOf(int rank) {
    return *reinterpret_cast<const tandem_dist_context*>(rankContextOn(rank % 2));
  }
  static Code kernel(const std::string& name, const std::string& target) {
    abi::KernelImage image;
    image.name = name;
    image.target = target;
    image.cubin = "FAKE " + name + " 8,8 40 0";
    image.params = {abi::ParamType::Pointer};
    image.usesRanks = true;
    return {nullptr, std::make_shared<Kernel>(std::make_shared<abi::KernelImage>(image))};
  }

 private:
  std::string log_;
  std::vector<const char*> set_;
};

constexpr Transport kThrough = Transport::Nvshmem;

TEST_F(NvshmemSessionTest, TheHeapIsItsMemory) {
  EXPECT_EQ(run({kThrough, kThrough, kThrough},
                [](Session& s, int rank) {
                  EXPECT_EQ(s.target(rank), rank == 1 ? "sm_80+nvshmem" : "sm_90a+nvshmem");
                  uint64_t a = s.allocate(rank, 4096, true, true, "a", kPlace);
                  const tandem_dist_context& context = contextOf(rank);
                  EXPECT_EQ(context.stride, 0);
                  for (int peer = 0; peer < 3; ++peer) {
                    EXPECT_EQ(s.peerAddress(rank, a, peer), a + uint64_t(context.offsets[peer]));
                    words(s.peerAddress(rank, a, peer))[rank] = uint64_t(rank + 1);
                  }
                  s.barrier(rank, 0);
                  s.barrierOnStream(rank, 0, 0);
                  s.synchronize(rank);
                  for (int i = 0; i < 3; ++i) EXPECT_EQ(words(a)[i], uint64_t(i + 1));
                  uint64_t large = s.allocate(rank, uint64_t(100) << 20, true, false, "another piece", kPlace);
                  words(s.peerAddress(rank, large, (rank + 1) % 3))[0] = uint64_t(rank);
                  s.barrier(rank, 0);
                  EXPECT_EQ(words(large)[0], uint64_t((rank + 2) % 3));
                  s.release(rank, a, kPlace);
                  EXPECT_THROW(s.release(rank, a, kPlace), std::invalid_argument);
                  EXPECT_EQ(s.allocate(rank, 4000, true, true, "again", kPlace), a);
                  EXPECT_EQ(words(a)[1], 0u) << "zeros again";
                  EXPECT_THROW(s.peerAddress(rank, 64, 1), std::invalid_argument);
                }),
            none(3));
  EXPECT_EQ(logged(), (std::vector<std::string>{"0 ends", "0 starts of 3", "1 ends", "1 starts of 3", "2 ends",
                                                "2 starts of 3"}));
}

TEST_F(NvshmemSessionTest, OnlyItsKernelsRunAndTheirModulesAreMadeKnown) {
  EXPECT_EQ(run({kThrough, kThrough},
                [&](Session& s, int rank) {
                  uint64_t argument = 5;
                  KernelLaunch launch;
                  launch.arguments = {&argument, 1};
                  for (const char* name : {"nvshmem_puts", "only_asks_its_rank"}) {
                    launch.code = kernel(name, s.target(rank));
                    s.launch(rank, 0, launch);
                  }
                  launch.code = kernel("k", "sm_90a");
                  EXPECT_EQ(errorOf<std::invalid_argument>([&] { s.launch(rank, 0, launch); }),
                            "kernel `k` is compiled for `sm_90a`, but its rank's run goes through NVSHMEM");
                }),
            none(2));
  EXPECT_EQ(logged(), (std::vector<std::string>{"0 ends", "0 module", "0 module gone", "0 starts of 2", "1 ends",
                                                "1 module", "1 module gone", "1 starts of 2"}));
  EXPECT_EQ(
      run({Transport::NvLink},
          [&](Session& s, int rank) {
            EXPECT_EQ(s.target(rank), "sm_90a");
            uint64_t argument = 5;
            KernelLaunch launch;
            launch.arguments = {&argument, 1};
            launch.code = kernel("k", "sm_90a+nvshmem");
            s.launch(rank, 0, launch);
          }),
      std::vector<std::string>{"kernel `k` is compiled for `sm_90a+nvshmem`, but its rank's run goes without NVSHMEM"});
}

TEST_F(NvshmemSessionTest, APeerThatIsNotMappedHasNoAddress) {
  set("TANDEM_FAKE_NVSHMEM_FAR", "1");
  static const char place[] = "dir/k.py:12:5\0push";
  std::vector<std::string> said = run({kThrough, kThrough, kThrough}, [&](Session& s, int rank) {
    uint64_t a = s.allocate(rank, 64, true, true, "a", kPlace);
    const tandem_dist_context& context = contextOf(rank);
    for (int peer = 0; peer < 3; ++peer)
      EXPECT_EQ(context.offsets[peer] == TANDEM_DIST_UNMAPPED, peer != rank && (peer == 1 || rank == 1))
          << rank << peer;
    if (rank == 0) {
      EXPECT_EQ(errorOf<std::invalid_argument>([&] { s.peerAddress(rank, a, 1); }),
                "rank 1's memory is not mapped on rank 0: only kernels' puts, gets and signals reach it");
      tandem_dist_watch& w = *context.watch;  // as a kernel does
      w.place = place;
      w.compare = TANDEM_DIST_UNMAPPED_PEER;
      w.signal = a;
      w.expected = 1;
      __atomic_store_n(&w.found, 2u, __ATOMIC_RELEASE);
      s.synchronize(rank);
    }
    s.barrier(rank, 0);
  });
  for (const std::string& text : said)
    EXPECT_EQ(
        text,
        "rank 0, program (0, 0, 0) of `push`: rank 1's memory is not mapped here, so `symm_at` has no address for it");
}

TEST_F(NvshmemSessionTest, AutomaticTakesItWhereARankReachesNoPeer) {
  std::vector<Transport> automatic(2, Transport::Automatic);
  EXPECT_EQ(run(automatic, [](Session& s, int rank) { EXPECT_EQ(s.target(rank), rank ? "sm_80" : "sm_90a"); }),
            none(2));
  EXPECT_EQ(logged(), std::vector<std::string>{}) << "NVSHMEM is not opened where nobody needs it";
  set("TANDEM_FAKE_CUDA_NO_PEERS", "1");
  EXPECT_EQ(run(automatic,
                [](Session& s, int rank) { EXPECT_EQ(s.target(rank), rank ? "sm_80+nvshmem" : "sm_90a+nvshmem"); }),
            none(2));
  EXPECT_EQ(logged().size(), 4u);
  RanksOptions threads;
  threads.ranks = 2;
  std::unique_ptr<Session> session = makeSession(threads);
  std::thread other([&] { EXPECT_ANY_THROW(session->enter(1)); });
  std::string said = errorOf<std::exception>([&] { session->enter(0); });
  EXPECT_TRUE(said.ends_with(
      "the GPUs of ranks 0 and 1 have no peer access; NVSHMEM has one rank a process, and this one has several: "
      "start them by `tandem run`"))
      << said << " (rank 0's own words, or rank 1's with its number before them)";
  other.join();
}

TEST_F(NvshmemSessionTest, AllAskForTheSame) {
  std::vector<std::string> said = run({kThrough, Transport::NvLink}, [](Session&, int) {});
  for (const std::string& text : said)
    EXPECT_TRUE(
        text.ends_with("the ranks were started with different transports: rank 0 with `nvshmem`, rank 1 with `nvlink`"))
        << text;
  EXPECT_EQ(errorOf<std::exception>([] { transportOf("tcp"); }),
            "`transport` is `tcp`; it is one of auto, nvlink, nvshmem");
}

TEST_F(NvshmemSessionTest, AfterAFailureNobodyWaitsForItsEnd) {
  std::vector<std::string> said = run({kThrough, kThrough, kThrough}, [](Session& s, int rank) {
    s.barrier(rank, 0);
    if (rank == 1) throw std::runtime_error("no luck");
  });
  EXPECT_EQ(said, (std::vector<std::string>{"rank 1 failed: no luck", "no luck", "rank 1 failed: no luck"}));
  EXPECT_EQ(logged(), (std::vector<std::string>{"0 starts of 3", "1 starts of 3", "2 starts of 3"}));
}

TEST_F(NvshmemSessionTest, ItStartsOnceInAProcess) {
  EXPECT_EQ(run({kThrough},
                [](Session& s, int rank) {
                  s.leave(rank);
                  RanksOptions again = options(0, 1, kThrough);
                  throw std::runtime_error(one(again, [](Session&, int) {}));
                }),
            std::vector<std::string>{"NVSHMEM starts once in a process, and this one has had a run through it"});
}

TEST_F(NvshmemSessionTest, WithoutItEveryRankSaysWhereItWasLookedFor) {
  set("TANDEM_NVSHMEM", "/nowhere");
  for (const std::string& text : run({kThrough, kThrough}, [](Session&, int) {}))
    EXPECT_TRUE(text.ends_with(
        "rank 0: this run needs NVSHMEM: install `nvidia-nvshmem-cu13` or set TANDEM_NVSHMEM; NVSHMEM was looked "
        "for in\n  /nowhere/lib\n  /nowhere"))
        << text;
}

}  // namespace
}  // namespace tandem::runtime::cuda
