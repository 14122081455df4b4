// Shared-memory buffers of per-thread code: each has its place for the whole kernel.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::LinearLayout;

void KernelLowering::allocateSmem(func::FuncOp kernel) {
  kernel.walk([&](simt::SmemAllocOp op) {
    auto type = cast<tile::SmemType>(op.getType());
    int64_t bytes = bitsOf(typeOf(type.getElementType())) / 8;
    for (int64_t d : type.getShape()) bytes *= d;
    // Boxes that bulk copies swizzle begin at multiples of 1024 bytes.
    buffers_[op.getResult()] = {allocateShared(bytes, bytes >= 1024 ? 1024 : 128), bytes, 0, std::nullopt};
  });
}

llvm::Value* KernelLowering::toGeneric(llvm::Value* shared) {
  llvm::Value* generic = b_.CreateAddrSpaceCast(shared, b_.getPtrTy(0));
  return b_.CreateIntToPtr(b_.CreatePtrToInt(generic, b_.getInt64Ty()), b_.getPtrTy(1));
}

llvm::Value* KernelLowering::fromGeneric(llvm::Value* pointer) {
  llvm::Value* generic = b_.CreateIntToPtr(b_.CreatePtrToInt(pointer, b_.getInt64Ty()), b_.getPtrTy(0));
  return b_.CreateAddrSpaceCast(generic, b_.getPtrTy(3));
}

// The address of an element of a row-major buffer. In a swizzled one, vectors of a row change places by the row's phase.
llvm::Value* KernelLowering::smemElement(mlir::Value buffer, Regs indices) {
  auto type = cast<tile::SmemType>(buffer.getType());
  mlir::Value whole = buffer;
  while (auto part = whole.getDefiningOp<simt::SmemIndexOp>()) whole = part.getBuffer();
  auto alloc = whole.getDefiningOp<simt::SmemAllocOp>();
  size_t rank = indices.size();
  if (alloc && alloc.getSwizzle() && rank > 1) {
    ArrayRef<int32_t> swizzle = *alloc.getSwizzle();
    llvm::Value* row = indices[rank - 2];
    llvm::Value* phase = b_.CreateURem(b_.CreateUDiv(row, b_.getInt32(swizzle[1])), b_.getInt32(swizzle[2]));
    indices[rank - 1] = b_.CreateXor(indices[rank - 1], b_.CreateMul(phase, b_.getInt32(swizzle[0])));
  }
  llvm::Value* offset = b_.getInt32(0);
  for (auto [index, size] : llvm::zip(indices, type.getShape())) offset = b_.CreateAdd(b_.CreateMul(offset, b_.getInt32(size)), index);
  int64_t bytes = bitsOf(typeOf(type.getElementType())) / 8;
  return b_.CreateGEP(b_.getInt8Ty(), useScalar(buffer), b_.CreateMul(offset, b_.getInt32(bytes)));
}

bool KernelLowering::lowerSimtShared(Operation* op) {
  auto at = [&](auto o) {
    Regs indices;
    for (mlir::Value v : o.getIndices()) indices.push_back(useScalar(v));
    return smemElement(o.getBuffer(), indices);
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<simt::SmemAllocOp>([&](auto o) { return lowerSmemAlloc(o), true; })
      .Case<simt::SmemReadOp>([&](auto o) { return lowerSmemRead(o), true; })
      .Case<simt::SmemLoadOp>([&](auto o) {
        llvm::Type* element = typeOf(o.getType());
        return define(o.getResult(), {fromBits(loadShared(at(o), bitsOf(element), 1)[0], element)}), true;
      })
      .Case<simt::SmemStoreOp>([&](auto o) { return storeShared(at(o), {toBits(useScalar(o.getValue()))}), true; })
      .Case<simt::SmemIndexOp>([&](auto o) {
        auto part = cast<tile::SmemType>(o.getType());
        int64_t bytes = bitsOf(typeOf(part.getElementType())) / 8;
        for (int64_t d : part.getShape()) bytes *= d;
        llvm::Value* offset = b_.CreateMul(useScalar(o.getIndex()), b_.getInt32(bytes));
        return define(o.getResult(), {b_.CreateGEP(b_.getInt8Ty(), useScalar(o.getBuffer()), offset)}), true;
      })
      .Case<simt::SmemPtrOp>([&](auto o) { return define(o.getResult(), {toGeneric(at(o))}), true; })
      .Case<simt::SmemAtOp>([&](auto o) {
        return define(o.getResult(), {toGeneric(b_.CreateIntToPtr(useScalar(o.getAddress()), b_.getPtrTy(3)))}), true;
      })
      .Case<simt::DynamicSmemOp>([&](auto o) {
        int64_t first = -1;
        o->template getParentOfType<func::FuncOp>().walk([&](simt::SmemAllocOp alloc) {
          if (first < 0) first = buffers_.find(alloc.getResult())->second.offset;
        });
        if (first < 0) places_.fail(o.getLoc(), "unsupported", "the program has no shared-memory buffer");
        return define(o.getResult(), {toGeneric(sharedAddress(first))}), true;
      })
      .Default([](Operation*) { return false; });
}

// A buffer made again, in a loop, is the same place: nobody may still read the old contents.
void KernelLowering::lowerSmemAlloc(simt::SmemAllocOp op) {
  llvm::Value* base = sharedAddress(buffers_.find(op.getResult())->second.offset);
  define(op.getResult(), {base});
  if (!op.getInit()) return;
  blockBarrier();
  storeRowMajor(base, layoutOf(op.getInit()), use(op.getInit()));
  blockBarrier();
}

void KernelLowering::lowerSmemRead(simt::SmemReadOp op) {
  LinearLayout layout = layoutOf(op.getResult());
  LinearLayout placed = layout::offsetsOf(layout, layout::plainOffsets(layout.shape()));
  llvm::Type* element = typeOf(op.getType());
  unsigned bits = bitsOf(element);
  llvm::DenseMap<uint64_t, llvm::Value*> at;
  for (const auto& group : layout::vectorGroups(placed, layout::widestVector(placed, bits))) {
    llvm::Value* offset = b_.CreateMul(position(placed, group[0]), b_.getInt32(bits / 8));
    Regs values = loadShared(b_.CreateGEP(b_.getInt8Ty(), useScalar(op.getBuffer()), offset), bits, group.size());
    for (auto [r, v] : llvm::zip(group, values)) at[layout.apply(r, 0, 0, 0)] = fromBits(v, element);
  }
  Regs out;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) out.push_back(at.lookup(layout.apply(r, 0, 0, 0)));
  define(op.getResult(), out);
}

}  // namespace tandem::lower::nvidia
