// cp.async: tiles that the block's own threads copy ahead into slots of shared memory, and reading them from there in any layout.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;

bool KernelLowering::lowerCopies(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tgpu::CopyRingOp>([](auto) { return true; })
      .Case<tgpu::RewindOp>([&](auto o) { return rewind(ringOf(o.getRing())), true; })
      .Case<tgpu::CopyAsyncOp>([&](auto o) { return lowerCopyAsync(o), true; })
      .Case<tgpu::LocalLoadOp>([&](auto o) { return lowerLocalLoad(o), true; })
      .Default([](Operation*) { return false; });
}

// A take goes to the next slot first.
void KernelLowering::rewind(Ring& ring) {
  if (!ring.slot[kFill]) makeCounters(ring);
  ++liveRings_;
  if (stagesInRings_) ptx::waitBulk(b_, 0, true);
  blockBarrier();
  b_.CreateStore(b_.getInt32(0), ring.slot[kFill]);
  b_.CreateStore(b_.getInt32(ring.slots - 1), ring.slot[kTake]);
  for (Counter counter : {kFill, kTake}) b_.CreateStore(b_.getInt32(0), ring.parity[counter]);
}

// This thread's copies are done, then all threads'; and all have read the slot before, which the next copies fill.
void KernelLowering::awaitCopies(Ring& ring) {
  advance(ring, kTake);
  ptx::waitCopies(b_, ring.ahead - 1);
  if (ring.feedsProducts) ptx::fenceProxyAsync(b_);
  blockBarrier();
}

LinearLayout KernelLowering::offsetsIn(mlir::Value buffer) const {
  auto type = cast<tile::SmemType>(buffer.getType());
  const Buffer& place = buffers_.find(buffer)->second;
  llvm::SmallVector<unsigned> order;
  if (place.fastest) {
    order.push_back(*place.fastest);
    for (unsigned d = type.getShape().size(); d-- > 0;)
      if (d != *place.fastest) order.push_back(d);
  }
  if (!place.swizzle) return layout::plainOffsets(type.getShape(), order);
  return layout::swizzledOffsets(type.getShape(), type.getElementType().getIntOrFloatBitWidth(),
                                 layout::swizzleOfRow(place.swizzle), order);
}

llvm::Value* KernelLowering::elementAddress(llvm::Value* base, const LinearLayout& placed, size_t reg, unsigned bits) {
  uint64_t threads = 0;
  for (Dim dim : {Dim::Lane, Dim::Warp})
    for (uint64_t basis : placed.bases(dim)) threads |= basis;
  return sharedElement(base, threadPosition(placed), placed.apply(reg, 0, 0, 0), threads, bits);
}

void KernelLowering::lowerCopyAsync(tgpu::CopyAsyncOp op) {
  LinearLayout layout = layoutOf(op.getPointer());
  unsigned bits = bitsOf(typeOf(cast<tile::SmemType>(op.getBuffer().getType()).getElementType()));
  auto neighbours = op->getAttrOfType<DenseI32ArrayAttr>("tgpu.vector");
  size_t vector = vectorLength(layout, neighbours[0], bits, neighbours[1]);
  int bytes = vector * bits / 8;
  LinearLayout placed = layout::offsetsOf(layout, offsetsIn(op.getBuffer()));
  llvm::Value* base = sharedAddress(slotOffset(op.getBuffer(), op.getRing(), kFill));
  llvm::Value *owner = isOwner(layout), *valid = useScalar(op.getValid());
  if (owner) valid = b_.CreateAnd(valid, owner);
  uint64_t copies = layout.freeMask(Dim::Register);
  for (size_t r = 0; r < registersOf(op.getPointer()); r += vector) {
    if (r & copies) continue;
    llvm::Value* read =
        op.getMask() ? b_.CreateSelect(pick(op.getMask(), r), b_.getInt32(bytes), b_.getInt32(0)) : nullptr;
    ptx::copyAsync(b_, elementAddress(base, placed, r, bits), pick(op.getPointer(), r), bytes, read, valid);
  }
}

// Other layouts are read where they are wanted: a result without uses is not.
void KernelLowering::lowerLocalLoad(tgpu::LocalLoadOp op) {
  if (op.getResult().use_empty()) return;
  llvm::Type* element = typeOf(op.getResult().getType());
  unsigned bits = bitsOf(element);
  LinearLayout placed = layout::offsetsOf(layoutOf(op.getResult()), offsetsIn(op.getBuffer()));
  llvm::Value* base = sharedAddress(slotOffset(op.getBuffer(), op.getRing(), kTake));
  Regs out(placed.numRegisters());
  bool isStraight = layout::fitsMatrix(placed, bits, false);
  if (isStraight || layout::fitsMatrix(placed, bits, true)) {
    loadMatrices(base, placed, out, bits, !isStraight);
  } else {
    for (const auto& group : layout::vectorGroups(placed, layout::widestVector(placed, bits)))
      for (auto [r, v] : llvm::zip(group, loadShared(elementAddress(base, placed, group[0], bits), bits, group.size())))
        out[r] = v;
  }
  repeatCopies(out, placed);
  for (llvm::Value*& v : out) v = fromBits(v, element);
  define(op.getResult(), std::move(out));
}

}  // namespace tandem::lower::nvidia
