// A program with every instruction resolved to its handler and kernel, once for all runs of it.
#pragma once
#include "interpreter/kernels/kernels.h"
#include "interpreter/program.h"
#include <deque>
#include <memory>

namespace tandem::interpreter {

struct Machine;
struct Run;
struct Prepared;

// The outcome of executing an instruction. Blocked: nothing happened, execute it again when woken.
enum class Step : uint8_t { Next, Jumped, Blocked, Yield, Finished, Failed };
using Handler = Step (*)(Machine&, Run&, const Prepared&);

// Threads that must come to an instruction together: none; all, where no per-thread condition is open; all; whole
// warps; those that its mask operand names.
enum class Meets : uint8_t { None, Top, Block, Warp, NamedThreads };

struct RegisterInfo {
  bool isInline = true;  // one scalar or a shared-memory handle: the slot itself, no buffer
  Extent extent{};
  Elem elem{};
  uint8_t elemBytes = 4;
  uint32_t vectorLength = 1;
  int64_t count = 1;
  const std::vector<int64_t>* shape = nullptr;
};

struct Prepared {
  Handler handler = nullptr;
  union Kernel {
    void* none;
    UnaryKernel unary;
    BinaryKernel binary;
    TernaryKernel ternary;
    ExternKernel external;
  } kernel{nullptr};
  const Register* operands = nullptr;  // without kLastUse
  const Register* results = nullptr;
  const int64_t* immediates = nullptr;
  // Immediates by name; only those that the instruction has may be read.
  template <class Immediates> const Immediates& as() const { return *reinterpret_cast<const Immediates*>(immediates); }
  const Register* releases = nullptr;  // buffers of operands not read again
  uint32_t operandCount = 0, resultCount = 0, immediateCount = 0, releaseCount = 0;
  Register a = kNone, b = kNone, c = kNone, r = kNone;  // the first operands and the first result
  Op op{};
  uint8_t sub = 0;
  Meets meets{};
  Elem elem{};
  uint8_t elemBytes = 4;
  bool inPlace = false;     // operand a's buffer may become the result's
  bool resultUsed = false;  // of `SignalWait` and `AtomicRmw`
  uint32_t location = 0;
  // For a back edge: its index in PreparedProgram::loops, where it may spin; the loops inside it are from
  // `firstInnerLoop` up to it.
  uint32_t loop = ~0u, firstInnerLoop = 0;
};

// A loop that may spin: a round does the same again unless the contents of some register in `carried` change.
struct SpinLoop {
  uint32_t pc = 0;  // of its back edge
  std::vector<Register> carried;
};

struct PreparedProgram {
  ProgramPtr program;
  std::vector<Prepared> code;
  std::vector<RegisterInfo> registers;
  std::deque<std::vector<Register>> pools;  // memory that Prepared points into
  std::vector<SpinLoop> loops;
  std::string error;  // why it cannot run: a malformed instruction
};

std::unique_ptr<PreparedProgram> prepare(ProgramPtr program);
Meets meetsOf(const Prepared& i);
bool isIntegerDivision(BinaryOp op);

}  // namespace tandem::interpreter
