// A Team is the ranks of a run, seen from one of them; `launch` and `joinFromEnvironment` make it.
#pragma once
#include "tandem/compare.h"
#include "tandem/kernel.h"
#include <array>
#include <functional>
#include <optional>

namespace tandem {

// Every element of a tensor of 4- or 8-byte signals: set to a value, or waited for until it compares true.
struct SignalStep {
  Tensor signal;
  uint64_t value = 0;
  std::optional<Compare> waits = {};
};

struct HostWords {
  Tensor tensor;
  volatile int32_t* host = nullptr;
};

struct LaunchConfig {
  std::array<int, 3> grid{1, 1, 1};
  int numWarps = 4;
  int stream = 0;
  int numStages = 3;         // how far a GPU's loads run ahead of its products
  bool cooperative = false;  // all programs resident at once, or the launch fails
  int maxRegisters = 0;      // of a GPU's thread; 0: as many as the kernel needs
  // May start when all programs of the stream's previous kernel have called gdc_launch_dependents; reads what that kernel
  // writes only behind gdc_wait or a signal.
  bool dependent = false;
};

// One rank's view of a team. Used by that rank's host thread only. Calls marked [collective] are made by every rank of
// the team in the same order; those marked [blocks] may wait for other ranks. Every call throws Error on bad input and
// SimulationError when the run has found an error in its kernels.
class TANDEM_API Team {
 public:
  Team(td_session* session, int rank, int size) : session_(session), rank_(rank), size_(size) {}

  int rank() const { return rank_; }
  int size() const { return size_; }
  // [collective over `members`, ranks of this team, blocks] A team of these ranks, in this order, with symmetric memory,
  // kernels and operators of its own, which close before its last copy goes.
  Team split(const std::vector<int>& members);
  // The target for which the rank's kernels are compiled: "sim", "sm_90a", "sm_90a+nvshmem", "sm_90a+trace".
  const std::string& target() const;
  // The name of the rank's GPU; empty for a simulated rank.
  std::string deviceName() const;
  // The number of a rank's programs that are resident at once. More programs than that must not wait for each other.
  int residentPrograms() const;

  // Symmetric memory [collective, blocks]. `empty` holds nothing: reading it before a write is an error, which the
  // simulator reports. `zeros` holds zeros.
  Tensor empty(const std::vector<int64_t>& shape, DType dtype, const std::string& name = "");
  Tensor zeros(const std::vector<int64_t>& shape, DType dtype, const std::string& name = "");
  // Memory of this rank alone, holding zeros.
  Tensor localZeros(const std::vector<int64_t>& shape, DType dtype, const std::string& name = "");
  void release(const Tensor& tensor);
  // Words of the host's, zeros, until the run ends: kernels write the tensor, i32, the host looks at `host` at any time.
  HostWords hostWords(int count, const std::string& name);
  // The same symmetric tensor on another rank.
  Tensor peer(const Tensor& tensor, int rank) const;

  // Queues a kernel on a stream. `arguments` are the kernel's parameters that are not constants, in order.
  void launch(const Kernel& kernel, const LaunchConfig& config, const std::vector<Argument>& arguments,
              const Constants& constants = {});

  // The vendor's library that multiplies (cuBLAS): true where this rank's GPU has it.
  bool hasProducts() const;
  // out[m, n] = a[m, k] · b[k, n] by that library, of contiguous matrices, summed in fp32: all of fp16, of bf16 or of fp32, or a and b
  // fp8e4nv and out bf16. `bTransposed`: b is [n, k], as it must be of fp8e4nv; `added`, where it has an address: a matrix
  // like `out`, or `out` itself, to which the product is added before it is rounded. `workspace` is the product's alone
  // while it runs.
  void multiply(const Tensor& out, const Tensor& a, const Tensor& b, bool bTransposed, const Tensor& workspace,
                int stream = 0, const Tensor& added = {});

  int newStream();
  // Returns the stream for copies and signals that go on while a kernel on `stream` waits for them: the same stream
  // each time. On GPUs its priority is higher, so that it shares no queue with `stream`, however many streams there
  // are.
  int streamBeside(int stream);
  void copy(const Tensor& dest, const Tensor& source, int stream = 0);  // copy engine; equal sizes
  // Columns `first` to `first + count` of the matrix `source` to the same columns of `dest`, a matrix of as many rows.
  void copyColumns(const Tensor& dest, const Tensor& source, int64_t first, int64_t count, int stream = 0);
  // Host memory must live until the stream gets there.
  void copyFromHost(const Tensor& dest, const void* source, int stream = 0);
  void copyToHost(void* dest, const Tensor& source, int stream = 0);
  void fill(const Tensor& dest, uint8_t byte, int stream = 0);
  // Every element of a tensor of 4- or 8-byte signals, in stream order.
  void signalWrite(const Tensor& signal, uint64_t value, int stream = 0);
  void signalAdd(const Tensor& signal, uint64_t value, int stream = 0);
  void signalWait(const Tensor& signal, Compare compare, uint64_t value, int stream = 0);
  // Several writes and waits in one call, in order: much cheaper on a GPU.
  void signals(const std::vector<SignalStep>& steps, int stream = 0);
  uint64_t recordEvent(int stream);
  void waitEvent(uint64_t event, int stream);

