// Shared-memory buffers of per-thread code: each has its place for the whole kernel.
#include "compiler/lower/gpu/simt_shared.h"
#include "compiler/lower/gpu/shared.h"

namespace tandem::lower::gpu {
using namespace mlir;

void allocateSmem(KernelContext& cx, func::FuncOp kernel) {
  kernel.walk([&](simt::SmemAllocOp op) {
    auto type = cast<tile::SmemType>(op.getType());
    int64_t bytes = cx.bitsOf(cx.typeOf(type.getElementType())) / 8;
    for (int64_t d : type.getShape()) bytes *= d;
    // Boxes that bulk copies swizzle begin at multiples of 1024 bytes.
    cx.smemOffsets[op.getResult()] = cx.allocateShared(bytes, bytes >= 1024 ? 1024 : 128);
  });
}

static llvm::Value* toGeneric(KernelContext& cx, llvm::Value* shared) {
  llvm::Value* generic = cx.b.CreateAddrSpaceCast(shared, cx.b.getPtrTy(0));
  return cx.b.CreateIntToPtr(cx.b.CreatePtrToInt(generic, cx.b.getInt64Ty()), cx.b.getPtrTy(1));
}

llvm::Value* fromGeneric(KernelContext& cx, llvm::Value* pointer) {
  llvm::Value* generic = cx.b.CreateIntToPtr(cx.b.CreatePtrToInt(pointer, cx.b.getInt64Ty()), cx.b.getPtrTy(0));
  return cx.b.CreateAddrSpaceCast(generic, cx.b.getPtrTy(3));
}

// The address of an element of a row-major buffer. In a swizzled one, vectors of a row change places by the row's
// phase.
static llvm::Value* smemElement(KernelContext& cx, mlir::Value buffer, Regs indices) {
  auto type = cast<tile::SmemType>(buffer.getType());
  mlir::Value whole = buffer;
  while (auto part = whole.getDefiningOp<simt::SmemIndexOp>()) whole = part.getBuffer();
  auto alloc = whole.getDefiningOp<simt::SmemAllocOp>();
  size_t rank = indices.size();
  if (alloc && alloc.getSwizzle() && rank > 1) {
    ArrayRef<int32_t> swizzle = *alloc.getSwizzle();
    llvm::Value* row = indices[rank - 2];
    llvm::Value* phase = cx.b.CreateURem(cx.b.CreateUDiv(row, cx.b.getInt32(swizzle[1])), cx.b.getInt32(swizzle[2]));
    indices[rank - 1] = cx.b.CreateXor(indices[rank - 1], cx.b.CreateMul(phase, cx.b.getInt32(swizzle[0])));
  }
  llvm::Value* offset = cx.b.getInt32(0);
  for (auto [index, size] : llvm::zip(indices, type.getShape()))
    offset = cx.b.CreateAdd(cx.b.CreateMul(offset, cx.b.getInt32(size)), index);
  int64_t bytes = cx.bitsOf(cx.typeOf(type.getElementType())) / 8;
  return cx.b.CreateGEP(cx.b.getInt8Ty(), cx.useScalar(buffer), cx.b.CreateMul(offset, cx.b.getInt32(bytes)));
}

// A buffer made again, in a loop, is the same place: nobody may still read the old contents.
static void lowerSmemAlloc(KernelContext& cx, simt::SmemAllocOp op) {
  llvm::Value* base = cx.sharedAddress(cx.smemOffsets.lookup(op.getResult()));
  cx.define(op.getResult(), {base});
  if (!op.getInit()) return;
  cx.emit.blockBarrier();
  storeRowMajor(cx, base, cx.layoutOf(op.getInit()), cx.use(op.getInit()));
  cx.emit.blockBarrier();
}

static void lowerSmemRead(KernelContext& cx, simt::SmemReadOp op) {
  LinearLayout layout = cx.layoutOf(op.getResult());
  LinearLayout placed = layout::offsetsOf(layout, layout::plainOffsets(layout.shape()));
  llvm::Type* element = cx.typeOf(op.getType());
  unsigned bits = cx.bitsOf(element);
  llvm::DenseMap<uint64_t, llvm::Value*> at;
  for (const auto& group : layout::vectorGroups(placed, layout::widestVector(placed, bits))) {
    llvm::Value* offset = cx.b.CreateMul(cx.position(placed, group[0]), cx.b.getInt32(bits / 8));
    Regs values =
        cx.loadShared(cx.b.CreateGEP(cx.b.getInt8Ty(), cx.useScalar(op.getBuffer()), offset), bits, group.size());
    for (auto [r, v] : llvm::zip(group, values)) at[layout.apply(r, 0, 0, 0)] = cx.fromBits(v, element);
  }
  Regs out;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) out.push_back(at.lookup(layout.apply(r, 0, 0, 0)));
  cx.define(op.getResult(), out);
}

