// One run on N ranks as its host code drives it, whatever carries it out: simulated ranks (backend/sim) or GPUs
// (backend/cuda).
#pragma once
#include "base/call_log.h"
#include "base/diagnostic.h"
#include "interpreter/trace.h"
#include "tandem/compare.h"
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tandem::interpreter {
struct Program;
}
namespace tandem::abi {
struct KernelImage;
}

namespace tandem::runtime {

namespace sim {
class Session;
}

using Address = uint64_t;
using StreamId = uint32_t;  // 0 is the rank's default stream
using EventId = uint64_t;

// The host line that made a call, for reports.
struct HostPlace {
  std::string file;
  uint32_t line = 0;
};

// The reports of a run: errors of the kernels, not of calls (those throw).
struct RunReport {
  Severity severity = Severity::Error;
  std::string kind, message;  // the kind's word (base/report_kinds.h)
  int rank = -1;              // -1: no single rank
  std::array<int32_t, 3> program{-1, -1, -1};
  std::string kernel, file;
  uint32_t line = 0, column = 0;
  std::string text;  // all of it as people read it
};

// The run has ended early: a report was made, a rank's main failed or a rank is gone. Thrown out of every rank's
// blocking calls.
class RunStopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class SignalKind : uint8_t { Set, Add };

// Memory of the host that kernels read and write where it lies.
struct HostMemory {
  Address begin = 0;
  uint64_t bytes = 0;
  std::string name;
  std::shared_ptr<void> owner = nullptr;  // keeps it alive; null: the caller does
};

// Words of the host's that a rank's kernels write too.
struct HostWords {
  int32_t* host = nullptr;
  Address address = 0;  // for kernels
};

// `count` consecutive signals of 4 or 8 bytes: written, or waited for until each compares true.
struct SignalStep {
  Address signal = 0;
  int count = 1, bytes = 8;
  uint64_t value = 0;
  bool waits = false;
  SignalKind kind = SignalKind::Set;  // of a write
  Compare compare = Compare::Eq;      // of a wait
};

// A kernel for a GPU, which the backend of the image's target carries out.
class GpuKernel {
 public:
  virtual ~GpuKernel() = default;
  virtual const abi::KernelImage& image() const = 0;
};

// A compiled kernel, for the simulator or for a GPU; the other pointer is null. A session refuses code for another
// target.
struct Code {
  std::shared_ptr<const interpreter::Program> program;
  std::shared_ptr<GpuKernel> kernel;
};

struct KernelLaunch {
  Code code;
  std::array<int, 3> grid{1, 1, 1};     // programs
  int numWarps = 4;                     // the simulator's; a GPU kernel was compiled for its number
  std::span<const uint64_t> arguments;  // one 64-bit word each
  bool cooperative = false;             // all programs resident at once, or the launch fails
  bool dependent = false;               // may start before the stream's previous kernel ends
  HostPlace place;
  int team = 0;  // the kernel's ranks are this team's, by their numbers there: one that has memory of its own
};

// What is multiplied. The product has the same type, or bf16 where that is fp8e4nv.
enum class ProductType : uint8_t { Float16, BFloat16, Float32, Float8E4NV };

// out[m, n] = a[m, k] · b[k, n] of contiguous matrices, summed in fp32; `bTransposed`: b is [n, k], as it must be of fp8e4nv.
struct Product {
  Address a = 0, b = 0, out = 0;
  int64_t m = 0, n = 0, k = 0;
  ProductType type = ProductType::BFloat16;
  bool bTransposed = false;
  Address workspace = 0;  // of this product alone while it runs
  uint64_t workspaceBytes = 0;
  Address added = 0;  // a matrix like `out`, or `out` itself, to which the product is added; 0: none
};

// Every call names the rank that makes it and is made by that rank's host thread between enter() and leave(). Calls
// marked [collective] are made by every rank (of the team) in the same order; those marked [blocks] may wait for other
// ranks. Bad input throws; a run that ended early throws RunStopped (the reason is in reports()).
class Session {
 public:
  // A function that a thread which simulates or waits calls now and then; a non-zero answer interrupts that run. The
  // process has one; null: none.
  static inline std::atomic<int (*)()> interruptPoll = nullptr;

  // Finds the host's memory around an address that a simulated kernel uses and that is in no buffer. One for the
  // process, set before any run; it may be called on any rank's thread.
  static inline std::function<std::optional<HostMemory>(Address)> hostFinder;

  virtual ~Session() = default;

  // Null when the ranks are GPUs.
  virtual sim::Session* simulated() { return nullptr; }
  virtual int rankCount() const = 0;
  // The target for which the rank's kernels are compiled: "sim", "sm_90a", "sm_90a+nvshmem", or "sm_90a+trace" if they
  // record. It is final once the rank has entered.
  virtual std::string target(int rank) const = 0;
  // The name of the rank's GPU; empty for a simulated rank.
  virtual std::string deviceName(int rank) const = 0;
  // The number of a rank's programs that are resident at once: more than that may not wait for each other.
  virtual int residentPrograms(int rank) const = 0;

  virtual void enter(int rank) = 0;                          // [collective, blocks]
  virtual void leave(int rank) = 0;                          // [blocks] after its streams are idle
  virtual void abort(int rank, const std::string& why) = 0;  // its main failed: the other ranks' calls throw
  virtual void interrupt() = 0;                              // from any thread: blocking calls throw soon
  virtual void finish() = 0;                                 // after all ranks left
  virtual std::vector<RunReport> reports() const = 0;
  // The trace of this process's ranks (on GPUs: of those that have left); none if the session does not trace.
  virtual std::optional<interpreter::Trace> trace() const = 0;

