// This pass matches a carried fold, then changes the loop's carried value in place. Layouts are known, so that it is known
// what a thread can fold alone.
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/layout/shape.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::gpu {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
#define GEN_PASS_DEF_DEFERREDUCTIONS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr int64_t kMostWords = 16;  // that a thread carries for one fold

std::optional<arith::AtomicRMWKind> kindOf(Operation* op) {
  using Kind = arith::AtomicRMWKind;
  if (isa<arith::AddFOp>(op)) return Kind::addf;
  if (isa<arith::AddIOp>(op)) return Kind::addi;
  if (isa<arith::MaximumFOp>(op)) return Kind::maximumf;
  if (isa<arith::MinimumFOp>(op)) return Kind::minimumf;
  if (isa<arith::MaxNumFOp>(op)) return Kind::maxnumf;
  if (isa<arith::MinNumFOp>(op)) return Kind::minnumf;
  if (isa<arith::MaxSIOp>(op)) return Kind::maxs;
  if (isa<arith::MinSIOp>(op)) return Kind::mins;
  if (isa<arith::MaxUIOp>(op)) return Kind::maxu;
  if (isa<arith::MinUIOp>(op)) return Kind::minu;
  if (isa<arith::OrIOp>(op)) return Kind::ori;
  if (isa<arith::AndIOp>(op)) return Kind::andi;
  return std::nullopt;
}

// Returns true if the fold's step is `link` of two scalars.
bool foldsWith(tile::ReduceOp fold, Operation* link) {
  Block& step = fold.getCombine().front();
  Operation& first = step.front();
  return fold.getSources().size() == 1 && first.getName() == link->getName() && step.getOperations().size() == 2 &&
         step.back().getOperand(0) == first.getResult(0) && first.getOperand(0) != first.getOperand(1) &&
         isa<BlockArgument>(first.getOperand(0)) && isa<BlockArgument>(first.getOperand(1));
}

// The places along a fold's axis.
struct Axis {
  uint64_t alone = 0;    // bits of the position that a thread folds without others
  uint64_t between = 0;  // bits that differ between threads
};

std::optional<Axis> axisOf(const LinearLayout& layout, unsigned axis) {
  Axis found;
  uint64_t mask = layout.axisMask(axis);
  for (uint64_t basis : layout.bases(Dim::Register))
    if (basis & mask && llvm::isPowerOf2_64(basis)) found.alone |= basis;
  found.between = mask & ~found.alone;
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp})
    for (uint64_t basis : layout.bases(dim))
      if (!llvm::isPowerOf2_64(basis) && basis & found.alone) return std::nullopt;
  auto meets = [&](uint64_t basis) { return basis & found.between; };
  if (!llvm::any_of(layout.bases(Dim::Lane), meets) && !llvm::any_of(layout.bases(Dim::Warp), meets))
    return std::nullopt;
  return found;
}

struct Fold {
  unsigned index = 0;  // among the loop's carried values
  SmallVector<std::pair<Operation*, tile::ReduceOp>> links;
};

class Deferral {
 public:
  explicit Deferral(scf::ForOp loop) : loop_(loop) {}

  void apply() {
    for (auto [i, argument] : llvm::enumerate(loop_.getRegionIterArgs()))
      if (std::optional<Fold> fold = match(i, argument)) defer(*fold);
  }

 private:
  // From the carried value to the loop's end nobody looks at it.
  std::optional<Fold> match(unsigned index, BlockArgument argument) {
    Fold found{index, {}};
    Value value = argument;
    while (value.hasOneUse()) {
      OpOperand& use = *value.use_begin();
      Operation* link = use.getOwner();
      if (link == loop_.getBody()->getTerminator())
        return use.getOperandNumber() == index && !found.links.empty() ? std::optional(found) : std::nullopt;
      if (link->getBlock() != loop_.getBody() || !kindOf(link)) return std::nullopt;
      tile::ReduceOp fold = foldAt(link->getOperand(1 - use.getOperandNumber()));
      if (!fold || fold->getBlock() != loop_.getBody() || !foldsWith(fold, link)) return std::nullopt;
      tile::ReduceOp like = found.links.empty() ? fold : found.links.front().second;
      if (!found.links.empty() && link->getName() != found.links.front().first->getName()) return std::nullopt;
      if (fold.getAxis() != like.getAxis() || sourceOf(fold).getType() != sourceOf(like).getType() ||
          tgpu::layoutOf(sourceOf(fold)) != tgpu::layoutOf(sourceOf(like)))
        return std::nullopt;
      found.links.emplace_back(link, fold);
      value = link->getResult(0);
    }
    return std::nullopt;
  }

