// cp.async: tiles that the block's own threads copy ahead into slots of shared memory, and reading them from there in
// any layout.
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/lower/nvidia/copies.h"
#include "compiler/layout/chunk_lines.h"
#include "compiler/layout/shape.h"
#include "compiler/lower/gpu/convert.h"
#include "compiler/lower/gpu/memory.h"
#include "compiler/lower/nvidia/matrix.h"
#include "compiler/lower/nvidia/ring.h"
#include "compiler/lower/nvidia/roles.h"

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;

// A take goes to the next slot first.
static void rewind(KernelContext& cx, Ring& ring) {
  if (!ring.slot[kFill]) makeCounters(cx, ring);
  ++cx.liveRings;
  if (cx.stagesInRings) ptx::waitBulk(cx.b, 0, true);
  cx.emit.blockBarrier();
  cx.b.CreateStore(cx.b.getInt32(0), ring.slot[kFill]);
  cx.b.CreateStore(cx.b.getInt32(ring.slots - 1), ring.slot[kTake]);
  for (Counter counter : {kFill, kTake}) cx.b.CreateStore(cx.b.getInt32(0), ring.parity[counter]);
}

// This thread's copies are done, then all threads' or its group's; and all have read the slot before, which the next copies fill.
void awaitCopies(KernelContext& cx, Ring& ring) {
  advance(cx, ring, kTake);
  ptx::waitCopies(cx.b, ring.ahead - 1);
  // The fence is of shared memory alone: one of all memory waits for the device, and for copies still under way.
  if (ring.feedsProducts) ptx::fenceProxyAsync(cx.b, ptx::ProxySpace::Shared);
  ring.isOfGroups ? groupBarrier(cx) : cx.emit.blockBarrier();
}

// Returns the layouts in which threads read the buffer; none where others reach it, too, or multiply-adds read it as they need it.
static std::vector<LinearLayout> readsOfThreads(KernelContext& cx, mlir::Value buffer) {
  std::vector<LinearLayout> reads;
  for (Operation* user : buffer.getUsers()) {
    if (isa<tgpu::CopyAsyncOp>(user)) continue;
    auto load = dyn_cast<tgpu::LocalLoadOp>(user);
    if (!load || load.getResult().use_empty()) return {};
    reads.push_back(cx.layoutOf(load.getResult()));
  }
  return reads;
}

LinearLayout offsetsIn(KernelContext& cx, mlir::Value buffer) {
  auto type = cast<tile::SmemType>(buffer.getType());
  const Buffer& place = cx.buffers.find(buffer)->second;
  llvm::SmallVector<unsigned> order;
  if (place.fastest) {
    order.push_back(*place.fastest);
    for (unsigned d = type.getShape().size(); d-- > 0;)
      if (d != *place.fastest) order.push_back(d);
  }
  if (!place.swizzle) return layout::plainOffsets(type.getShape(), order);
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  layout::Swizzle swizzle = layout::swizzleOfRow(place.swizzle);
  LinearLayout offsets = layout::swizzledOffsets(type.getShape(), bits, swizzle, order);
  if (swizzle != layout::Swizzle::Bytes128) return offsets;
  return layout::withFewestPasses(offsets, readsOfThreads(cx, buffer), bits);
}

static llvm::Value* elementAddress(KernelContext& cx, llvm::Value* base, const LinearLayout& placed, size_t reg,
                                   unsigned bits) {
  uint64_t threads = 0;
  for (Dim dim : {Dim::Lane, Dim::Warp})
    for (uint64_t basis : placed.bases(dim)) threads |= basis;
  return cx.sharedElement(base, cx.threadPosition(placed), placed.apply(reg, 0, 0, 0), threads, bits);
}

// The bytes of a copy of `vector` elements from register `reg` on that lie before element `end` of dimension `axis`;
// the hardware fills up with zeros.
static llvm::Value* bytesBefore(KernelContext& cx, llvm::Value* end, const LinearLayout& layout, size_t reg,
                                unsigned axis, size_t vector, unsigned bits) {
  auto clamp = [&](llvm::Value* v, int64_t most) {
    llvm::Type* type = v->getType();
    v = cx.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, llvm::ConstantInt::get(type, most));
    return cx.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, llvm::ConstantInt::get(type, 0));
  };
  llvm::Value* inTile = cx.b.CreateTrunc(clamp(end, layout.shape()[axis]), cx.b.getInt32Ty());
  llvm::Value* at = cx.coordinates(cx.position(layout, reg), layout.shape())[axis];
  return cx.b.CreateMul(clamp(cx.b.CreateSub(inTile, at), vector), cx.b.getInt32(bits / 8));
}

