// Blocks of strided tensors without TMA: every thread computes the addresses of its elements and whether they are
// inside; neighbours that are surely inside or outside together move in one access.
#include "compiler/lower/gpu/block_memory.h"
#include "compiler/lower/gpu/atomic.h"
#include "compiler/lower/gpu/memory.h"
#include "compiler/lower/gpu/read_modify_write.h"
#include <limits>
#include <map>

namespace tandem::lower::gpu {
using namespace mlir;
using layout::Dim;
namespace {

// The position bits that indices in these dimensions reach.
uint64_t imageOf(const LinearLayout& layout, std::initializer_list<Dim> dims) {
  uint64_t bits = 0;
  for (Dim dim : dims)
    for (uint64_t basis : layout.bases(dim)) bits |= basis;
  return bits;
}

// Returns true if runs of `count` registers begin at multiples of `count` along `axis`, in every thread.
bool startsAligned(const LinearLayout& layout, size_t count, unsigned axis) {
  uint64_t low = (uint64_t(count) - 1) << layout.axisShift(axis);
  auto rest = layout.bases(Dim::Register).drop_front(llvm::Log2_64(count));
  auto isClear = [&](uint64_t basis) { return (basis & low) == 0; };
  return llvm::all_of(rest, isClear) && llvm::all_of(layout.bases(Dim::Lane), isClear) &&
         llvm::all_of(layout.bases(Dim::Warp), isClear);
}

llvm::Value* paddingOf(llvm::Type* held, mlir::Type element, tile::Padding padding) {
  auto number = dyn_cast<FloatType>(element);
  if (padding == tile::Padding::Zero || !number) return llvm::Constant::getNullValue(held);
  llvm::APFloat nan = llvm::APFloat::getNaN(number.getFloatSemantics());
  if (held->isIntegerTy()) return llvm::ConstantInt::get(held, nan.bitcastToAPInt());
  return llvm::ConstantFP::get(held, nan);
}

// A block of a strided tensor in global memory.
struct GlobalBlock {
  mlir::Value base;
  mlir::ValueRange shape, strides, offsets;
  llvm::ArrayRef<int32_t> boundaryCheck;
  bool isDescriptor;
};

// Returns the number of registers that one access may take: neighbours in memory, aligned together, inside or outside
// together. A tensor descriptor promises a base and rows aligned to 16 bytes, and neighbours along the last dimension.
// With `wholeRows`, the size of the last dimension is taken to be a multiple of that number.
size_t blockVector(KernelContext& cx, const LinearLayout& layout, unsigned bits, const GlobalBlock& block,
                   bool wholeRows) {
  mlir::Value base = block.base;
  const analysis::AxisInfoAnalysis& axes = cx.axes(base.getParentRegion()->getParentOp());
  int64_t bytes = bits / 8, promised = block.isDescriptor ? 16 / bytes : 1;
  auto divisor = [&](mlir::Value v) { return axes.of(v).divisibility(0); };
  // A row that ends where 32-bit indices do has no end.
  constexpr int64_t kEndless = std::numeric_limits<int32_t>::max();
  auto isEndless = [&](mlir::Value size) { return axes.of(size).constant.value_or(0) >= kEndless; };
  auto isUnit = [&](unsigned d) {
    return (block.isDescriptor && d + 1 == layout.rank()) || axes.of(block.strides[d]).constant == 1;
  };
  for (unsigned axis = layout.rank(); axis-- > 0;) {
    if (!isUnit(axis)) continue;
    int64_t known = std::min(std::max(divisor(block.base) / bytes, promised), divisor(block.offsets[axis]));
    bool isWhole = wholeRows && axis + 1 == layout.rank();
    if (!isWhole && !isEndless(block.shape[axis]) &&
        llvm::is_contained(block.boundaryCheck, static_cast<int32_t>(axis)))
      known = std::min(known, divisor(block.shape[axis]));
    for (unsigned d = 0; d < layout.rank(); ++d)
      if (d != axis) known = std::min(known, std::max(divisor(block.strides[d]), promised));
    size_t count = vectorLength(layout, known, bits, axis);
    while (count > 1 && !startsAligned(layout, count, axis)) count /= 2;
    if (count > 1) return count;
  }
  return 1;
}

// Element addresses and in-bounds predicates (null: always), register by register.
struct BlockAccess {
  Regs pointers, inBounds;
};

// If the registers' and the threads' parts of positions do not overlap, an address is the thread's plus a multiple of
// strides.
BlockAccess blockAccess(KernelContext& cx, const LinearLayout& layout, llvm::Type* element, const GlobalBlock& block,
                        size_t vector) {
  bool separable = (imageOf(layout, {Dim::Register}) & imageOf(layout, {Dim::Lane, Dim::Warp})) == 0;
  unsigned rank = layout.rank();
  auto wide = [&](mlir::Value v) { return cx.b.CreateSExt(cx.useScalar(v), cx.b.getInt64Ty()); };
  Regs strides, limits(rank, nullptr);
  for (unsigned d = 0; d < rank; ++d) strides.push_back(wide(block.strides[d]));
  for (int32_t d : block.boundaryCheck)
    limits[d] = cx.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wide(block.shape[d]), cx.b.getInt64(0));
  auto indicesAt = [&](llvm::Value* at) {
    Regs indices = cx.coordinates(at, layout.shape());
    for (unsigned d = 0; d < rank; ++d)
      indices[d] = cx.b.CreateAdd(wide(block.offsets[d]), cx.b.CreateZExt(indices[d], cx.b.getInt64Ty()));
    return indices;
  };
  auto pointerAt = [&](llvm::Value* base, const Regs& indices) {
    llvm::Value* offset = cx.b.getInt64(0);
    for (unsigned d = 0; d < rank; ++d) offset = cx.b.CreateAdd(offset, cx.b.CreateMul(indices[d], strides[d]));
    return cx.b.CreateGEP(element, base, offset);
  };
  // A negative index is a large unsigned one.
  auto isInside = [&](unsigned d, llvm::Value* index) { return cx.b.CreateICmpULT(index, limits[d]); };

