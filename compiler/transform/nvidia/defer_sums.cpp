// This pass matches the carried sum, then changes the loop's carried values in place.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/product_layouts.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
#define GEN_PASS_DEF_DEFERSUMS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

constexpr int64_t kParts = 8;

bool isPower(Value value) { return isa_and_nonnull<math::ExpOp, math::Exp2Op>(value.getDefiningOp()); }

bool addsUp(tile::ReduceOp op) {
  Block& body = op.getCombine().front();
  auto sum = dyn_cast<arith::AddFOp>(body.front());
  return op.getSources().size() == 1 && op.getAxis() == 1 && sum && body.back().getOperand(0) == sum.getResult() &&
         sum.getLhs() != sum.getRhs() && isa<BlockArgument>(sum.getLhs()) && isa<BlockArgument>(sum.getRhs());
}

// One loop's sum.
struct RowSum {
  unsigned index = 0;  // among the loop's carried values
  arith::AddFOp sum;
  tile::ReduceOp added;
  Value factor;
  int64_t groups = 1;  // of columns, each with its parts
  int64_t parts() const { return groups * kParts; }
};

class Deferral {
 public:
  Deferral(scf::ForOp loop, const target::TargetInfo& target, int numWarps)
      : loop_(loop), target_(target), numWarps_(numWarps) {}

  bool apply() {
    for (auto [i, argument] : llvm::enumerate(loop_.getRegionIterArgs()))
      if (std::optional<RowSum> sum = match(i, argument)) return carryParts(*sum), true;
    return false;
  }

 private:
  std::optional<RowSum> match(unsigned index, BlockArgument argument) {
    RowSum found;
    found.index = index;
    Operation* yield = loop_.getBody()->getTerminator();
    found.sum = yield->getOperand(index).getDefiningOp<arith::AddFOp>();
    if (!found.sum || !found.sum->hasOneUse() || !argument.hasOneUse()) return std::nullopt;
    for (unsigned side : {0u, 1u}) {
      found.added = found.sum->getOperand(side).getDefiningOp<tile::ReduceOp>();
      auto scaled = found.sum->getOperand(1 - side).getDefiningOp<arith::MulFOp>();
      if (!found.added || !scaled || !scaled->hasOneUse()) continue;
      if (scaled.getLhs() != argument && scaled.getRhs() != argument) continue;
      found.factor = scaled.getLhs() == argument ? scaled.getRhs() : scaled.getLhs();
      if (!isPower(found.factor) || !suits(found.added)) continue;
      found.groups = groupsAlongColumns(typeOf(found.added), numWarps_);
      if (typeOf(found.added).getDimSize(1) >= 2 * found.parts()) return found;
    }
    return std::nullopt;
  }

  static RankedTensorType typeOf(tile::ReduceOp op) { return cast<RankedTensorType>(op.getSources()[0].getType()); }

  // Returns true if the rows are those of a product in the same iteration, which a warpgroup makes.
  bool suits(tile::ReduceOp op) {
    if (op->getBlock() != loop_.getBody() || !op->hasOneUse() || !addsUp(op) || !isPower(op.getSources()[0]))
      return false;
    RankedTensorType type = typeOf(op);
    if (type.getRank() != 2 || !type.getElementType().isF32()) return false;
    return llvm::any_of(loop_.getBody()->getOps<tile::DotOp>(),
                        [&](tile::DotOp dot) { return dot.getType() == type && fitsWgmma(dot, numWarps_, target_); });
  }

  void carryParts(const RowSum& s) {
    OpBuilder before(loop_), behind(loop_->getNextNode());
    OpOperand& init = loop_.getInitArgsMutable()[s.index];
    init.set(shared(s, init.get(), before));
    Value carried = loop_.getRegionIterArg(s.index), result = loop_.getResult(s.index);
    carried.setType(init.get().getType());
    result.setType(init.get().getType());
    if (!result.use_empty()) {
      Value whole = reduced(s.added, result, 1, behind);
      result.replaceAllUsesExcept(whole, whole.getDefiningOp());
    }
    addParts(s, carried);
  }

  // Each part gets the same share of the value; the number of parts is a power of two, so nothing of it is lost.
  static Value shared(const RowSum& s, Value whole, OpBuilder& b) {
    Location loc = whole.getLoc();
    Value part = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1.0f / float(s.parts())));
    return wide(s, arith::MulFOp::create(b, loc, whole, tile::SplatOp::create(b, loc, whole.getType(), part)), b);
  }

  static Value wide(const RowSum& s, Value row, OpBuilder& b) {
    Location loc = row.getLoc();
    auto type = cast<RankedTensorType>(row.getType());
    int64_t rows = type.getDimSize(0);
    auto column = RankedTensorType::get({rows, 1}, type.getElementType());
    Value expanded = tile::ExpandDimsOp::create(b, loc, column, row, 1);
    return tile::BroadcastOp::create(b, loc, RankedTensorType::get({rows, s.parts()}, type.getElementType()), expanded);
  }

  // The carried parts take the place of the sum in the body.
  void addParts(RowSum s, Value carried) {
    OpBuilder b(s.sum);
    Location loc = s.sum.getLoc();
    Value source = s.added.getSources()[0];
    auto of = [&](ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, typeOf(s.added).getElementType()); };
    int64_t rows = typeOf(s.added).getDimSize(0), each = typeOf(s.added).getDimSize(1) / s.parts();
    Value parts;
    if (s.groups == 1) {
      parts = reduced(s.added, tile::ReshapeOp::create(b, loc, of({rows, each, kParts}), source), 1, b);
    } else {
      Value split = tile::ReshapeOp::create(b, loc, of({rows, s.groups, each, kParts}), source);
      parts = tile::ReshapeOp::create(b, loc, of({rows, s.parts()}), reduced(s.added, split, 2, b));
    }
    Value scaled = arith::MulFOp::create(b, loc, carried, wide(s, s.factor, b));
    Value next = arith::AddFOp::create(b, loc, scaled, parts);
    s.sum.getResult().replaceAllUsesWith(next);
    Operation *old = s.sum, *product = s.sum.getLhs().getDefiningOp<arith::MulFOp>();
    if (!product) product = s.sum.getRhs().getDefiningOp<arith::MulFOp>();
    old->erase();
    product->erase();
    s.added->erase();
  }

  // `source` folded along `axis` as `like` does it.
  static Value reduced(tile::ReduceOp like, Value source, int axis, OpBuilder& b) {
    auto type = cast<RankedTensorType>(source.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + axis);
    auto op = tile::ReduceOp::create(b, source.getLoc(), TypeRange{RankedTensorType::get(shape, type.getElementType())},
                                     ValueRange{source}, axis);
    IRMapping mapping;
    like.getCombine().cloneInto(&op.getCombine(), mapping);
    return op.getResults()[0];
  }

  scf::ForOp loop_;
  const target::TargetInfo& target_;
  int numWarps_;
};

struct DeferSums : impl::DeferSumsBase<DeferSums> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu) return;
    int numWarps = tile::numWarps(getOperation());
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) Deferral(loop, *gpu, numWarps).apply();
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
