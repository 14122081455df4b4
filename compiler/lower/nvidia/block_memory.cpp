// Blocks of strided tensors without TMA: every thread computes the addresses of its elements and whether they are inside.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Matchers.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::LinearLayout;

KernelLowering::BlockAccess KernelLowering::blockAccess(const LinearLayout& layout, llvm::Type* element, mlir::Value base, ValueRange shape,
                                                        ValueRange strides, ValueRange offsets, ArrayRef<int32_t> boundaryCheck) {
  BlockAccess out;
  auto wide = [&](mlir::Value v) { return b_.CreateSExt(useScalar(v), b_.getInt64Ty()); };
  for (int64_t r = 0; r < layout.numRegisters(); ++r) {
    Regs at = coordinates(position(layout, r), layout.shape());
    llvm::Value *offset = b_.getInt64(0), *inside = nullptr;
    for (size_t d = 0; d < at.size(); ++d) {
      llvm::Value* index = b_.CreateAdd(wide(offsets[d]), b_.CreateZExt(at[d], b_.getInt64Ty()));
      offset = b_.CreateAdd(offset, b_.CreateMul(index, wide(strides[d])));
      if (!llvm::is_contained(boundaryCheck, static_cast<int32_t>(d))) continue;
      llvm::Value* ok = b_.CreateAnd(b_.CreateICmpSGE(index, b_.getInt64(0)), b_.CreateICmpSLT(index, wide(shape[d])));
      inside = inside ? b_.CreateAnd(inside, ok) : ok;
    }
    out.pointers.push_back(b_.CreateGEP(element, useScalar(base), offset));
    out.inBounds.push_back(inside);
  }
  return out;
}

bool KernelLowering::lowerBlockMemory(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::BlockLoadOp>([&](auto o) { return lowerBlockLoad(o), true; })
      .Case<tile::BlockStoreOp>([&](auto o) {
        if (o->hasAttr("tgpu.tma")) return false;
        return lowerBlockStore(o), true;
      })
      .Default([](Operation*) { return false; });
}

void KernelLowering::lowerBlockLoad(tile::BlockLoadOp op) {
  llvm::Type* element = typeOf(op.getResult().getType());
  LinearLayout layout = layoutOf(op.getResult());
  BlockAccess access =
      blockAccess(layout, element, op.getBase(), op.getShape(), op.getStrides(), op.getOffsets(), op.getBoundaryCheck());
  llvm::Value* padding = llvm::Constant::getNullValue(element);
  if (op.getPadding() == tile::Padding::Nan) padding = llvm::ConstantFP::getQNaN(element);
  Regs out;
  for (auto [pointer, inside] : llvm::zip(access.pointers, access.inBounds)) {
    ptx::Values one = ptx::load(b_, element, 1, pointer, inside, {padding}, accessOptions(op.getCache(), op.getEvict()));
    out.push_back(one[0]);
  }
  define(op.getResult(), out);
}

void KernelLowering::lowerBlockStore(tile::BlockStoreOp op) {
  llvm::Type* element = typeOf(op.getValue().getType());
  LinearLayout layout = layoutOf(op.getValue());
  BlockAccess access = blockAccess(layout, element, op.getBase(), op.getShape(), op.getStrides(), op.getOffsets(), op.getBoundaryCheck());
  llvm::Value* owner = isOwner(layout);
  for (size_t r = 0; r < access.pointers.size(); ++r) {
    llvm::Value* predicate = access.inBounds[r];
    if (owner) predicate = predicate ? b_.CreateAnd(predicate, owner) : owner;
    if (op.getReduce())
      reduceElement(op, *op.getReduce(), access.pointers[r], use(op.getValue())[r], predicate);
    else
      ptx::store(b_, {use(op.getValue())[r]}, access.pointers[r], predicate, accessOptions(op.getCache(), op.getEvict()));
  }
}

}  // namespace tandem::lower::nvidia