  Regs threadIndices = indicesAt(cx.threadPosition(layout));
  llvm::Value* threadPointer = pointerAt(cx.useScalar(block.base), threadIndices);
  std::map<std::pair<unsigned, int64_t>, llvm::Value*> decided;  // by dimension and the register's part of the index
  BlockAccess out{Regs(layout.numRegisters(), nullptr), Regs(layout.numRegisters(), nullptr)};
  for (size_t r = 0; r < out.pointers.size(); r += vector) {
    llvm::SmallVector<int64_t> own = layout.coordinates(layout.apply(r, 0, 0, 0));
    Regs indices(rank, nullptr);
    if (separable) {
      for (unsigned d = 0; d < rank; ++d) indices[d] = cx.b.getInt64(own[d]);
      out.pointers[r] = pointerAt(threadPointer, indices);
    } else {
      indices = indicesAt(cx.position(layout, r));
      out.pointers[r] = pointerAt(cx.useScalar(block.base), indices);
    }
    for (unsigned d = 0; d < rank; ++d) {
      if (!limits[d]) continue;
      llvm::Value* ok = nullptr;
      if (separable) {
        llvm::Value*& known = decided[{d, own[d]}];
        if (!known) known = isInside(d, cx.b.CreateAdd(threadIndices[d], indices[d]));
        ok = known;
      } else {
        ok = isInside(d, indices[d]);
      }
      out.inBounds[r] = out.inBounds[r] ? cx.b.CreateAnd(out.inBounds[r], ok) : ok;
    }
  }
  return out;
}

// Calls `body` with the number of registers that an access takes. Where more of them could move together if rows were
// whole numbers of accesses, the program looks whether they are: `body` is called twice, for either case.
void whenVector(KernelContext& cx, const LinearLayout& layout, unsigned bits, const GlobalBlock& block,
                llvm::function_ref<void(size_t)> body) {
  size_t surely = blockVector(cx, layout, bits, block, false), perhaps = blockVector(cx, layout, bits, block, true);
  if (perhaps <= surely) return body(surely);
  llvm::Value* size = cx.useScalar(block.shape.back());
  llvm::Value* rest = cx.b.CreateAnd(size, llvm::ConstantInt::get(size->getType(), perhaps - 1));
  llvm::Value* isWhole = cx.b.CreateICmpEQ(rest, llvm::ConstantInt::get(size->getType(), 0));
  cx.when(isWhole, [&] { body(perhaps); });
  cx.when(cx.b.CreateNot(isWhole), [&] { body(surely); });
}

void lowerBlockLoad(KernelContext& cx, tile::BlockLoadOp op) {
  llvm::Type* element = cx.typeOf(op.getResult().getType());
  LinearLayout layout = cx.layoutOf(op.getResult());
  GlobalBlock block{op.getBase(),    op.getShape(),         op.getStrides(),
                    op.getOffsets(), op.getBoundaryCheck(), op.getDescriptor()};
  llvm::Type* held = memoryType(cx, element);
  llvm::SmallVector<llvm::AllocaInst*> loaded;
  whenVector(cx, layout, cx.bitsOf(element), block, [&](size_t vector) {
    BlockAccess access = blockAccess(cx, layout, held, block, vector);
    Regs padding(vector, paddingOf(held, getElementTypeOrSelf(op.getType()), op.getPadding())), out;
    for (size_t r = 0; r < access.pointers.size(); r += vector)
      out.append(loadVector(cx, element, vector, access.pointers[r], access.inBounds[r], padding,
                            accessOptions(op.getCache(), op.getEvict())));
    for (size_t r = loaded.size(); r < out.size(); ++r) loaded.push_back(cx.temporary(out[r]->getType()));
    for (auto [value, to] : llvm::zip(out, loaded)) cx.b.CreateStore(value, to);
  });
  Regs out;
  for (llvm::AllocaInst* from : loaded) out.push_back(cx.b.CreateLoad(from->getAllocatedType(), from));
  cx.define(op.getResult(), out);
}

}  // namespace

