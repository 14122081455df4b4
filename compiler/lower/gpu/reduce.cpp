// tile.reduce: first each thread's registers, then the lanes of a warp by shuffles, then the warps through shared
// memory.
#include "compiler/layout/distributed.h"
#include "compiler/layout/shape.h"
#include "compiler/lower/gpu/pairs.h"
#include "compiler/lower/gpu/region.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::gpu {
using namespace mlir;
using layout::Dim;
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

// Returns true if the results are the same to the last bit when the two sets of arguments are exchanged: each result is
// computed from two partners, none is an argument itself.
bool isSymmetric(Region& region) {
  Block& block = region.front();
  unsigned half = block.getNumArguments() / 2;
  if (llvm::any_of(block.getTerminator()->getOperands(), [](mlir::Value v) { return isa<BlockArgument>(v); }))
    return false;
  return llvm::all_of(block.without_terminator(), [&](Operation& op) {
    if (!op.hasTrait<OpTrait::IsCommutative>() || op.getNumOperands() != 2) return false;
    auto first = dyn_cast<BlockArgument>(op.getOperand(0)), second = dyn_cast<BlockArgument>(op.getOperand(1));
    return first && second && first.getOwner() == &block && second.getOwner() == &block &&
           std::max(first.getArgNumber(), second.getArgNumber()) ==
               std::min(first.getArgNumber(), second.getArgNumber()) + half;
  });
}

// Returns the reduction that the hardware does in one instruction: an int32 operation that is all of the region.
std::optional<WarpReduction> warpReductionOf(Region& region) {
  using R = WarpReduction;
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

// Returns true if rows are added that are products: added to a sum, a product is part of one instruction.
bool addsProducts(Region& region, ArrayRef<Regs> rows) {
  bool isSum = llvm::hasNItems(region.front(), 2) && isa<arith::AddFOp>(region.front().front()) && isSymmetric(region);
  return isSum && llvm::all_of(rows, [](const Regs& row) {
           auto* product = llvm::dyn_cast<llvm::BinaryOperator>(row[0]);
           return product && product->getOpcode() == llvm::Instruction::FMul && product->getType()->isFloatTy();
         });
}

// Does what combineAll does for rows that are products. A tree would need a multiplication of its own for half of them; here
// a few sums go on at once, and each product behind their first ones is part of an addition.
Regs addProducts(KernelContext& cx, Region& region, ArrayRef<Regs> rows, size_t sumsAtOnce) {
  Rows sums(rows.take_front(sumsAtOnce));
  for (auto [i, row] : llvm::enumerate(rows.drop_front(sums.size())))
    sums[i % sums.size()] = combine(cx, region, sums[i % sums.size()], row);
  return combineAll(cx, region, std::move(sums));
}

// Returns the intrinsic of a region that is the larger or the smaller of two floats.
llvm::Intrinsic::ID extremeOf(Region& region) {
  if (!llvm::hasNItems(region.front(), 2) || !isSymmetric(region)) return llvm::Intrinsic::not_intrinsic;
  return llvm::TypeSwitch<Operation*, llvm::Intrinsic::ID>(&region.front().front())
      .Case<arith::MaxNumFOp>([](auto) { return llvm::Intrinsic::maxnum; })
      .Case<arith::MinNumFOp>([](auto) { return llvm::Intrinsic::minnum; })
      .Case<arith::MaximumFOp>([](auto) { return llvm::Intrinsic::maximum; })
      .Case<arith::MinimumFOp>([](auto) { return llvm::Intrinsic::minimum; })
      .Default([](Operation*) { return llvm::Intrinsic::not_intrinsic; });
}

// The larger of numbers that were widened from 16 bits is the widened larger of the narrow ones, of which an instruction
// compares two and two where words hold them so. Empty where they do not, or where others want the wide numbers, too.
Regs narrowExtreme(KernelContext& cx, tile::ReduceOp op, ArrayRef<Regs> rows) {
  llvm::Intrinsic::ID extreme = extremeOf(op.getCombine());
  if (extreme == llvm::Intrinsic::not_intrinsic || rows.size() % 2 || rows.size() < 4) return {};
  if (!op.getSources()[0].hasOneUse()) return {};
  Regs vectors;
  for (size_t i = 0; i < rows.size(); i += 2) {
    auto *first = dyn_cast<llvm::FPExtInst>(rows[i][0]), *second = dyn_cast<llvm::FPExtInst>(rows[i + 1][0]);
    if (!first || !second || first->getSrcTy() != second->getSrcTy() || first->getSrcTy()->getScalarSizeInBits() != 16)
      return {};
    Regs pair{first->getOperand(0), second->getOperand(0)};
    if (!wordOf(pair)) return {};
    vectors.push_back(vectorOfPair(cx, pair));
  }
  while (vectors.size() > 1) {
    Regs next;
    for (size_t i = 0; i + 1 < vectors.size(); i += 2)
      next.push_back(cx.b.CreateBinaryIntrinsic(extreme, vectors[i], vectors[i + 1]));
    if (vectors.size() % 2) next.push_back(vectors.back());
    vectors = std::move(next);
  }
  llvm::Value *lower = cx.b.CreateExtractElement(vectors[0], uint64_t(0)),
              *upper = cx.b.CreateExtractElement(vectors[0], uint64_t(1));
  return {cx.b.CreateFPExt(cx.b.CreateBinaryIntrinsic(extreme, lower, upper), rows[0][0]->getType())};
}

}  // namespace

