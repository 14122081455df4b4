// tile.reduce: first each thread's registers, then the lanes of a warp by shuffles, then the warps through shared memory. Also calls of the
// scalar regions that reductions, scans and maps have.
#include "compiler/layout/distributed.h"
#include "compiler/layout/shape.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
namespace {

// The bits of the index in `dim` whose position bit belongs to `axis`.
SmallVector<unsigned> bitsAlong(const LinearLayout& layout, Dim dim, unsigned axis) {
  SmallVector<unsigned> out;
  for (auto [bit, basis] : llvm::enumerate(layout.bases(dim)))
    if (basis & layout.axisMask(axis)) out.push_back(bit);
  return out;
}

// The low bits of `index` at the places `bits`.
size_t spread(size_t index, ArrayRef<unsigned> bits) {
  size_t out = 0;
  for (auto [i, bit] : llvm::enumerate(bits)) out |= (index >> i & 1) << bit;
  return out;
}

// Returns true if each basis is nothing or a position bit of its own.
bool isPlain(const LinearLayout& layout) {
  uint64_t seen = 0;
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp})
    for (uint64_t basis : layout.bases(dim)) {
      if (basis && (!llvm::has_single_bit(basis) || (seen & basis))) return false;
      seen |= basis;
    }
  return true;
}

// Returns true if the results are the same to the last bit when the two sets of arguments are exchanged: each result is
// computed from two partners, none is an argument itself.
bool isSymmetric(Region& region) {
  Block& block = region.front();
  unsigned half = block.getNumArguments() / 2;
  if (llvm::any_of(block.getTerminator()->getOperands(), [](mlir::Value v) { return isa<BlockArgument>(v); })) return false;
  return llvm::all_of(block.without_terminator(), [&](Operation& op) {
    if (!op.hasTrait<OpTrait::IsCommutative>() || op.getNumOperands() != 2) return false;
    auto first = dyn_cast<BlockArgument>(op.getOperand(0)), second = dyn_cast<BlockArgument>(op.getOperand(1));
    return first && second && first.getOwner() == &block && second.getOwner() == &block &&
           std::max(first.getArgNumber(), second.getArgNumber()) ==
               std::min(first.getArgNumber(), second.getArgNumber()) + half;
  });
}

// Returns the reduction that the hardware does in one instruction: an int32 operation that is all of the region.
std::optional<ptx::WarpReduction> warpReductionOf(Region& region) {
  using R = ptx::WarpReduction;
  Block& block = region.front();
  if (block.getNumArguments() != 2 || !block.getArgument(0).getType().isInteger(32) || !llvm::hasNItems(block, 2))
    return std::nullopt;
  Operation &op = block.front(), &yield = block.back();
  bool onArguments =
      op.getNumOperands() == 2 && op.getOperand(0) != op.getOperand(1) &&
      llvm::all_of(op.getOperands(), [&](mlir::Value v) { return llvm::is_contained(block.getArguments(), v); });
  if (!onArguments || op.getNumResults() != 1 || yield.getOperand(0) != op.getResult(0)) return std::nullopt;
  return llvm::TypeSwitch<Operation*, std::optional<R>>(&op)
      .Case<arith::AddIOp>([](auto) { return R::Add; })
      .Case<arith::MinSIOp>([](auto) { return R::MinS32; })
      .Case<arith::MaxSIOp>([](auto) { return R::MaxS32; })
      .Case<arith::MinUIOp>([](auto) { return R::MinU32; })
      .Case<arith::MaxUIOp>([](auto) { return R::MaxU32; })
      .Case<arith::AndIOp>([](auto) { return R::And; })
      .Case<arith::OrIOp>([](auto) { return R::Or; })
      .Case<arith::XOrIOp>([](auto) { return R::Xor; })
      .Default([](Operation*) { return std::nullopt; });
}

}  // namespace

Regs KernelLowering::callRegion(Region& region, Scalars arguments) {
  Block& block = region.front();
  for (auto [parameter, value] : llvm::zip(block.getArguments(), arguments)) define(parameter, {value});
  lowerBlock(block);
  Regs out;
  for (mlir::Value v : block.getTerminator()->getOperands()) out.push_back(useScalar(v));
  places_.set(b_, region.getParentOp()->getLoc());
  return out;
}