void lowerBlockStore(KernelContext& cx, tile::BlockStoreOp op, const Regs& values) {
  llvm::Type* element = cx.typeOf(op.getValue().getType());
  LinearLayout layout = cx.layoutOf(op.getValue());
  GlobalBlock block{op.getBase(),    op.getShape(),         op.getStrides(),
                    op.getOffsets(), op.getBoundaryCheck(), op.getDescriptor()};
  uint64_t copies = layout.freeMask(Dim::Register);
  whenVector(cx, layout, cx.bitsOf(element), block, [&](size_t vector) {
    if (op.getReduce()) vector = updatedAtOnce(cx, *op.getReduce(), element, vector);
    BlockAccess access = blockAccess(cx, layout, memoryType(cx, element), block, vector);
    llvm::Value* owner = cx.isOwner(layout);
    for (size_t r = 0; r < access.pointers.size(); r += vector) {
      if (r & copies) continue;
      llvm::Value* predicate = access.inBounds[r];
      if (owner) predicate = predicate ? cx.b.CreateAnd(predicate, owner) : owner;
      Scalars neighbours = Scalars(values).slice(r, vector);
      if (op.getReduce())
        reduceElements(cx, op, *op.getReduce(), access.pointers[r], neighbours, predicate);
      else
        storeVector(cx, neighbours, access.pointers[r], predicate, accessOptions(op.getCache(), op.getEvict()));
    }
  });
}

void registerBlockMemory(Lowerings& table) {
  table.on<tile::BlockLoadOp>([](KernelContext& cx, auto o) { lowerBlockLoad(cx, o); });
  table.on<tile::BlockStoreOp>([](KernelContext& cx, auto o) {
    const Regs values = cx.use(o.getValue());
    lowerBlockStore(cx, o, values);
  });
}

}  // namespace tandem::lower::gpu