template <class Op>
static llvm::Value* elementOf(KernelContext& cx, Op o) {
  Regs indices;
  for (mlir::Value v : o.getIndices()) indices.push_back(cx.useScalar(v));
  return smemElement(cx, o.getBuffer(), indices);
}

llvm::Value* ownShared(KernelContext& cx, mlir::Value pointer) {
  auto op = pointer.getDefiningOp<simt::SmemPtrOp>();
  return op ? elementOf(cx, op) : nullptr;
}

void registerSimtShared(Lowerings& table) {
  table.on<simt::SmemAllocOp>([](KernelContext& cx, auto o) { lowerSmemAlloc(cx, o); });
  table.on<simt::SmemReadOp>([](KernelContext& cx, auto o) { lowerSmemRead(cx, o); });
  table.on<simt::SmemLoadOp>([](KernelContext& cx, auto o) {
    llvm::Type* element = cx.typeOf(o.getType());
    cx.define(o.getResult(), {cx.fromBits(cx.loadShared(elementOf(cx, o), cx.bitsOf(element), 1)[0], element)});
  });
  table.on<simt::SmemStoreOp>(
      [](KernelContext& cx, auto o) { cx.storeShared(elementOf(cx, o), {cx.toBits(cx.useScalar(o.getValue()))}); });
  table.on<simt::SmemIndexOp>([](KernelContext& cx, auto o) {
    auto part = cast<tile::SmemType>(o.getType());
    int64_t bytes = cx.bitsOf(cx.typeOf(part.getElementType())) / 8;
    for (int64_t d : part.getShape()) bytes *= d;
    llvm::Value* offset = cx.b.CreateMul(cx.useScalar(o.getIndex()), cx.b.getInt32(bytes));
    cx.define(o.getResult(), {cx.b.CreateGEP(cx.b.getInt8Ty(), cx.useScalar(o.getBuffer()), offset)});
  });
  table.on<simt::SmemPtrOp>(
      [](KernelContext& cx, auto o) { cx.define(o.getResult(), {toGeneric(cx, elementOf(cx, o))}); });
  table.on<simt::SmemAtOp>([](KernelContext& cx, auto o) {
    cx.define(o.getResult(), {toGeneric(cx, cx.b.CreateIntToPtr(cx.useScalar(o.getAddress()), cx.b.getPtrTy(3)))});
  });
  table.on<simt::DynamicSmemOp>([](KernelContext& cx, auto o) {
    int64_t first = -1;
    o->template getParentOfType<func::FuncOp>().walk([&](simt::SmemAllocOp alloc) {
      if (first < 0) first = cx.smemOffsets.lookup(alloc.getResult());
    });
    if (first < 0) cx.places.fail(o.getLoc(), "unsupported", "the program has no shared-memory buffer");
    cx.define(o.getResult(), {toGeneric(cx, cx.sharedAddress(first))});
  });
}

}  // namespace tandem::lower::gpu