// One row for each register of the reduced layout. Registers that hold copies are left out.
static Rows reduceRegisters(KernelContext& cx, tile::ReduceOp op, const LinearLayout& layout, const Rows& rows) {
  SmallVector<unsigned> along = bitsAlong(layout, Dim::Register, op.getAxis()), kept;
  for (auto [bit, basis] : llvm::enumerate(layout.bases(Dim::Register)))
    if (basis && !llvm::is_contained(along, bit)) kept.push_back(bit);
  Rows out;
  for (size_t q = 0; q < size_t(1) << kept.size(); ++q) {
    Rows together;
    for (size_t a = 0; a < size_t(1) << along.size(); ++a) together.push_back(rows[spread(q, kept) | spread(a, along)]);
    constexpr size_t kSumsAtOnce = 4;
    if (Regs narrow = narrowExtreme(cx, op, together); !narrow.empty()) {
      out.push_back(narrow);
      continue;
    }
    out.push_back(addsProducts(op.getCombine(), together)
                      ? addProducts(cx, op.getCombine(), together, std::max<size_t>(1, kSumsAtOnce >> kept.size()))
                      : combineAll(cx, op.getCombine(), std::move(together)));
  }
  return out;
}

namespace {

// Lanes that differ in one bit exchange rows.
class Exchange {
 public:
  Exchange(KernelContext& cx, Region& region, unsigned bit) : cx_(cx), region_(region), mask_(1u << bit) {
    isUpper_ = cx.b.CreateICmpNE(cx.b.CreateAnd(cx.laneId(), mask_), cx.b.getInt32(0));
  }

  // Both lanes have the same afterwards, to the last bit, if the region is symmetric.
  Regs reduce(const Regs& row) { return combine(cx_, region_, row, shuffle(row)); }

  // Each lane keeps one of two rows.
  Regs deal(const Regs& lower, const Regs& upper) {
    return combine(cx_, region_, choose(upper, lower), shuffle(choose(lower, upper)));
  }

  // The two rows of which each lane has kept one.
  std::pair<Regs, Regs> collect(const Regs& kept) {
    Regs other = shuffle(kept);
    return {choose(other, kept), choose(kept, other)};
  }

 private:
  Regs shuffle(const Regs& row) {
    Regs out;
    for (llvm::Value* v : row) out.push_back(cx_.emit.shuffle(Shuffle::Butterfly, v, cx_.b.getInt32(mask_)));
    return out;
  }
  Regs choose(const Regs& ofUpper, const Regs& ofLower) {
    Regs out;
    for (auto [upper, lower] : llvm::zip(ofUpper, ofLower)) out.push_back(cx_.b.CreateSelect(isUpper_, upper, lower));
    return out;
  }
  KernelContext& cx_;
  Region& region_;
  unsigned mask_;
  llvm::Value* isUpper_;
};

}  // namespace

// Lanes may have rounded differently where the region is not symmetric. Then all lanes that differ in `bits` take the result
// of the first of them.
static void agree(KernelContext& cx, Region& region, ArrayRef<unsigned> bits, Rows& rows) {
  if (bits.empty() || isSymmetric(region)) return;
  unsigned mask = 0;
  for (unsigned bit : bits) mask |= 1u << bit;
  llvm::Value* first = cx.b.CreateAnd(cx.laneId(), cx.b.getInt32(~mask));
  for (Regs& row : rows)
    for (llvm::Value*& v : row) v = cx.emit.shuffle(Shuffle::Index, v, first);
}