Regs KernelLowering::combine(Region& region, const Regs& first, const Regs& second) {
  Regs arguments(first);
  arguments.append(second);
  return callRegion(region, arguments);
}

// A balanced tree, neighbours first.
Regs KernelLowering::combineAll(Region& region, Rows rows) {
  while (rows.size() > 1) {
    Rows next;
    for (size_t i = 0; i + 1 < rows.size(); i += 2) next.push_back(combine(region, rows[i], rows[i + 1]));
    if (rows.size() % 2) next.push_back(rows.back());
    rows = std::move(next);
  }
  return rows[0];
}

// The sources register by register, all in one layout whose bits along an axis can be told from the others.
LinearLayout KernelLowering::rowsOf(ValueRange sources, Rows& rows) {
  LinearLayout layout = layoutOf(sources[0]);
  if (!isPlain(layout)) layout = layout::defaultBlocked(layout.shape(), 32, numWarps_);
  rows.assign(layout.numRegisters(), {});
  for (mlir::Value source : sources) {
    Regs held = use(source);
    if (layoutOf(source) != layout)
      held = convertLayout(held, layoutOf(source), layout, typeOf(source.getType()), source.getLoc());
    for (auto [row, value] : llvm::zip(rows, held)) row.push_back(value);
  }
  return layout;
}

// The columns of `rows`, which are in `layout`, become the op's results in theirs.
void KernelLowering::defineRows(Operation* op, const Rows& rows, const LinearLayout& layout) {
  for (auto [k, result] : llvm::enumerate(op->getResults())) {
    Regs held;
    for (const Regs& row : rows) held.push_back(row[k]);
    bool isTile = isa<RankedTensorType>(result.getType());
    if (isTile && layoutOf(result) != layout)
      held = convertLayout(held, layout, layoutOf(result), typeOf(result.getType()), op->getLoc());
    define(result, held);
  }
}

bool KernelLowering::lowerReduction(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::ReduceOp>([&](auto o) { return lowerReduce(o), true; })
      .Case<tile::ScanOp>([&](auto o) { return lowerScan(o), true; })
      .Case<tile::MapElementwiseOp>([&](auto o) { return lowerMapElementwise(o), true; })
      .Default([](Operation*) { return false; });
}

void KernelLowering::lowerReduce(tile::ReduceOp op) {
  Rows rows;
  LinearLayout layout = rowsOf(op.getSources(), rows), reduced = layout::slice(layout, op.getAxis());
  rows = reduceRegisters(op, layout, rows);
  reduceLanes(op, layout, rows);
  if (!bitsAlong(layout, Dim::Warp, op.getAxis()).empty()) {
    // Other warps' values are read straight into the results' layout, if they have one in common.
    mlir::Value first = op.getResult(0);
    bool isTile = isa<RankedTensorType>(first.getType());
    bool isCommon =
        isTile && llvm::all_of(op.getResults(), [&](mlir::Value v) { return layoutOf(v) == layoutOf(first); });
    LinearLayout result = isCommon ? layoutOf(first) : reduced;
    rows = reduceWarps(op, layout, result, rows);
    reduced = result;
  }
  defineRows(op, rows, reduced);
}

// One row for each register of the reduced layout. Registers that hold copies are left out.
KernelLowering::Rows KernelLowering::reduceRegisters(tile::ReduceOp op, const LinearLayout& layout, const Rows& rows) {
  SmallVector<unsigned> along = bitsAlong(layout, Dim::Register, op.getAxis()), kept;
  for (auto [bit, basis] : llvm::enumerate(layout.bases(Dim::Register)))
    if (basis && !llvm::is_contained(along, bit)) kept.push_back(bit);
  Rows out;
  for (size_t q = 0; q < size_t(1) << kept.size(); ++q) {
    Rows together;
    for (size_t a = 0; a < size_t(1) << along.size(); ++a) together.push_back(rows[spread(q, kept) | spread(a, along)]);
    out.push_back(combineAll(op.getCombine(), std::move(together)));
  }
  return out;
}

