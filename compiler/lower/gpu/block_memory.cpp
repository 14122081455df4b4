// Blocks of strided tensors without TMA: every thread computes the addresses of its elements and whether they are inside; neighbours that
// are surely inside or outside together move in one access.
#include "compiler/dialect/tgpu/bulk_store.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>
#include <map>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
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
  return llvm::all_of(rest, isClear) && llvm::all_of(layout.bases(Dim::Lane), isClear) && llvm::all_of(layout.bases(Dim::Warp), isClear);
}

llvm::Value* paddingOf(llvm::Type* held, mlir::Type element, tile::Padding padding) {
  auto number = dyn_cast<FloatType>(element);
  if (padding == tile::Padding::Zero || !number) return llvm::Constant::getNullValue(held);
  llvm::APFloat nan = llvm::APFloat::getNaN(number.getFloatSemantics());
  if (held->isIntegerTy()) return llvm::ConstantInt::get(held, nan.bitcastToAPInt());
  return llvm::ConstantFP::get(held, nan);
}

}  // namespace

// A tensor descriptor promises a base and rows aligned to 16 bytes, and neighbours along the last dimension.
size_t KernelLowering::blockVector(const LinearLayout& layout, unsigned bits, const GlobalBlock& block) {
  mlir::Value base = block.base;
  if (!axes_) axes_ = std::make_unique<analysis::AxisInfoAnalysis>(base.getParentRegion()->getParentOfType<func::FuncOp>());
  int64_t bytes = bits / 8, promised = block.isDescriptor ? 16 / bytes : 1;
  auto divisor = [&](mlir::Value v) { return axes_->of(v).divisibility(0); };
  auto isUnit = [&](unsigned d) { return (block.isDescriptor && d + 1 == layout.rank()) || axes_->of(block.strides[d]).constant == 1; };
  for (unsigned axis = layout.rank(); axis-- > 0;) {
    if (!isUnit(axis)) continue;
    int64_t known = std::min(std::max(divisor(block.base) / bytes, promised), divisor(block.offsets[axis]));
    if (llvm::is_contained(block.boundaryCheck, static_cast<int32_t>(axis))) known = std::min(known, divisor(block.shape[axis]));
    for (unsigned d = 0; d < layout.rank(); ++d)
      if (d != axis) known = std::min(known, std::max(divisor(block.strides[d]), promised));
    size_t count = vectorLength(layout, known, bits, axis);
    while (count > 1 && !startsAligned(layout, count, axis)) count /= 2;
    if (count > 1) return count;
  }
  return 1;
}

// If the registers' and the threads' parts of positions do not overlap, an address is the thread's plus a multiple of
// strides.
KernelLowering::BlockAccess KernelLowering::blockAccess(const LinearLayout& layout, llvm::Type* element, const GlobalBlock& block,
                                                        size_t vector) {
  bool separable = (imageOf(layout, {Dim::Register}) & imageOf(layout, {Dim::Lane, Dim::Warp})) == 0;
  unsigned rank = layout.rank();
  auto wide = [&](mlir::Value v) { return b_.CreateSExt(useScalar(v), b_.getInt64Ty()); };
  Regs strides, limits(rank, nullptr);
  for (unsigned d = 0; d < rank; ++d) strides.push_back(wide(block.strides[d]));
  for (int32_t d : block.boundaryCheck)
    limits[d] = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wide(block.shape[d]), b_.getInt64(0));
  auto indicesAt = [&](llvm::Value* at) {
    Regs indices = coordinates(at, layout.shape());
    for (unsigned d = 0; d < rank; ++d) indices[d] = b_.CreateAdd(wide(block.offsets[d]), b_.CreateZExt(indices[d], b_.getInt64Ty()));
    return indices;
  };
  auto pointerAt = [&](llvm::Value* base, const Regs& indices) {
    llvm::Value* offset = b_.getInt64(0);
    for (unsigned d = 0; d < rank; ++d) offset = b_.CreateAdd(offset, b_.CreateMul(indices[d], strides[d]));
    return b_.CreateGEP(element, base, offset);
  };
  // A negative index is a large unsigned one.
  auto isInside = [&](unsigned d, llvm::Value* index) { return b_.CreateICmpULT(index, limits[d]); };

  Regs threadIndices = indicesAt(threadPosition(layout));
  llvm::Value* threadPointer = pointerAt(useScalar(block.base), threadIndices);
  std::map<std::pair<unsigned, int64_t>, llvm::Value*> decided;  // by dimension and the register's part of the index
  BlockAccess out{Regs(layout.numRegisters(), nullptr), Regs(layout.numRegisters(), nullptr)};
  for (size_t r = 0; r < out.pointers.size(); r += vector) {
    llvm::SmallVector<int64_t> own = layout.coordinates(layout.apply(r, 0, 0, 0));
    Regs indices(rank, nullptr);
    if (separable) {
      for (unsigned d = 0; d < rank; ++d) indices[d] = b_.getInt64(own[d]);
      out.pointers[r] = pointerAt(threadPointer, indices);
    } else {
      indices = indicesAt(position(layout, r));
      out.pointers[r] = pointerAt(useScalar(block.base), indices);
    }
    for (unsigned d = 0; d < rank; ++d) {
      if (!limits[d]) continue;
      llvm::Value* ok = nullptr;
      if (separable) {
        llvm::Value*& known = decided[{d, own[d]}];
        if (!known) known = isInside(d, b_.CreateAdd(threadIndices[d], indices[d]));
        ok = known;
      } else {
        ok = isInside(d, indices[d]);
      }
      out.inBounds[r] = out.inBounds[r] ? b_.CreateAnd(out.inBounds[r], ok) : ok;
    }
  }
  return out;
}