// Rows are dealt to lanes as long as there are some to deal, which takes a shuffle for half of them (`layout::dealtSlice`).
// With `collects` all lanes that differ only along the axis hold the same in the end, to the last bit: from three bits of
// lanes on, to deal and to collect is less than a shuffle a row and bit. With `agrees` so do lanes that hold one row.
static void reduceLanes(KernelContext& cx, tile::ReduceOp op, const LinearLayout& layout, bool collects, bool agrees,
                        Rows& rows) {
  constexpr size_t kFewestBits = 3;
  SmallVector<unsigned> lanes = bitsAlong(layout, Dim::Lane, op.getAxis());
  bool isWhole = lanes.size() == llvm::Log2_32(cx.warpSize());
  std::optional<WarpReduction> whole = isWhole ? warpReductionOf(op.getCombine()) : std::nullopt;
  if (whole && (collects || rows.size() == 1) && llvm::all_of(rows, [&](Regs& row) {
        llvm::Value* reduced = cx.emit.reduceWarp(*whole, row[0]);
        if (reduced) row[0] = reduced;
        return reduced != nullptr;
      }))
    return;
  SmallVector<Exchange> dealt;
  SmallVector<unsigned> reduced;
  for (unsigned bit : llvm::reverse(lanes)) {
    Exchange exchange(cx, op.getCombine(), bit);
    if (rows.size() == 1 || (collects && lanes.size() < kFewestBits)) {
      for (Regs& row : rows) row = exchange.reduce(row);
      reduced.push_back(bit);
      continue;
    }
    Rows kept;
    for (size_t i = 0; i < rows.size(); i += 2) kept.push_back(exchange.deal(rows[i], rows[i + 1]));
    rows = std::move(kept);
    if (collects) dealt.push_back(exchange);
  }
  if (agrees) agree(cx, op.getCombine(), reduced, rows);
  for (Exchange& exchange : llvm::reverse(dealt)) {
    Rows all;
    for (const Regs& row : rows) {
      auto [lower, upper] = exchange.collect(row);
      all.push_back(lower);
      all.push_back(upper);
    }
    rows = std::move(all);
  }
}

// The bits of the lane by which lanes share the parts of `warps` warps for positions that all of them want: none where a
// thread reads few parts.
static SmallVector<unsigned> sharingLanes(const LinearLayout& result, int64_t warps) {
  constexpr int64_t kFewParts = 8;
  SmallVector<unsigned> out;
  if (result.numRegisters() * warps <= kFewParts) return out;
  for (auto [bit, basis] : llvm::enumerate(result.bases(Dim::Lane)))
    if (!basis && int64_t(1) << out.size() < warps) out.push_back(bit);
  return out;
}

// The elements in a row that neighbouring registers of a thread hold, the first of them in register 0.
static int64_t runOf(const LinearLayout& layout) {
  int64_t run = 1;
  for (uint64_t basis : layout.bases(Dim::Register)) {
    if (basis != uint64_t(run)) break;
    run *= 2;
  }
  return run;
}

// Returns true if each warp's values lie together in scratch memory, not those of all warps for one element: where a thread
// reads neighbours, and where lanes side by side read so far apart that they would wait for one another's banks.
static bool liesByWarps(const LinearLayout& result, int64_t warps) {
  constexpr int64_t kManyWarps = 8, kManyLanes = 8;
  int64_t lanes = int64_t(result.numLanes()) >> llvm::popcount(result.freeMask(Dim::Lane));
  return runOf(result) > 1 || (warps >= kManyWarps && lanes >= kManyLanes);
}