// Afterwards all lanes that differ only along the axis hold the same, to the last bit: where the region may round otherwise with its
// arguments exchanged, both lanes of a pair put the lower one's first.
void KernelLowering::reduceLanes(tile::ReduceOp op, const LinearLayout& layout, Rows& rows) {
  SmallVector<unsigned> lanes = bitsAlong(layout, Dim::Lane, op.getAxis());
  std::optional<ptx::WarpReduction> whole = lanes.size() == 5 ? warpReductionOf(op.getCombine()) : std::nullopt;
  bool isOrdered = !isSymmetric(op.getCombine());
  for (Regs& row : rows) {
    if (whole) {
      row[0] = ptx::reduceWarp(b_, *whole, row[0]);
      continue;
    }
    for (unsigned bit : llvm::reverse(lanes)) {
      Regs other;
      for (llvm::Value* v : row) other.push_back(ptx::shuffle(b_, ptx::Shuffle::Butterfly, v, b_.getInt32(1 << bit)));
      if (isOrdered) {
        llvm::Value* isUpper = b_.CreateICmpNE(b_.CreateAnd(laneId(), 1 << bit), b_.getInt32(0));
        for (auto [lower, upper] : llvm::zip(row, other)) {
          llvm::Value* own = lower;
          lower = b_.CreateSelect(isUpper, upper, own);
          upper = b_.CreateSelect(isUpper, own, upper);
        }
      }
      row = combine(op.getCombine(), row, other);
    }
  }
}

// Every warp writes its values; a thread reads the values of all warps at the positions it holds in `result`.
KernelLowering::Rows KernelLowering::reduceWarps(tile::ReduceOp op, const LinearLayout& layout,
                                                 const LinearLayout& result, const Rows& rows) {
  SmallVector<unsigned> along = bitsAlong(layout, Dim::Warp, op.getAxis());
  int64_t warps = int64_t(1) << along.size();
  LinearLayout reduced = layout::slice(layout, op.getAxis());
  SmallVector<int64_t> shape(reduced.shape());
  shape.push_back(warps);
  LinearLayout partial = reduced.mapBases(shape, [&](uint64_t basis) { return basis * warps; });
  for (auto [i, bit] : llvm::enumerate(along)) partial.mutableBases(Dim::Warp)[bit] = uint64_t(1) << i;

  SmallVector<int64_t> begins;
  int64_t bytes = 0;
  for (llvm::Value* v : rows[0]) {
    begins.push_back(bytes);
    bytes += llvm::alignTo(partial.numElements() * bitsOf(v->getType()) / 8, 16);
  }
  llvm::Value* base = scratch(bytes, op.getLoc());
  auto addressOf = [&](size_t operand, llvm::Value* element) {
    unsigned width = bitsOf(rows[0][operand]->getType()) / 8;
    return b_.CreateGEP(b_.getInt8Ty(), base,
                        b_.CreateAdd(b_.CreateMul(element, b_.getInt32(width)), b_.getInt32(begins[operand])));
  };
  blockBarrier();
  when(isOwner(partial), [&] {
    for (auto [r, row] : llvm::enumerate(rows))
      for (auto [k, v] : llvm::enumerate(row)) storeShared(addressOf(k, position(partial, r)), {toBits(v)});
  });
  blockBarrier();
  Rows out;
  for (int64_t r = 0; r < result.numRegisters(); ++r) {
    llvm::Value* first = b_.CreateMul(position(result, r), b_.getInt32(warps));
    Rows parts(warps);
    for (size_t k = 0; k < rows[0].size(); ++k) {
      llvm::Type* type = rows[0][k]->getType();
      int64_t vector = std::min<int64_t>(warps, 128 / bitsOf(type));
      for (int64_t w = 0; w < warps; w += vector)
        for (auto [i, v] :
             llvm::enumerate(loadShared(addressOf(k, b_.CreateAdd(first, b_.getInt32(w))), bitsOf(type), vector)))
          parts[w + i].push_back(fromBits(v, type));
    }
    out.push_back(combineAll(op.getCombine(), std::move(parts)));
  }
  return out;
}

}  // namespace tandem::lower::nvidia