bool KernelLowering::lowerBlockMemory(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::BlockLoadOp>([&](auto o) { return lowerBlockLoad(o), true; })
      .Case<tile::BlockStoreOp>([&](auto o) {
        if (tgpu::isBulk(o)) return false;
        return lowerBlockStore(o), true;
      })
      .Default([](Operation*) { return false; });
}

void KernelLowering::lowerBlockLoad(tile::BlockLoadOp op) {
  llvm::Type* element = typeOf(op.getResult().getType());
  LinearLayout layout = layoutOf(op.getResult());
  GlobalBlock block{op.getBase(), op.getShape(), op.getStrides(), op.getOffsets(), op.getBoundaryCheck(), op.getDescriptor()};
  size_t vector = blockVector(layout, bitsOf(element), block);
  llvm::Type* held = memoryType(element);
  BlockAccess access = blockAccess(layout, held, block, vector);
  Regs padding(vector, paddingOf(held, getElementTypeOrSelf(op.getType()), op.getPadding())), out;
  for (size_t r = 0; r < access.pointers.size(); r += vector)
    out.append(loadVector(element, vector, access.pointers[r], access.inBounds[r], padding, accessOptions(op.getCache(), op.getEvict())));
  define(op.getResult(), out);
}

void KernelLowering::lowerBlockStore(tile::BlockStoreOp op) {
  llvm::Type* element = typeOf(op.getValue().getType());
  LinearLayout layout = layoutOf(op.getValue());
  GlobalBlock block{op.getBase(), op.getShape(), op.getStrides(), op.getOffsets(), op.getBoundaryCheck(), op.getDescriptor()};
  size_t vector = blockVector(layout, bitsOf(element), block);
  if (op.getReduce()) vector = updatedAtOnce(*op.getReduce(), element, vector);
  BlockAccess access = blockAccess(layout, memoryType(element), block, vector);
  llvm::Value* owner = isOwner(layout);
  uint64_t copies = layout.freeMask(Dim::Register);
  const Regs values = use(op.getValue());
  for (size_t r = 0; r < access.pointers.size(); r += vector) {
    if (r & copies) continue;
    llvm::Value* predicate = access.inBounds[r];
    if (owner) predicate = predicate ? b_.CreateAnd(predicate, owner) : owner;
    Scalars neighbours = Scalars(values).slice(r, vector);
    if (op.getReduce())
      reduceElements(op, *op.getReduce(), access.pointers[r], neighbours, predicate);
    else
      storeVector(neighbours, access.pointers[r], predicate, accessOptions(op.getCache(), op.getEvict()));
  }
}

}  // namespace tandem::lower::nvidia