  // Symmetric memory, which is the team's alone, is [collective over it, blocks]; `initialised` holds zeros. Zero bytes
  // are allowed.
  virtual Address allocate(int rank, uint64_t bytes, bool symmetric, bool initialised, const std::string& name,
                           const HostPlace& place, int team = 0) = 0;
  // Symmetric memory: [collective over its team].
  virtual void release(int rank, Address address, const HostPlace& place) = 0;
  virtual void releaseAsync(int rank, StreamId stream, Address address) = 0;  // of the rank alone, in stream order
  // `peer`: its number in the team whose memory it is.
  virtual Address peerAddress(int rank, Address address, int peer, int team = 0) const = 0;

  // The host's memory as local memory of a simulated rank, without a copy, until `releaseAsync`; GPUs' ranks throw.
  virtual Address mapHost(int, const HostMemory&, const HostPlace&) {
    throw std::runtime_error("only simulated ranks use the host's memory where it lies");
  }
  // `count` zeros, until the rank leaves.
  virtual HostWords hostWords(int rank, uint64_t count, const std::string& name) = 0;

  // [collective over `members`, blocks] (world ranks, in team order): the same team id on each. Team 0 is the world.
  virtual int createTeam(int rank, const std::vector<int>& members) = 0;
  virtual std::vector<int> membersOf(int rank, int team) const = 0;  // throws when the rank is not in such a team
  // [collective over the team, blocks] Gives the team memory of its own, before any is asked for and kernels run on it.
  virtual void openPart(int rank, int team) = 0;
  // [collective over the team, blocks] What each member gives, in the team's order. Streams are not waited for.
  virtual std::vector<std::string> gather(int rank, int team, const std::string& bytes) = 0;
  // An operator of a team: its ranks make the same operators in one order, call each with the same sizes (whose
  // names `name` has), and keep one order of calls on each stream. A difference ends the run with a report that shows
  // both calls, on GPUs a moment later.
  virtual uint64_t openOperator(int rank, const OperatorName& name, int team = 0) = 0;  // its number
  // Without sizes: its end, a call that stands in no stream. Throws where there is no such one.
  virtual void callOperator(int rank, uint64_t op, StreamId stream, std::span<const int64_t> sizes) = 0;
  virtual StreamId createStream(int rank) = 0;
  // Returns the stream for copies and signals that go on while a kernel on `stream` waits for them: each stream has one
  // beside it, made when first asked for.
  virtual StreamId streamBeside(int rank, StreamId stream) = 0;
  // A stream of the framework around, by the driver's handle. The same handle is the same id; the framework goes on
  // owning it.
  virtual StreamId adoptStream(int rank, uint64_t handle) = 0;
  virtual bool hasStream(int rank, StreamId stream) const = 0;

  virtual void launch(int rank, StreamId stream, const KernelLaunch& launch) = 0;
  // A rank's GPU may have a library of its vendor that multiplies. The simulator has none.
  virtual bool hasProducts(int) { return false; }
  virtual void multiply(int, StreamId, const Product&) {
    throw std::runtime_error("this rank has no library that multiplies");
  }
  // The copy engine; either address may be a peer's.
  virtual void copy(int rank, StreamId stream, Address dest, Address source, uint64_t bytes) = 0;
  // `rows` pieces of `bytes` bytes, `destPitch` and `sourcePitch` bytes (at least `bytes`) from one to the next.
  virtual void copyRows(int rank, StreamId stream, Address dest, uint64_t destPitch, Address source,
                        uint64_t sourcePitch, uint64_t bytes, uint64_t rows) = 0;
  virtual void set(int rank, StreamId stream, Address dest, uint8_t value, uint64_t bytes) = 0;
  // Host memory must live until the stream gets there.
  virtual void copyFromHost(int rank, StreamId stream, Address dest, const void* source, uint64_t bytes) = 0;
  virtual void copyToHost(int rank, StreamId stream, void* dest, Address source, uint64_t bytes) = 0;
  // One after the other, in stream order; each write is released after the stream's earlier work at system scope, each
  // wait acquires. They need no multiprocessor on a GPU (SignalKind::Add excepted): a stream may do them while a kernel
  // that waits for them fills the device. Several in one call are much cheaper there than several calls.
  virtual void signals(int rank, StreamId stream, std::span<const SignalStep> steps) = 0;
  virtual void barrierOnStream(int rank, StreamId stream,
                               int team) = 0;  // [collective] of the team's ranks on their streams; also quiets
  virtual EventId recordEvent(int rank, StreamId stream) = 0;
  virtual void waitEvent(int rank, StreamId stream, EventId event) = 0;  // throws on an event that was never recorded

  // An event that remembers when it was reached. Simulated ranks have no time: they throw.
  virtual EventId recordTime(int rank, StreamId stream) = 0;
  virtual double microseconds(int rank, EventId from, EventId to) = 0;  // [blocks] between two of recordTime

  virtual void synchronize(int rank) = 0;                   // [blocks] all streams of the rank
  virtual void synchronize(int rank, StreamId stream) = 0;  // [blocks]
  virtual void barrier(int rank, int team) = 0;             // [collective, blocks] streams idle, all members here
};

}  // namespace tandem::runtime
