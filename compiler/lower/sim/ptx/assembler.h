// Inline PTX as instructions of the simulator: each PTX instruction becomes a few of them, which work on one value of
// the program, on one of each thread, or on all elements of a tile. Knows nothing of MLIR.
#pragma once
#include "compiler/lower/sim/program_builder.h"
#include "compiler/ptx/body.h"
#include <functional>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <optional>

namespace tandem::lower {

// A type suffix: `.u32`, `.f16x2`, `.e4m3x2`.
struct PtxType {
  char kind = 'b';           // b, u, s, f, or p for a predicate
  interpreter::Elem elem{};  // of one of `parts`
  unsigned bits = 32, parts = 1;
  bool isFloat() const { return kind == 'f'; }
};
// Says if a register may be wider than the type: conversions, loads and stores allow it.
enum class Width : uint8_t { Exact, Wider };

class Assembler {
 public:
  using Register = interpreter::Register;
  using Elem = interpreter::Elem;
  using Registers = llvm::ArrayRef<Register>;

  // Values have the extent and shape of `like`. `fail` does not return.
  Assembler(ProgramBuilder& build, const ptx::Body& body, interpreter::RegisterType like,
            std::function<void(const std::string&)> fail)
      : build_(build), body_(body), like_(std::move(like)), fail_(std::move(fail)),
        values_(body.variables.size(), interpreter::kNone) {}

  // The register of $`operand`, an integer of its constraint's width. One that nothing has set is zero.
  void set(uint32_t operand, Register value) { values_[operand] = value; }
  Register get(uint32_t operand);
  void run();

  // --- the instruction at hand (assembler.cpp) ---
  [[noreturn]] void fail(const std::string& why);
  const ptx::Operand& operand(size_t i);
  size_t operandCount() const { return in_->operands.size(); }
  void expectOperands(size_t least, size_t most);
  // Returns true if the instruction has the modifier, which then counts as understood; a modifier that nobody takes is
  // an error.
  bool take(llvm::StringRef modifier);
  // The one of `words` that it has; empty for none.
  llvm::StringRef takeOneOf(llvm::ArrayRef<llvm::StringRef> words);
  bool isFirst(llvm::StringRef modifier) const;  // among those that nobody has taken
  void takePrefixed(llvm::StringRef prefix);
  // Its type suffixes in order; there must be `count`.
  llvm::SmallVector<PtxType, 2> takeTypes(size_t count);
  PtxType takeType() { return takeTypes(1)[0]; }
  // Returns the mask under which a guarded instruction on a tile accesses memory; kNone: everywhere.
  Register mask() const { return mask_; }
  bool onTile() const { return like_.extent == interpreter::Extent::Tile; }

  // --- operands (operands.cpp) ---
  // The operand as bits of the type, in a register of integers; a predicate in one of I1.
  Register bits(const ptx::Operand& operand, PtxType type, Width width = Width::Exact);
  Register bits(size_t i, PtxType type, Width width = Width::Exact) { return bits(operand(i), type, width); }
  // The same as a register of the type's elements; of a type with parts, its words.
  Register value(size_t i, PtxType type, Width width = Width::Exact);
  // `value` has the type's width. A wider variable gets it extended by sign or with zeros.
  void write(const ptx::Operand& operand, Register value, PtxType type, Width width = Width::Exact);
  void write(size_t i, Register value, PtxType type, Width width = Width::Exact) {
    write(operand(i), value, type, width);
  }
  // `apply` on each part of the operands' values, the parts' results packed again.
  Register eachPart(PtxType type, Registers operands, llvm::function_ref<Register(Registers)> apply);
  Register part(Register word, unsigned index, unsigned bits);
  Register packed(Registers parts);
  std::optional<uint64_t> knownInteger(size_t i);
  uint64_t immediate(size_t i);

