// The table of lowerings: what emits each op.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <mlir/IR/Operation.h>

namespace tandem::lower::gpu {

class KernelContext;

class Lowerings {
 public:
  using Function = void (*)(KernelContext&, mlir::Operation*);

  // `lowering` is a lambda without captures, called with a context and an op of one of the types. A later row takes the
  // place of an earlier one, so that a target's rows come behind those of any GPU.
  template <class... Ops, class F>
  void on(F) {
    ((rows_[mlir::TypeID::get<Ops>()] = [](KernelContext& cx, mlir::Operation* op) { F{}(cx, mlir::cast<Ops>(op)); }),
     ...);
  }
  // The ops of the dialect that have no row of their own.
  template <class Dialect, class F>
  void onDialect(F) {
    rows_[mlir::TypeID::get<Dialect>()] = [](KernelContext& cx, mlir::Operation* op) { F{}(cx, op); };
  }
  // Null: nothing lowers this op.
  Function find(mlir::Operation* op) const {
    if (Function own = rows_.lookup(op->getName().getTypeID())) return own;
    return op->getDialect() ? rows_.lookup(op->getDialect()->getTypeID()) : nullptr;
  }

 private:
  llvm::DenseMap<mlir::TypeID, Function> rows_;
};

// Each construct's rows, in its own file.
void registerArith(Lowerings& table);
void registerAtomic(Lowerings& table);
void registerBlockMemory(Lowerings& table);
void registerControl(Lowerings& table);
void registerConvert(Lowerings& table);
void registerDebug(Lowerings& table);
void registerDist(Lowerings& table);
void registerDistCopy(Lowerings& table);
void registerDistSignal(Lowerings& table);
void registerDistTeam(Lowerings& table);
void registerDot(Lowerings& table);
void registerGather(Lowerings& table);
void registerMapElementwise(Lowerings& table);
void registerMath(Lowerings& table);
void registerMemory(Lowerings& table);
void registerReduce(Lowerings& table);
void registerScan(Lowerings& table);
void registerShape(Lowerings& table);
void registerSimt(Lowerings& table);
void registerSimtMemory(Lowerings& table);
void registerSimtShared(Lowerings& table);

// All of these.
void registerAnyGpu(Lowerings& table);

}  // namespace tandem::lower::gpu