  // The fold that only this value is for, whatever layout it is wanted in.
  static tile::ReduceOp foldAt(Value added) {
    auto convert = added.getDefiningOp<tgpu::ConvertLayoutOp>();
    if (convert && convert->hasOneUse()) added = convert.getSource();
    auto fold = added.getDefiningOp<tile::ReduceOp>();
    return fold && fold->hasOneUse() ? fold : nullptr;
  }

  static Value sourceOf(tile::ReduceOp fold) { return fold.getSources()[0]; }

  void defer(const Fold& fold) {
    auto [first, like] = fold.links.front();
    std::optional<Axis> axis = axisOf(tgpu::layoutOf(sourceOf(like)), like.getAxis());
    if (!axis) return;
    LinearLayout parts = layoutOfParts(like, *axis);
    auto element = cast<RankedTensorType>(sourceOf(like).getType()).getElementType();
    if (parts.numRegisters() * std::max(1u, element.getIntOrFloatBitWidth() / 32) > kMostWords) return;

    OpBuilder before(loop_), behind(loop_->getNextNode());
    auto type = RankedTensorType::get(parts.shape(), element);
    TypedAttr neutral = arith::getIdentityValueAttr(*kindOf(first), element, before, loop_.getLoc());
    OpOperand& init = loop_.getInitArgsMutable()[fold.index];
    Value start = init.get(), result = loop_.getResult(fold.index);
    std::optional<LinearLayout> wanted;
    if (isa<RankedTensorType>(result.getType())) wanted = tgpu::layoutOf(result);
    auto constant = arith::ConstantOp::create(before, loop_.getLoc(), DenseElementsAttr::get(type, Attribute(neutral)));
    tgpu::setLayout(constant, parts);
    init.set(constant);
    result.setType(type);
    tgpu::setLayout(result, parts);
    Value carried = loop_.getRegionIterArg(fold.index);
    carried.setType(type);

    Value whole = reduced(like, result, like.getAxis(), behind);
    Operation* folded = whole.getDefiningOp();
    if (wanted && tgpu::layoutOf(whole) != *wanted) {
      whole = tgpu::ConvertLayoutOp::create(behind, loop_.getLoc(), whole.getType(), whole);
      tgpu::setLayout(whole, *wanted);
    }
    Value last = linked(first, start, whole, behind);
    result.replaceUsesWithIf(last, [&](OpOperand& use) { return use.getOwner() != folded; });
    if (wanted) tgpu::setLayout(last, *wanted);

    for (auto [link, added] : fold.links) {
      OpBuilder b(link);
      Value next = linked(link, carried, alone(added, *axis, b), b);
      tgpu::setLayout(next, parts);
      link->getResult(0).replaceAllUsesWith(next);
      carried = next;
    }
    for (auto [link, added] : fold.links) {
      Operation* user = *added->user_begin();
      link->erase();
      if (user != link) user->erase();
      added->erase();
    }
  }

  static Value linked(Operation* like, Value left, Value right, OpBuilder& b) {
    OperationState state(like->getLoc(), like->getName(), ValueRange{left, right}, TypeRange{left.getType()});
    state.propertiesAttr = like->getPropertiesAsAttribute();
    return b.create(state)->getResult(0);
  }

