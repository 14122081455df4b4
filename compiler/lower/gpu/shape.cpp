// Ops that move no data between threads: each register of the result is a register of a source, or a function of its position.
#include "compiler/layout/shape.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::LinearLayout;

namespace {

ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }

}  // namespace

Regs KernelLowering::takeRegisters(Value source, const LinearLayout& wanted, Operation* op) {
  auto from = layout::registersFor(wanted, layoutOf(source));
  if (!from)
    places_.fail(op->getLoc(), "internal",
                 "`" + op->getName().getStringRef().str() + "` has layouts that do not match");
  Regs out;
  for (unsigned r : *from) out.push_back(use(source)[r]);
  return out;
}

bool KernelLowering::lowerShape(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::ProgramIdOp>([&](auto o) { return define(o.getResult(), {programId(o.getAxis())}), true; })
      .Case<tile::NumProgramsOp>([&](auto o) { return define(o.getResult(), {numPrograms(o.getAxis())}), true; })
      .Case<tile::MakeRangeOp>([&](auto o) {
        LinearLayout layout = layoutOf(o.getResult());
        Regs out;
        for (int64_t r = 0; r < layout.numRegisters(); ++r)
          out.push_back(b_.CreateAdd(position(layout, r), b_.getInt32(o.getStart())));
        return define(o.getResult(), out), true;
      })
      .Case<tile::SplatOp>([&](auto o) {
        return define(o.getResult(), Regs(registersOf(o.getResult()), useScalar(o.getSource()))), true;
      })
      .Case<tile::ExpandDimsOp>([&](auto o) {
        return define(o.getResult(),
                      takeRegisters(o.getSource(), layoutOf(o.getResult()).withShape(shapeOf(o.getSource())), o)),
               true;
      })
      .Case<tile::ReshapeOp>([&](auto o) {
        return define(o.getResult(),
                      takeRegisters(o.getSource(), layoutOf(o.getResult()).withShape(shapeOf(o.getSource())), o)),
               true;
      })
      .Case<tile::BroadcastOp>([&](auto o) {
        return define(o.getResult(),
                      takeRegisters(o.getSource(),
                                    layout::projectBroadcast(layoutOf(o.getResult()), shapeOf(o.getSource())), o)),
               true;
      })
      .Case<tile::PermuteOp>([&](auto o) {
        SmallVector<unsigned> order(o.getOrder().begin(), o.getOrder().end());
        return define(o.getResult(),
                      takeRegisters(o.getSource(), layout::inferPermuteSource(layoutOf(o.getResult()), order), o)),
               true;
      })
      .Case<tile::JoinOp>([&](auto o) { return lowerJoin(o), true; })
      .Case<tile::SplitOp>([&](auto o) { return lowerSplit(o), true; })
      .Case<tile::CatOp>([&](auto o) { return lowerCat(o), true; })
      .Case<tile::AddPtrOp>([&](auto o) {
        llvm::Type* pointee = typeOf(cast<tile::PtrType>(getElementTypeOrSelf(o.getPointer().getType())).getPointee());
        if (pointee->isIntegerTy(1)) pointee = b_.getInt8Ty();
        bool isSigned = true;
        return mapRegisters(o,
                            [&](Scalars v) {
                              return b_.CreateGEP(pointee, v[0],
                                                  isSigned ? b_.CreateSExt(v[1], b_.getInt64Ty()) : v[1]);
                            }),
               true;
      })
      .Case<tile::PtrToIntOp>([&](auto o) {
        return mapRegisters(o, [&](Scalars v) { return b_.CreatePtrToInt(v[0], b_.getInt64Ty()); }), true;
      })
      .Case<tile::IntToPtrOp>([&](auto o) {
        return mapRegisters(o, [&](Scalars v) { return b_.CreateIntToPtr(v[0], b_.getPtrTy(1)); }), true;
      })
      .Case<tile::BitcastOp>([&](auto o) {
        llvm::Type* to = typeOf(o.getResult().getType());
        return mapRegisters(o, [&](Scalars v) { return b_.CreateBitCast(v[0], to); }), true;
      })
      .Default([](Operation*) { return false; });
}

// Registers of the join come in pairs from the two operands, where bit 0 of the position says which.
void KernelLowering::lowerJoin(tile::JoinOp op) {
  if (!isa<RankedTensorType>(op.getLhs().getType())) {
    LinearLayout layout = layoutOf(op.getResult());
    Regs out;
    for (int64_t r = 0; r < layout.numRegisters(); ++r)
      out.push_back(b_.CreateSelect(b_.CreateTrunc(position(layout, r), b_.getInt1Ty()), useScalar(op.getRhs()),
                                    useScalar(op.getLhs())));
    return define(op.getResult(), out);
  }
  LinearLayout result = layoutOf(op.getResult());
  Regs lhs = takeRegisters(op.getLhs(), layout::projectJoin(result), op),
       rhs = takeRegisters(op.getRhs(), layout::projectJoin(result), op), out;
  for (int64_t r = 0; r < result.numRegisters(); ++r) {
    llvm::Value* which = b_.CreateTrunc(position(result, r), b_.getInt1Ty());
    out.push_back(b_.CreateSelect(which, rhs[r], lhs[r]));
  }
  define(op.getResult(), out);
}

// The source holds both of each pair in one thread; a register of a half is the source's register with that half's bit.
void KernelLowering::lowerSplit(tile::SplitOp op) {
  LinearLayout source = layoutOf(op.getSource());
  if (!isa<RankedTensorType>(op.getLhs().getType())) {
    LinearLayout everywhere(source.shape(), {1}, layout::Bases(5, 0), layout::Bases(source.bases(layout::Dim::Warp).size(), 0));
    Regs both = convertLayout(use(op.getSource()), source, everywhere, typeOf(op.getLhs().getType()), op->getLoc());
    define(op.getLhs(), {both[0]});
    define(op.getRhs(), {both[1]});
    return;
  }
  LinearLayout half = layoutOf(op.getLhs());
  Regs both = takeRegisters(op.getSource(), layout::inferSplitSource(half), op), lhs, rhs;
  for (size_t r = 0; r < both.size(); r += 2) {
    lhs.push_back(both[r]);
    rhs.push_back(both[r + 1]);
  }
  define(op.getLhs(), lhs);
  define(op.getRhs(), rhs);
}

void KernelLowering::lowerCat(tile::CatOp op) {
  LinearLayout result = layoutOf(op.getResult());
  Regs lhs = takeRegisters(op.getLhs(), layout::projectCat(result), op),
       rhs = takeRegisters(op.getRhs(), layout::projectCat(result), op), out;
  for (int64_t r = 0; r < result.numRegisters(); ++r) {
    llvm::Value* second = b_.CreateICmpUGE(position(result, r), b_.getInt32(result.numElements() / 2));
    out.push_back(b_.CreateSelect(second, rhs[r], lhs[r]));
  }
  define(op.getResult(), out);
}

}  // namespace tandem::lower::nvidia