static void lowerCopyAsync(KernelContext& cx, tgpu::CopyAsyncOp op) {
  LinearLayout layout = cx.layoutOf(op.getPointer());
  unsigned bits = cx.bitsOf(cx.typeOf(cast<tile::SmemType>(op.getBuffer().getType()).getElementType()));
  tgpu::Neighbours known = *tgpu::neighboursOf(op);
  size_t vector = vectorLength(layout, known.count, bits, known.axis);
  int bytes = vector * bits / 8;
  LinearLayout placed = layout::offsetsOf(layout, offsetsIn(cx, op.getBuffer()));
  llvm::Value* base = cx.sharedAddress(slotOffset(cx, op.getBuffer(), op.getRing(), kFill));
  llvm::Value *owner = cx.isOwner(layout), *valid = cx.useScalar(op.getValid());
  if (owner) valid = cx.b.CreateAnd(valid, owner);
  uint64_t copies = layout.freeMask(Dim::Register);
  for (size_t r = 0; r < cx.registersOf(op.getPointer()); r += vector) {
    if (r & copies) continue;
    llvm::Value* read = nullptr;
    if (op.getEnd()) read = bytesBefore(cx, cx.useScalar(op.getEnd()), layout, r, known.axis, vector, bits);
    if (op.getMask()) {
      llvm::Value* mask = cx.pick(op.getMask(), r);
      read = read ? cx.b.CreateSelect(mask, read, cx.b.getInt32(0)) : mask;
    }
    ptx::copyAsync(cx.b, elementAddress(cx, base, placed, r, bits), cx.pick(op.getPointer(), r), bytes, read, valid);
  }
}

SharedOperand placeOf(KernelContext& cx, tgpu::SlotOperand operand) {
  LinearLayout offsets = offsetsIn(cx, operand.load.getBuffer());
  if (operand.transposed) offsets = layout::inferPermute(offsets, {1, 0});
  return {cx.sharedAddress(slotOffset(cx, operand.load.getBuffer(), operand.load.getRing(), kTake)), offsets};
}

// Other layouts are read where they are wanted: a result without uses is not.
static void lowerLocalLoad(KernelContext& cx, tgpu::LocalLoadOp op) {
  if (op.getResult().use_empty()) return;
  llvm::Type* element = cx.typeOf(op.getResult().getType());
  unsigned bits = cx.bitsOf(element);
  LinearLayout placed = layout::offsetsOf(cx.layoutOf(op.getResult()), offsetsIn(cx, op.getBuffer()));
  llvm::Value* base = cx.sharedAddress(slotOffset(cx, op.getBuffer(), op.getRing(), kTake));
  Regs out(placed.numRegisters());
  bool isStraight = layout::fitsMatrix(placed, bits, false);
  if (isStraight || layout::fitsMatrix(placed, bits, true)) {
    loadMatrices(cx, base, placed, out, bits, !isStraight);
  } else {
    for (const auto& group : layout::vectorGroups(placed, layout::widestVector(placed, bits)))
      for (auto [r, v] :
           llvm::zip(group, cx.loadShared(elementAddress(cx, base, placed, group[0], bits), bits, group.size())))
        out[r] = v;
  }
  repeatCopies(out, placed);
  for (llvm::Value*& v : out) v = cx.fromBits(v, element);
  cx.define(op.getResult(), std::move(out));
}

void registerCopies(Lowerings& table) {
  on<tgpu::CopyRingOp>(table, [](KernelContext&, auto) {});
  on<tgpu::RewindOp>(table, [](KernelContext& cx, auto o) { rewind(cx, cx.ringOf(o.getRing())); });
  on<tgpu::CopyAsyncOp>(table, [](KernelContext& cx, auto o) { lowerCopyAsync(cx, o); });
  on<tgpu::LocalLoadOp>(table, [](KernelContext& cx, auto o) { lowerLocalLoad(cx, o); });
}

}  // namespace tandem::lower::nvidia
