// tile.dot by multiply-adds of operands in shared memory. A thread reads what its results need of a few neighbours along
// K, multiplies, and goes on.
#include "compiler/lower/gpu/dot.h"
#include "compiler/lower/gpu/convert.h"
#include "compiler/lower/gpu/float_convert.h"
#include "compiler/lower/gpu/memory.h"
#include "compiler/lower/gpu/shared.h"
#include "compiler/layout/shared.h"

namespace tandem::lower::gpu {
using namespace mlir;
using layout::Dim;
namespace {

llvm::Value* multiplyAdd(KernelContext& cx, llvm::Value* a, llvm::Value* b, llvm::Value* total) {
  if (total->getType()->isIntegerTy()) return cx.b.CreateAdd(cx.b.CreateMul(a, b), total);
  return cx.b.CreateIntrinsic(llvm::Intrinsic::fma, {total->getType()}, {a, b, total});
}

Regs widened(KernelContext& cx, mlir::Value tile, mlir::Type wide) {
  mlir::Type element = cast<RankedTensorType>(tile.getType()).getElementType();
  Regs out = cx.use(tile);
  if (element == wide) return out;
  for (llvm::Value*& v : out)
    v = isa<FloatType>(element) ? convertFloat(cx, v, element, wide, false) : cx.b.CreateSExt(v, cx.typeOf(wide));
  return out;
}

// Rows in the order that copies to shared memory have: lanes that read one column of several rows find them in different
// banks.
LinearLayout offsetsOfScratch(ArrayRef<int64_t> shape, unsigned bits) {
  layout::Swizzle swizzle = layout::widestSwizzle(shape.back() * bits / 8);
  return swizzle == layout::Swizzle::None ? layout::plainOffsets(shape) : layout::swizzledOffsets(shape, bits, swizzle);
}

// Reads what a thread's results need of an operand, `step` elements along K at a time.
class OperandReader {
 public:
  // `across`: the dimension of the result that the operand has not; in the operand, along which the products are summed.
  OperandReader(KernelContext& cx, const SharedOperand& operand, const LinearLayout& result, unsigned across,
                int64_t step, llvm::Type* type)
      : cx_(cx), base_(operand.base), type_(type), bits_(cx.bitsOf(type)) {
    ArrayRef<int64_t> shape = operand.offsets.shape();
    const LinearLayout frame(shape);
    LinearLayout part = result.mapBases(shape, [&](uint64_t basis) {
      SmallVector<int64_t> at = result.coordinates(basis);
      at[across] = 0;
      return frame.position(at);
    });
    for (auto [i, basis] : llvm::enumerate(part.bases(Dim::Register)))
      if (basis) own_ |= uint64_t(1) << i;
    part = part.withoutZeroBases(Dim::Register);
    rows_ = part.numRegisters();
    LinearLayout steps(shape);
    for (int64_t k = 1; k < shape[across]; k *= 2)
      (k < step ? part : steps).mutableBases(Dim::Register).push_back(uint64_t(k) << frame.axisShift(across));
    placed_ = layout::offsetsOf(part, operand.offsets);
    steps_ = layout::offsetsOf(steps, operand.offsets);
    for (auto& group : layout::vectorGroups(placed_, layout::widestVector(placed_, bits_)))
      for (unsigned r : group) groupOf_[r] = group;
  }

  // Goes to the elements of step first + round * `each`.
  void begin(int64_t first, llvm::Value* round, int64_t each) {
    held_.clear();
    first_ = steps_.apply(Dim::Register, first);
    llvm::ArrayRef<uint64_t> ofRounds = steps_.bases(Dim::Register).drop_front(llvm::Log2_64(each));
    thread_ = cx_.b.CreateXor(cx_.threadPosition(placed_), xorOfMasks(cx_, round, ofRounds));
    threads_ = 0;
    for (llvm::ArrayRef<uint64_t> part : {placed_.bases(Dim::Lane), placed_.bases(Dim::Warp), ofRounds})
      for (uint64_t basis : part) threads_ |= basis;
  }