  // Neighbouring bits of the axis that are alike become dimensions: {size, whether a thread folds it alone}.
  static SmallVector<std::pair<int64_t, bool>> runs(const LinearLayout& layout, unsigned axis, const Axis& of) {
    SmallVector<std::pair<int64_t, bool>> found;
    uint64_t mask = layout.axisMask(axis);
    for (uint64_t bit = uint64_t(1) << layout.positionBits(); bit; bit >>= 1) {
      if (!(bit & mask)) continue;
      bool isAlone = bit & of.alone;
      if (found.empty() || found.back().second != isAlone) found.emplace_back(1, isAlone);
      found.back().first *= 2;
    }
    return found;
  }

  static LinearLayout layoutOfParts(tile::ReduceOp fold, const Axis& of) {
    LinearLayout layout = tgpu::layoutOf(sourceOf(fold));
    auto dims = runs(layout, fold.getAxis(), of);
    SmallVector<int64_t> shape = shapeOf(fold, dims);
    layout = layout.withShape(shape);
    for (size_t i = dims.size(); i--;)
      if (dims[i].second) layout = layout::slice(layout, fold.getAxis() + i);
    return layout.withShape(shapeOfParts(fold, of));
  }

  static SmallVector<int64_t> shapeOf(tile::ReduceOp fold, ArrayRef<std::pair<int64_t, bool>> dims) {
    SmallVector<int64_t> shape;
    for (auto [d, size] : llvm::enumerate(cast<RankedTensorType>(sourceOf(fold).getType()).getShape()))
      if (d != fold.getAxis())
        shape.push_back(size);
      else
        for (auto [part, isAlone] : dims) shape.push_back(part);
    return shape;
  }

  static SmallVector<int64_t> shapeOfParts(tile::ReduceOp fold, const Axis& of) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(sourceOf(fold).getType()).getShape());
    shape[fold.getAxis()] = int64_t(1) << llvm::popcount(of.between);
    return shape;
  }

  // Each thread folds its own elements; the result has one place for each of its shares.
  static Value alone(tile::ReduceOp fold, const Axis& of, OpBuilder& b) {
    Value parts = sourceOf(fold);
    auto dims = runs(tgpu::layoutOf(parts), fold.getAxis(), of);
    parts = reshaped(parts, shapeOf(fold, dims), b);
    for (size_t i = dims.size(); i--;)
      if (dims[i].second) parts = reduced(fold, parts, fold.getAxis() + i, b);
    return reshaped(parts, shapeOfParts(fold, of), b);
  }

  static Value reshaped(Value source, ArrayRef<int64_t> shape, OpBuilder& b) {
    auto type = cast<RankedTensorType>(source.getType());
    if (type.getShape() == shape) return source;
    Value made = tile::ReshapeOp::create(b, source.getLoc(), type.clone(shape), source);
    tgpu::setLayout(made, tgpu::layoutOf(source).withShape(shape));
    return made;
  }

  // `source` folded along `axis` as `like` does it.
  static Value reduced(tile::ReduceOp like, Value source, unsigned axis, OpBuilder& b) {
    auto type = cast<RankedTensorType>(source.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + axis);
    Type made = shape.empty() ? type.getElementType() : Type(type.clone(shape));
    auto op = tile::ReduceOp::create(b, like.getLoc(), TypeRange{made}, ValueRange{source}, axis);
    IRMapping mapping;
    like.getCombine().cloneInto(&op.getCombine(), mapping);
    if (!shape.empty()) tgpu::setLayout(op.getResult(0), layout::slice(tgpu::layoutOf(source), axis));
    return op.getResult(0);
  }

  scf::ForOp loop_;
};

// Loops of products have no registers to spare.
bool multiplies(scf::ForOp loop) {
  return loop
      ->walk([](Operation* op) {
        return isa<tile::DotOp, tgpu::WgmmaOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

struct DeferReductions : impl::DeferReductionsBase<DeferReductions> {
  void runOnOperation() override {
    // Inner loops first: what they leave behind them may be a step of an outer loop's fold.
    getOperation().walk([](scf::ForOp loop) {
      if (!multiplies(loop)) Deferral(loop).apply();
    });
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
