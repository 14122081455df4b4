// The state of lowering one function and one method for each dialect; each construct has its own .cpp.
#pragma once
#include "compiler/lower/sim/divergence.h"
#include "compiler/lower/sim/locations.h"
#include "compiler/lower/sim/program_builder.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::lower {

struct ParsedAssembly;
using Registers = llvm::SmallVector<interpreter::Register, 4>;

class FunctionLowering {
 public:
  FunctionLowering(interpreter::Program& program, Locations& locations, const Divergence& divergence)
      : program_(program), build_(program), locations_(locations), divergence_(divergence) {}
  void run(mlir::func::FuncOp kernel);

 private:
  using Register = interpreter::Register;
  using Elem = interpreter::Elem;

  // lower.cpp
  void lowerArguments(mlir::func::FuncOp kernel);
  void lowerBlock(mlir::Block& block);  // all but the terminator
  void lowerOp(mlir::Operation* op);
  void checkPlace(mlir::Operation* op);
  [[noreturn]] void failUnsupported(mlir::Operation* op);

  // registers.cpp
  interpreter::RegisterType registerType(mlir::Value value, mlir::Location loc);
  Elem elem(mlir::Value value);
  Register define(mlir::Value value);
  void alias(mlir::Value value, Register reg) { registers_[value] = reg; }
  Register use(mlir::Value value) const { return registers_.lookup(value); }
  Register useLanes(mlir::Value value);
  Registers useAll(mlir::ValueRange values);
  Registers useAllLanes(mlir::ValueRange values);
  // All of `values` one a thread when any is, else as they are. kNone stands for a null value.
  Registers useAlike(mlir::ArrayRef<mlir::Value> values);
  Registers defineAll(mlir::ValueRange values);
  Register splatToLanes(Register scalar);
  Register constant(const interpreter::RegisterType& type, int64_t bits);

  // moves.cpp
  struct Move {
    Register from, to;
  };
  // Assigns all at once, so that a target may be another's source. `masked`: active lanes only.
  void moveAll(llvm::ArrayRef<Register> from, llvm::ArrayRef<Register> to, bool masked);
  void clear(llvm::ArrayRef<Register> registers);
  void emitMove(Move move, bool masked);

  // arith.cpp, math.cpp: false when the op is not theirs
  void emitElementwise(mlir::Operation* op, Code code);
  bool lowerElementwise(mlir::Operation* op);
  bool lowerArith(mlir::Operation* op);
  void lowerConstant(mlir::arith::ConstantOp op);
  void lowerDenseConstant(mlir::arith::ConstantOp op, mlir::DenseElementsAttr value);
  void lowerVectorConstant(mlir::arith::ConstantOp op, mlir::DenseElementsAttr value);
  void lowerSelect(mlir::arith::SelectOp op);
  void lowerCompareF(mlir::arith::CmpFOp op);
  void lowerAddExtended(mlir::arith::AddUIExtendedOp op);
  void lowerTruncF(mlir::arith::TruncFOp op);
  void lowerIndexCast(mlir::Operation* op, bool isSigned);
  void convert(mlir::Operation* op, interpreter::ConvertOp sub);
  Register binary(interpreter::BinaryOp sub, Register a, Register b);
  Register compare(interpreter::CompareOp sub, Register a, Register b);
  Register select(Register condition, Register a, Register b);
  bool lowerMath(mlir::Operation* op);
  void lowerIntegerPower(mlir::Operation* op);
  void lowerFloatIntegerPower(mlir::Operation* op);
  void lowerIsNormal(mlir::Operation* op);

  // control.cpp, loops.cpp
  bool lowerControl(mlir::Operation* op);
  void lowerIf(mlir::scf::IfOp op);
  void lowerUniformIf(mlir::scf::IfOp op, llvm::ArrayRef<Register> results);
  void lowerMaskedIf(mlir::scf::IfOp op, llvm::ArrayRef<Register> results);
  void lowerBranchBody(mlir::Region& region, llvm::ArrayRef<Register> results, bool masked);
  void lowerExecuteRegion(mlir::scf::ExecuteRegionOp op);
  void lowerFor(mlir::scf::ForOp op);
  void assertPositiveStep(mlir::scf::ForOp op, Register step);
  void lowerUniformFor(mlir::scf::ForOp op, Register iv, Register end, Register step, llvm::ArrayRef<Register> carried);
  void lowerMaskedFor(mlir::scf::ForOp op, Register iv, Register end, Register step, llvm::ArrayRef<Register> carried);
  void lowerUniformWhile(mlir::scf::WhileOp op, llvm::ArrayRef<Register> carried);
  void lowerMaskedWhile(mlir::scf::WhileOp op, llvm::ArrayRef<Register> carried);
  void lowerWhile(mlir::scf::WhileOp op);
  void hoistInvariants(mlir::scf::WhileOp op);

  // tile_shape.cpp, tile_memory.cpp, reduce.cpp, asm.cpp
  bool lowerTileShape(mlir::Operation* op);
  bool lowerTilePointer(mlir::Operation* op);
  void lowerAddPtr(mlir::Operation* op);
  bool lowerTileMemory(mlir::Operation* op);
  bool lowerTileDebug(mlir::Operation* op);
  bool lowerReduction(mlir::Operation* op);
  int64_t newRegion(mlir::Operation* op);
  void lowerPendingRegions();
  void lowerRegionBody(mlir::Operation* op, interpreter::Region& region);
  void lowerInlineAsm(mlir::Operation* op);
  void checkDealt(mlir::Operation* op, int64_t count, int64_t pack, bool divergent,
                  llvm::function_ref<void(const std::string&)> fail);
  Register dealt(Register value, const interpreter::RegisterType& like);
  void assemble(const ParsedAssembly& parsed, const interpreter::RegisterType& like, int64_t pack,
                llvm::ArrayRef<Register> operands, llvm::ArrayRef<Register> results,
                llvm::function_ref<void(const std::string&)> fail);
  // Emits one instruction with the op's operands, brought to one shape, and its results.
  void emitPlain(mlir::Operation* op, Code code, llvm::ArrayRef<int64_t> immediates = {});
  void emitValues(mlir::Operation* op, Code code, llvm::ArrayRef<mlir::Value> operands,
                  llvm::ArrayRef<int64_t> immediates = {});

  // dist.cpp, simt.cpp, bulk.cpp
  bool lowerDist(mlir::Operation* op);
  bool lowerDistTransfer(mlir::Operation* op);
  bool lowerDistSignal(mlir::Operation* op);
  bool lowerSimt(mlir::Operation* op);
  bool lowerSimtMemory(mlir::Operation* op);
  bool lowerSimtShared(mlir::Operation* op);
  bool lowerSimtBulk(mlir::Operation* op);
  void emitPerThread(mlir::Operation* op, Code code, llvm::ArrayRef<int64_t> immediates);

  interpreter::Program& program_;
  ProgramBuilder build_;
  Locations& locations_;
  const Divergence& divergence_;
  llvm::DenseMap<mlir::Value, Register> registers_;
  llvm::SmallVector<mlir::Operation*>
      pendingRegions_;                  // by index into Program::regions; their code follows the main code
  mlir::Operation* combine_ = nullptr;  // the reduction whose region is being lowered
  int maskDepth_ = 0;                   // conditions that differ by thread around the current op
};

}  // namespace tandem::lower