  // An event that remembers when it was reached, and [blocks] the time between two of the latest 16384. Not on simulated ranks.
  uint64_t recordTime(int stream);
  double microseconds(uint64_t from, uint64_t to);

  // [collective, blocks] What each rank gives, UTF-8 without NULs, in their order. Streams are not waited for.
  std::vector<std::string> gather(const std::string& text);
  // An operator of the team: all its ranks open the same operators in one order, call each with the same sizes, and
  // keep one order of calls on each stream. A difference ends the run with an error that shows both calls: at once on
  // simulated ranks, a moment later on GPUs. `what` describes the operator for messages; `sizeNames` are the names of a
  // call's sizes, separated by commas. Returns the number by which calls name the operator.
  uint64_t openOperator(const std::string& what, const std::string& sizeNames);
  void callOperator(uint64_t op, int stream, const std::vector<int64_t>& sizes);
  void barrierOnStream(int stream);  // [collective] of the ranks' streams; the host goes on
  void synchronize();                // [blocks] all streams of this rank
  void synchronize(int stream);
  void barrier();  // [collective, blocks] streams idle, every rank here

  td_session* session() const { return session_; }

 private:
  Tensor allocate(const std::vector<int64_t>& shape, DType dtype, bool symmetric, bool initialised,
                  const std::string& name);
  void writeSignals(const Tensor& signals, uint64_t value, int stream, int kind);
  void check(int status) const;

  td_session* session_;
  std::shared_ptr<td_session> part_;  // the same, where it is a team's own
  int rank_, size_;
  mutable std::string target_;  // empty: not asked yet
};

struct RunOptions {
  int ranks = 1;
  uint64_t seed = 0;       // decides schedule and delays; the same seed gives the same run
  bool trace = false;      // records the times at which programs and streams did their work
  int slotsPerRank = 132;  // programs of a rank resident at once
  bool check = false;      // look for races and misused signals
  // or "cuda": rank i is a GPU; seed, slotsPerRank, check and limits are the simulator's
  std::string target = "sim";
  std::vector<int> devices = {};  // one a rank; empty: rank i takes device i
  uint64_t waitTimeoutMs = 0;     // of one wait on a GPU; 0: never
  // of a simulated run, until it ends with a report: instructions and turns; 0: no limit
  uint64_t maxSteps = 0;
  double timeoutSeconds = 0;  // of a simulated run, likewise
};

struct RunReport {
  std::vector<std::string> warnings;  // rendered
  std::string timeline;               // with trace: text for a terminal
  std::string chromeTrace;            // with trace; JSON that Perfetto opens
  std::string counters;               // JSON; of simulated runs
};

// Runs `main` once on each rank, each on a thread of its own; of simulated ranks one runs at a time. Rethrows the first
// exception of a rank's main; throws SimulationError when the run found an error in its kernels.
TANDEM_API RunReport launch(const std::function<void(Team&)>& main, const RunOptions& options);

// This process as one rank on a GPU, until the end of its life.
class TANDEM_API JoinedRank {
 public:
  JoinedRank(JoinedRank&&) noexcept;
  // Calls leave() if the caller has not; errors that it finds then go to standard error. While an exception ends the
  // rank, the destructor tells the other ranks instead, and their calls throw.
  ~JoinedRank();

  Team& team();
  // [blocks] Waits for the rank's streams; throws the errors that the run found. The team is not used any more.
  void leave();

 private:
  struct Impl;
  explicit JoinedRank(std::unique_ptr<Impl> impl);
  friend JoinedRank joinFromEnvironment(uint64_t waitTimeoutMs);
  std::unique_ptr<Impl> impl_;
};

// Joins the group that torchrun (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_PORT) or mpirun (OMPI_COMM_WORLD_...) has started
// on this host, one process a rank; a process that neither has started is alone. [collective, blocks]
TANDEM_API JoinedRank joinFromEnvironment(uint64_t waitTimeoutMs = 0);

}  // namespace tandem
