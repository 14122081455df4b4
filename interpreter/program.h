// A kernel in the form the interpreter runs: a flat list of instructions over typed registers.
// One instruction stands for one op of the tile, dist, simt, arith, math or scf dialects. Knows nothing of MLIR.
#pragma once
#include "base/source.h"
#include "interpreter/op.h"
#include "tandem/element_types.h"
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tandem::interpreter {

// Element types as they lie in memory. Pointers are I64. I1 takes one byte, 0 or 1.
enum class Elem : uint8_t {
#define TANDEM_ROW(dtype, scalar, elem, ...) elem,
  TANDEM_MEMORY_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
};
constexpr uint32_t byteSize(Elem e) {
  switch (e) {
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  case Elem::elem: return (bits + 7) / 8;
    TANDEM_MEMORY_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
  }
  return 1;
}

// The extent of a register decides how many values it holds.
//   Uniform: one for the program. Lanes: one for each thread (or for each lane of a running region: see Region).
//   Tile: the shape's product. Smem: a handle to a shared-memory buffer of that shape, by reference.
// A Uniform or Lanes register may hold a per-thread vector: `vectorLength` consecutive elements for each.
enum class Extent : uint8_t { Uniform, Lanes, Tile, Smem };

struct RegisterType {
  Elem elem = Elem::I32;
  Extent extent = Extent::Uniform;
  uint16_t vectorLength = 1;
  std::vector<int64_t> shape;  // Tile and Smem only
  int64_t count() const {      // elements of a Tile; vectorLength otherwise
    if (extent != Extent::Tile && extent != Extent::Smem) return vectorLength;
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
};

using Register = uint32_t;
// Set on an operand whose register is not read again before it is next written: its buffer may be freed or reused.
constexpr uint32_t kLastUse = 1u << 31;

// Operands, results and immediates are ranges of the program's pools. Their meaning by op is in op.def.
struct Instruction {
  Op op;
  uint8_t sub = 0;  // UnaryOp, BinaryOp, ... as op.h says
  Elem elem{};      // element type the op works in (of operand 0 unless op.h says otherwise)
  uint32_t firstOperand = 0, operandCount = 0;
  uint32_t firstResult = 0, resultCount = 0;
  uint32_t firstImmediate = 0, immediateCount = 0;
  uint32_t location = 0;  // index into Program::locations
};

// A source position, and the call it was inlined through (index into Program::locations, or kNoLocation).
constexpr uint32_t kNoLocation = ~0u;
struct Location {
  uint32_t file = 0;  // index into Program::files
  SourceRange range;
  uint32_t caller = kNoLocation;
};

// Code run by Reduce, Scan and MapElementwise: instructions [begin, end). All its argument registers are Lanes; the
// interpreter chooses how many lanes run at once.
struct Region {
  uint32_t begin = 0, end = 0;
  std::vector<Register> arguments, results;
  // When the region is one two-operand op on its arguments in order (a sum, a maximum), that op: a fast path. Otherwise
  // kNoBinary.
  uint8_t binary = 0xff;
};
constexpr uint8_t kNoBinary = 0xff;

struct Argument {
  std::string name;
  Register reg = 0;
  Elem elem{};  // of the value: I64 for a pointer
  bool isPointer = false;
  Elem pointee{};  // pointers only
};

// A load that may be performed before some of the waits ahead of it (M7). Copies of one line, of an unrolled loop, are
// one.
struct EarlyLoad {
  uint32_t location = 0;
  std::vector<uint32_t> overtakes;  // locations of waits, in order
};

struct Program {
  std::string name;
  std::vector<SourceFilePtr> files;
  std::vector<Location> locations;
  std::vector<RegisterType> registers;
  std::vector<Argument> arguments;
  std::vector<Instruction> code;      // starts at 0, ends with Return
  std::vector<uint32_t> operandPool;  // registers, possibly with kLastUse
  std::vector<Register> resultPool;
  std::vector<int64_t> immediatePool;
  std::vector<Region> regions;
  std::vector<uint8_t> constantBytes;  // tiles that are not splats
  std::vector<std::string> strings;
  std::vector<EarlyLoad> earlyLoads;  // by location
  bool perThread = false;             // any Lanes register or simt op: the launch has 32 * numWarps lanes

  std::span<const uint32_t> operands(const Instruction& i) const {
    return {operandPool.data() + i.firstOperand, i.operandCount};
  }
  std::span<const Register> results(const Instruction& i) const {
    return {resultPool.data() + i.firstResult, i.resultCount};
  }
  // Immediates by name; only those that the instruction has may be read.
  template <class Immediates> const Immediates& as(const Instruction& i) const {
    return *reinterpret_cast<const Immediates*>(immediatePool.data() + i.firstImmediate);
  }
  std::span<const int64_t> immediates(const Instruction& i) const {
    return {immediatePool.data() + i.firstImmediate, i.immediateCount};
  }
};
using ProgramPtr = std::shared_ptr<const Program>;

// One instruction a line with registers, types and source lines; for `tandemc --emit=sim` and tests.
std::string print(const Program& program);
const char* elemName(Elem e);  // as in that text: "i32", "bf16"

}  // namespace tandem::interpreter