// Every warp writes its values; a thread reads the values of all warps at the positions it holds in `result`, or its part
// of them, and has the others' by shuffles.
static Rows reduceWarps(KernelContext& cx, tile::ReduceOp op, const LinearLayout& layout, const LinearLayout& reduced,
                        const LinearLayout& result, const Rows& rows) {
  SmallVector<unsigned> along = bitsAlong(layout, Dim::Warp, op.getAxis());
  int64_t warps = int64_t(1) << along.size();
  bool byWarps = liesByWarps(result, warps);
  SmallVector<int64_t> shape(reduced.shape());
  shape.insert(byWarps ? shape.begin() : shape.end(), warps);
  // How far apart elements lie, and the values of warps.
  int64_t ofElement = byWarps ? 1 : warps, ofWarp = byWarps ? reduced.numElements() : 1;
  LinearLayout partial = reduced.mapBases(shape, [&](uint64_t basis) { return basis * ofElement; });
  for (auto [i, bit] : llvm::enumerate(along)) partial.mutableBases(Dim::Warp)[bit] = uint64_t(ofWarp) << i;

  SmallVector<int64_t> begins;
  int64_t bytes = 0;
  for (llvm::Value* v : rows[0]) {
    begins.push_back(bytes);
    bytes += llvm::alignTo(partial.numElements() * cx.bitsOf(v->getType()) / 8, 16);
  }
  llvm::Value* base = cx.meetBeforeScratch(bytes, op.getLoc());
  auto addressOf = [&](size_t operand, llvm::Value* element) {
    unsigned width = cx.bitsOf(rows[0][operand]->getType()) / 8;
    return cx.b.CreateGEP(
        cx.b.getInt8Ty(), base,
        cx.b.CreateAdd(cx.b.CreateMul(element, cx.b.getInt32(width)), cx.b.getInt32(begins[operand])));
  };
  auto inOneAccess = [&](size_t operand, int64_t count) {
    return std::min<int64_t>(count, 128 / cx.bitsOf(rows[0][operand]->getType()));
  };
  cx.when(cx.isOwner(partial), [&] {
    for (size_t k = 0; k < rows[0].size(); ++k) {
      int64_t vector = inOneAccess(k, runOf(partial));
      for (size_t r = 0; r < rows.size(); r += vector) {
        Regs words;
        for (int64_t i = 0; i < vector; ++i) words.push_back(cx.toBits(rows[r + i][k]));
        cx.storeShared(addressOf(k, cx.position(partial, r)), words);
      }
    }
  });
  cx.emit.blockBarrier();
  SmallVector<Exchange> shared;
  llvm::Value* begin = cx.b.getInt32(0);
  SmallVector<unsigned> sharing = sharingLanes(result, warps);
  int64_t own = warps >> sharing.size();
  for (auto [i, bit] : llvm::enumerate(sharing)) {
    llvm::Value* isUpper = cx.b.CreateAnd(cx.b.CreateLShr(cx.laneId(), bit), 1);
    begin = cx.b.CreateAdd(begin, cx.b.CreateMul(isUpper, cx.b.getInt32(own << i)));
    shared.emplace_back(cx, op.getCombine(), bit);
  }
  begin = cx.b.CreateMul(begin, cx.b.getInt32(ofWarp));
  std::vector<Rows> parts(result.numRegisters(), Rows(own));
  for (size_t k = 0; k < rows[0].size(); ++k) {
    llvm::Type* type = rows[0][k]->getType();
    int64_t elements = byWarps ? inOneAccess(k, runOf(result)) : 1, ofWarps = byWarps ? 1 : inOneAccess(k, own);
    for (int64_t r = 0; r < result.numRegisters(); r += elements) {
      llvm::Value* first = cx.b.CreateAdd(cx.b.CreateMul(cx.position(result, r), cx.b.getInt32(ofElement)), begin);
      for (int64_t w = 0; w < own; w += ofWarps) {
        llvm::Value* address = addressOf(k, cx.b.CreateAdd(first, cx.b.getInt32(w * ofWarp)));
        for (auto [i, v] : llvm::enumerate(cx.loadShared(address, cx.bitsOf(type), elements * ofWarps)))
          parts[r + (byWarps ? i : 0)][w + (byWarps ? 0 : i)].push_back(cx.fromBits(v, type));
      }
    }
  }
  Rows out;
  for (Rows& ofOne : parts) {
    Regs row = combineAll(cx, op.getCombine(), std::move(ofOne));
    for (Exchange& exchange : shared) row = exchange.reduce(row);
    out.push_back(row);
  }
  agree(cx, op.getCombine(), sharing, out);
  return out;
}

static void lowerReduce(KernelContext& cx, tile::ReduceOp op) {
  Rows rows;
  LinearLayout layout = rowsOf(cx, op.getSources(), rows), dealt = layout::dealtSlice(layout, op.getAxis());
  rows = reduceRegisters(cx, op, layout, rows);
  bool isOverWarps = !bitsAlong(layout, Dim::Warp, op.getAxis()).empty();
  bool collects = !isOverWarps && llvm::any_of(op.getResults(), [&](mlir::Value v) {
    return !isa<RankedTensorType>(v.getType()) || cx.layoutOf(v) != dealt;
  });
  reduceLanes(cx, op, layout, collects, !isOverWarps, rows);
  LinearLayout reduced = collects ? layout::slice(layout, op.getAxis()) : dealt;
  if (isOverWarps) {
    // Other warps' values are read straight into the results' layout, if they have one in common.
    mlir::Value first = op.getResult(0);
    bool isTile = isa<RankedTensorType>(first.getType());
    bool isCommon =
        isTile && llvm::all_of(op.getResults(), [&](mlir::Value v) { return cx.layoutOf(v) == cx.layoutOf(first); });
    LinearLayout result = isCommon ? cx.layoutOf(first) : reduced;
    // Many sums that many threads want are put together once and then handed on.
    constexpr int64_t kMostParts = 32;
    int64_t warps = int64_t(1) << bitsAlong(layout, Dim::Warp, op.getAxis()).size();
    if (result.numRegisters() * warps > kMostParts)
      result = layout::defaultBlocked(result.shape(), 128, {result.numLanes(), result.numWarps()});
    rows = reduceWarps(cx, op, layout, reduced, result, rows);
    reduced = result;
  }
  defineRows(cx, op, rows, reduced);
}

void registerReduce(Lowerings& table) {
  table.on<tile::ReduceOp>([](KernelContext& cx, auto o) { lowerReduce(cx, o); });
}

}  // namespace tandem::lower::gpu