  // --- emitting (emit.cpp); operands and results are registers of like extent ---
  Register fresh(Elem elem, unsigned length = 1);
  Register emit(Code code, Registers operands, Elem result, llvm::ArrayRef<int64_t> immediates = {});
  void emitOnly(Code code, Registers operands, llvm::ArrayRef<int64_t> immediates = {}) {
    build_.emit(code, operands, {}, immediates);
  }
  Register constant(Elem elem, uint64_t bits);
  Register unary(interpreter::UnaryOp op, Register a);
  Register binary(interpreter::BinaryOp op, Register a, Register b);
  Register binaryWith(interpreter::BinaryOp op, Register a, uint64_t b) {
    return binary(op, a, constant(elemOf(a), b));
  }
  Register compare(interpreter::CompareOp op, Register a, Register b);
  Register compareWith(interpreter::CompareOp op, Register a, uint64_t b) {
    return compare(op, a, constant(elemOf(a), b));
  }
  Register select(Register condition, Register a, Register b);
  Register convert(interpreter::ConvertOp op, Register a, Elem to);
  Register bitcast(Register a, Elem to);
  Register resize(Register a, Elem to, bool isSigned);  // between integers
  Register call(const char* symbol, Registers operands, Elem result);
  Elem elemOf(Register r) const { return build_.type(r).elem; }
  static Elem integerOf(unsigned bits);
  Register special(llvm::StringRef name, unsigned* bits);  // special.cpp
  ProgramBuilder& build() { return build_; }

 private:
  struct Loop {
    uint32_t exit = 0;
    llvm::SmallVector<uint32_t> tests;  // jump to its end
  };
  // control.cpp
  void lowerRange(uint32_t begin, uint32_t end, Loop* loop, int depth);
  void lowerLoop(uint32_t begin, uint32_t last, int depth);
  uint32_t lowerBranch(uint32_t at, uint32_t end, Loop* loop, int depth);
  void testLoop(Loop& loop, Register goesOn);
  void guarded(Register condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  std::optional<uint32_t> loopEndOf(uint32_t begin, uint32_t end);
  static bool isBranch(const ptx::Instruction& in) {
    return in.opcode == "bra" && in.operands.size() == 1 && in.operands[0].kind == ptx::Operand::Kind::Label;
  }
  bool isBranch(uint32_t at) const { return isBranch(body_.code[at]); }
  uint32_t target(uint32_t at) const { return body_.labels[body_.code[at].operands[0].variable].position; }
  llvm::SmallVector<Register> writtenIn(uint32_t begin, uint32_t end);

  void lowerInstruction(uint32_t at);
  void lowerPlain();
  void prepareVariables();
  Register guardOf(const ptx::Instruction& in);
  void assign(uint32_t variable, Register value);

  ProgramBuilder& build_;
  const ptx::Body& body_;
  interpreter::RegisterType like_;
  std::function<void(const std::string&)> fail_;
  std::vector<Register> values_;  // by variable
  bool isFixed_ = false;          // variables keep their registers, since control flow joins
  int maskDepth_ = 0;             // conditions around, which differ by thread
  Register chosen_ = interpreter::kNone,
           mask_ = interpreter::kNone;  // the guard, if it selects results (`chosen_`) or accesses (`mask_`)
  const ptx::Instruction* in_ = nullptr;
  llvm::SmallVector<bool> taken_;  // by modifier
};

// The lowering of an instruction. Effects run only where their guard holds; the others write only there.
struct PtxRow {
  void (*lower)(Assembler&) = nullptr;
  enum class Effect : uint8_t { None, Memory, Threads } effect = Effect::None;
};
using PtxTable = llvm::StringMap<PtxRow>;
// Finds a row by opcode; returns null for one that the simulator does not have.
const PtxRow* findPtx(llvm::StringRef opcode);
PtxRow::Effect effectOf(const ptx::Instruction& in);
bool branches(const ptx::Body& body);
// Returns true if the results of the body differ by thread, whatever its operands.
bool differsByThread(const ptx::Body& body);

// The families of instructions.
void addIntegers(PtxTable& table);
void addBits(PtxTable& table);
void addCompares(PtxTable& table);
void addFloats(PtxTable& table);
void addMoves(PtxTable& table);
void addConversions(PtxTable& table);
void addMemory(PtxTable& table);
void addAtomics(PtxTable& table);
void addThreads(PtxTable& table);
void addWarps(PtxTable& table);
void addBulk(PtxTable& table);

}  // namespace tandem::lower