  // Element k of the step for the thread's result `reg`; read when it is first wanted, with its neighbours.
  llvm::Value* element(size_t reg, int64_t k) {
    size_t row = 0, place = 0;
    for (uint64_t left = own_; left; left &= left - 1, ++place)
      if (reg & (left & -left)) row |= size_t(1) << place;
    unsigned wanted = row + k * rows_;
    if (auto found = held_.find(wanted); found != held_.end()) return found->second;
    const auto& group = groupOf_.find(wanted)->second;
    uint64_t own = placed_.apply(Dim::Register, group.front()) ^ first_;
    llvm::Value* address = cx_.sharedElement(base_, thread_, own, threads_, bits_);
    for (auto [r, bits] : llvm::zip(group, cx_.loadShared(address, bits_, group.size())))
      held_[r] = cx_.fromBits(bits, type_);
    return held_[wanted];
  }

 private:
  KernelContext& cx_;
  llvm::Value *base_, *thread_ = nullptr;
  llvm::Type* type_;
  unsigned bits_;
  LinearLayout placed_, steps_;       // offsets of a step's elements, and of the steps
  uint64_t own_ = 0;                  // bits of a result's register that name its row or column
  uint64_t first_ = 0, threads_ = 0;  // the step's offset; bits of offsets that only a thread knows
  unsigned rows_ = 1;
  llvm::DenseMap<unsigned, llvm::SmallVector<unsigned, 8>> groupOf_;
  llvm::DenseMap<unsigned, llvm::Value*> held_;
};

}  // namespace

// Operands that lie in shared memory are read where they are; others are stored there, in the type that is summed: floats as
// float32 (float64 as such), integers as int32.
void lowerMultiplyAdd(KernelContext& cx, tile::DotOp op, PlaceOfOperand placeOf) {
  LinearLayout result = cx.layoutOf(op.getResult());
  mlir::Type accumulator = cast<RankedTensorType>(op.getAcc().getType()).getElementType();
  mlir::Type wide = accumulator.isF16() ? Float32Type::get(op.getContext()) : accumulator;
  llvm::Type *held = cx.typeOf(accumulator), *sum = cx.typeOf(wide);
  unsigned bits = cx.bitsOf(sum), rank = result.rank();

  std::optional<SharedOperand> operands[] = {placeOf(true), placeOf(false)};
  mlir::Value tiles[] = {op.getLhs(), op.getRhs()};
  int64_t bytes = 0;
  for (auto [operand, tile] : llvm::zip(operands, tiles))
    if (!operand) bytes += cx.layoutOf(tile).numElements() * bits / 8;
  if (bytes) {
    llvm::Value* base = cx.meetBeforeScratch(bytes, op.getLoc());
    for (auto [operand, tile] : llvm::zip(operands, tiles)) {
      if (operand) continue;
      LinearLayout given = cx.layoutOf(tile);
      operand = {base, offsetsOfScratch(given.shape(), bits)};
      storeTile(cx, base, given, operand->offsets, widened(cx, tile, wide));
      base = cx.b.CreateGEP(cx.b.getInt8Ty(), base, cx.b.getInt32(given.numElements() * bits / 8));
    }
    cx.emit.blockBarrier();
  }

  Regs totals = cx.use(op.getAcc());
  if (held != sum)
    for (llvm::Value*& v : totals) v = cx.b.CreateFPExt(v, sum);
  constexpr int64_t kWidest = 128, kMostTogether = 2048;
  int64_t depth = operands[0]->offsets.shape().back(), step = std::min<int64_t>(depth, kWidest / bits);
  // Code of so many multiply-adds lets the reads of some steps hide behind the work of others.
  int64_t steps = depth / step, each = steps;
  while (each > 1 && each * step * int64_t(totals.size()) > kMostTogether) each /= 2;
  OperandReader lhs(cx, *operands[0], result, rank - 1, step, sum), rhs(cx, *operands[1], result, rank - 2, step, sum);
  cx.repeat(totals, steps / each, [&](llvm::Value* round, Regs& acc) {
    for (int64_t first = 0; first < each; ++first) {
      lhs.begin(first, round, each);
      rhs.begin(first, round, each);
      for (int64_t k = 0; k < step; ++k)
        for (size_t r = 0; r < acc.size(); ++r) acc[r] = multiplyAdd(cx, lhs.element(r, k), rhs.element(r, k), acc[r]);
    }
  });
  if (held != sum)
    for (llvm::Value*& v : totals) v = cx.b.CreateFPTrunc(v, held);
  cx.define(op.getResult(), totals);
}

void registerDot(Lowerings& table) {
  table.on<tile::DotOp>([](KernelContext& cx, auto o) { lowerMultiplyAdd(cx, o, [](bool) { return std::nullopt; }); });
}

}  // namespace tandem::lower::gpu
