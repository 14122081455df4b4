// Turns loops by one product.
#include "compiler/analysis/scalar_expr.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/transform/nvidia/passes.h"
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <mlir/Transforms/RegionUtils.h>
#include <optional>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
#define GEN_PASS_DEF_OVERLAPPRODUCTS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

// The only `Op` of the ring in `block`. Null: there is none, or more.
template <class Op>
Op onlyOf(Block& block, Value ring) {
  Op found;
  for (Operation* user : ring.getUsers()) {
    auto op = dyn_cast<Op>(user);
    if (!op || op->getBlock() != &block) continue;
    if (found) return nullptr;
    found = op;
  }
  return found;
}

bool dependsOnProduct(Value value, Block& block, llvm::DenseSet<Operation*>& seen) {
  Operation* op = value.getDefiningOp();
  if (!op || op->getBlock() != &block || !seen.insert(op).second) return false;
  if (isa<tgpu::WgmmaOp>(op)) return true;
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return llvm::any_of(used, [&](Value v) { return dependsOnProduct(v, block, seen); });
}

// Returns what `scaled` multiplies a carried sum by, if products of `sum`'s loop decide it; else null.
Value factorOf(arith::MulFOp scaled, BlockArgument sum) {
  if (scaled.getLhs() == scaled.getRhs() || (scaled.getLhs() != sum && scaled.getRhs() != sum)) return nullptr;
  Value factor = scaled.getLhs() == sum ? scaled.getRhs() : scaled.getLhs();
  llvm::DenseSet<Operation*> seen;
  return dependsOnProduct(factor, *sum.getOwner(), seen) ? factor : nullptr;
}

// Rows whose maximum stays are multiplied by 1: a warp that has no others goes past it.
Value rescale(OpBuilder& b, Value sum, Value factor) {
  Location loc = sum.getLoc();
  auto type = cast<RankedTensorType>(factor.getType());
  Value one =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), 1.0)));
  Value moved = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, factor, one);
  auto branch = scf::IfOp::create(b, loc, sum.getType(), tgpu::WarpAnyOp::create(b, loc, b.getI1Type(), moved), true);
  OpBuilder then = OpBuilder::atBlockEnd(branch.thenBlock()), otherwise = OpBuilder::atBlockEnd(branch.elseBlock());
  scf::YieldOp::create(then, loc, arith::MulFOp::create(then, loc, sum, factor).getResult());
  scf::YieldOp::create(otherwise, loc, sum);
  return branch.getResult(0);
}

// Replaces the products of carried sums by factors, before products add to them, by `rescale`.
void rescaleSums(scf::ForOp loop) {
  for (auto product : llvm::make_early_inc_range(loop.getBody()->getOps<tgpu::WgmmaOp>())) {
    auto scaled = product.getAcc() ? product.getAcc().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (!scaled || scaled->getBlock() != loop.getBody() || !scaled->hasOneUse()) continue;
    for (Value side : scaled->getOperands()) {
      auto sum = dyn_cast<BlockArgument>(side);
      Value factor = sum && sum.getOwner() == loop.getBody() && sum.hasOneUse() ? factorOf(scaled, sum) : nullptr;
      if (!factor) continue;
      OpBuilder b(scaled);
      scaled.replaceAllUsesWith(rescale(b, sum, factor));
      scaled.erase();
      break;
    }
  }
}

// Returns true if so few iterations are known to run that turning the loop inside out gains nothing: LLVM writes them
// out one by one.
bool isShort(scf::ForOp loop) {
  constexpr int64_t kFew = 3;
  using analysis::ScalarExpr;
  auto length = (ScalarExpr::of(loop.getUpperBound()) - ScalarExpr::of(loop.getLowerBound())).constant();
  auto step = ScalarExpr::of(loop.getStep()).constant();
  return length && step && *length <= kFew * *step;
}

class Rotation {
 public:
  // Returns nothing if the loop has no product that can be under way while the next iteration computes.
  static std::optional<Rotation> find(scf::ForOp loop) {
    if (isShort(loop)) return std::nullopt;
    for (auto wait : loop.getBody()->getOps<tgpu::WgmmaWaitOp>()) {
      Rotation r(loop);
      if (r.match(wait)) return r;
    }
    return std::nullopt;
  }

  void apply() {
    OpBuilder b(loop_);
    Location loc = loop_.getLoc();
    Value runs = compare(b, loop_.getLowerBound(), loop_.getUpperBound());
    auto branch = scf::IfOp::create(b, loc, loop_.getResultTypes(), runs, true);
    OpBuilder otherwise = OpBuilder::atBlockEnd(branch.elseBlock());
    scf::YieldOp::create(otherwise, loc, loop_.getInitArgs());
    OpBuilder then = OpBuilder::atBlockEnd(branch.thenBlock());
    rotate(then);
    loop_.replaceAllUsesWith(branch.getResults());
    loop_.erase();
  }

 private:
  explicit Rotation(scf::ForOp loop) : loop_(loop), body_(loop.getBody()) {}

  bool match(tgpu::WgmmaWaitOp wait) {
    wait_ = wait;
    product_ = wait.getAcc().getDefiningOp<tgpu::WgmmaOp>();
    if (!product_ || wait.getPending() || !product_.getResult().hasOneUse() || !wait.getResult().hasOneUse())
      return false;
    OpOperand& use = *wait.getResult().getUses().begin();
    if (!isa<scf::YieldOp>(use.getOwner()) || use.getOwner()->getBlock() != body_ || !product_.getRhsRing())
      return false;
    index_ = use.getOperandNumber();
    Value ring = product_.getRhsRing();
    await_ = onlyOf<tgpu::AwaitOp>(*body_, ring);
    advance_ = onlyOf<tgpu::AdvanceOp>(*body_, ring);
    release_ = onlyOf<tgpu::ReleaseOp>(*body_, ring);
    llvm::DenseSet<Operation*> seen;
    if (!await_ || !advance_ || !release_ || !isa<RankedTensorType>(product_.getLhs().getType())) return false;
    if (!dependsOnProduct(product_.getLhs(), *body_, seen) || !isOnlyReader(ring)) return false;
    auto narrow = product_.getLhs().getDefiningOp<tile::FpToFpOp>();
    if (narrow && narrow->hasOneUse() && getElementTypeOrSelf(narrow.getOperand()).isF32()) narrow_ = narrow;
    return findLater() && findFirst();
  }

  bool isOnlyReader(Value ring) {
    return llvm::none_of(body_->getOps<tgpu::WgmmaOp>(), [&](tgpu::WgmmaOp op) {
      return op != product_ && (op.getRhsRing() == ring || op.getLhsRing() == ring);
    });
  }

  // Finds the ops between the carried sum and the product, which come after all others.
  bool findLater() {
    llvm::SetVector<Value> todo;
    todo.insert(loop_.getRegionIterArg(index_));
    for (size_t i = 0; i < todo.size(); ++i)
      for (OpOperand& use : todo[i].getUses()) {
        Operation* op = use.getOwner();
        if (op == product_) {
          if (op->getOperand(use.getOperandNumber()) != product_.getAcc()) return false;
          continue;
        }
        if (op->getBlock() != body_ || op->getNumRegions() || isa<scf::YieldOp>(op) || !isMemoryEffectFree(op))
          return false;
        later_.insert(op);
        for (Value result : op->getResults()) todo.insert(result);
      }
    return todo.contains(product_.getAcc()) && !todo.contains(product_.getLhs());
  }

  // The products of the iteration before the last one; of those the last is waited for when the other is under way.
  bool findFirst() {
    for (auto op : body_->getOps<tgpu::WgmmaOp>()) {
      if (op == product_) break;
      for (Operation* user : op.getResult().getUsers())
        if (auto wait = dyn_cast<tgpu::WgmmaWaitOp>(user); wait && wait->getBlock() == body_ && wait.getPending() == 0)
          firstWait_ = wait;
      if (firstWait_) return firstWait_.getAcc().getDefiningOp() == firstWait_->getPrevNode();
    }
    return false;
  }

  bool isLast(Operation* op) const {
    return op == product_ || op == wait_ || op == await_ || op == advance_ || op == release_ || isa<scf::YieldOp>(op);
  }

  //===- the new loop -------------------------------------------------------------------------------------------===//
  void rotate(OpBuilder& b) {
    Location loc = loop_.getLoc();
    IRMapping first;
    first.map(loop_.getInductionVar(), loop_.getLowerBound());
    for (auto [argument, init] : llvm::zip(loop_.getRegionIterArgs(), loop_.getInitArgs())) first.map(argument, init);
    cloneFirst(b, first, nullptr);
    cloneLater(b, first);

    Value second = arith::AddIOp::create(b, loc, loop_.getLowerBound(), loop_.getStep());
    auto rotated = scf::ForOp::create(b, loc, second, loop_.getUpperBound(), loop_.getStep(), yieldedBy(first));
    rotated.setUnsignedCmp(loop_.getUnsignedCmp());
    rotated->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
    OpBuilder inside = OpBuilder::atBlockBegin(rotated.getBody());
    fill(rotated, inside);

    SmallVector<Value> results(rotated.getResults().drop_back());
    results[index_] = finish(b, startLast(b, results[index_], rotated.getResults().back()));
    scf::YieldOp::create(b, loc, results);
  }

  // The iteration's own part; the last product of the one before is started behind the first product.
  void fill(scf::ForOp rotated, OpBuilder& b) {
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), rotated.getInductionVar());
    for (auto [argument, now] : llvm::zip(loop_.getRegionIterArgs(), rotated.getRegionIterArgs()))
      mapping.map(argument, now);
    Value product;
    cloneFirst(b, mapping, [&] {
      cast<tgpu::WgmmaOp>(b.getInsertionBlock()->back()).setTakesTurn(true);
      product = startLast(b, rotated.getRegionIterArg(index_), rotated.getRegionIterArgs().back());
    });
    Value giver = powersTakeLongest() ? mapping.lookup(firstWait_.getResult()) : product;
    if (auto giving = giver.getDefiningOp<tgpu::WgmmaOp>())
      giving.setGivesTurn(true);
    else
      giver.getDefiningOp<tgpu::WgmmaWaitOp>().setGivesTurn(true);
    Value sum = finish(b, product);
    // behind the wait: ptxas may give the new operand the registers of the one that the product reads until then
    if (narrow_) {
      mapping.map(narrow_->getOperand(0), wait(b, mapping.lookup(narrow_->getOperand(0)), 0));
      b.clone(*narrow_, mapping);
    }
    if (Value factor = rescaling()) {
      mapping.map(later_.front()->getResult(0), rescale(b, sum, mapping.lookupOrDefault(factor)));
    } else {
      mapping.map(loop_.getRegionIterArg(index_), sum);
      cloneLater(b, mapping);
    }
    scf::YieldOp::create(b, loop_.getLoc(), yieldedBy(mapping));
  }

  // Returns true if the powers between the products take at least as long as these. Then warpgroups are better half an
  // iteration apart than a product: the other one's turn comes when this one's powers begin.
  bool powersTakeLongest() {
    // of operands that tensor cores multiply and add while special function units make one power
    constexpr int64_t kBitsForPower = 2048;
    auto lhs = cast<RankedTensorType>(product_.getLhs().getType());
    bool havePowers = llvm::any_of(*body_, [&](Operation& op) {
      auto made = isa<math::ExpOp, math::Exp2Op>(op) ? dyn_cast<RankedTensorType>(op.getResult(0).getType()) : nullptr;
      return made && made.getShape() == lhs.getShape();
    });
    auto first = firstWait_.getAcc().getDefiningOp<tgpu::WgmmaOp>();
    auto rhs = cast<tile::SmemType>(first.getRhs().getType());
    int64_t depth = first.getRhsTransposed() ? rhs.getShape()[1] : rhs.getShape()[0];
    int64_t columns = cast<RankedTensorType>(product_.getType()).getDimSize(1);
    return havePowers && (depth + columns) * lhs.getElementTypeBitWidth() <= kBitsForPower;
  }

  // Returns the factor of the sum, if nothing else happens to the sum before the product and other products decide the
  // factor; else null.
  Value rescaling() {
    auto scaled = later_.size() == 1 ? dyn_cast<arith::MulFOp>(later_.front()) : arith::MulFOp();
    return scaled ? factorOf(scaled, loop_.getRegionIterArgs()[index_]) : nullptr;
  }

  void cloneFirst(OpBuilder& b, IRMapping& mapping, llvm::function_ref<void()> startOther) {
    for (Operation& op : *body_) {
      if (isLast(&op) || later_.contains(&op) || (&op == narrow_ && startOther)) continue;
      if (&op == firstWait_ && startOther) {
        startOther();
        mapping.map(firstWait_.getResult(), wait(b, mapping.lookup(firstWait_.getAcc()), 1));
        continue;
      }
      b.clone(op, mapping);
    }
  }

  void cloneLater(OpBuilder& b, IRMapping& mapping) {
    for (Operation& op : *body_)
      if (later_.contains(&op)) b.clone(op, mapping);
  }

  // Returns the first values of the next iteration: the sum that the last product adds to, and behind all others that
  // product's left operand.
  SmallVector<Value> yieldedBy(const IRMapping& mapping) {
    SmallVector<Value> out;
    for (Value v : loop_.getYieldedValues())
      out.push_back(mapping.lookupOrDefault(v == wait_.getResult() ? product_.getAcc() : v));
    out.push_back(mapping.lookupOrDefault(product_.getLhs()));
    return out;
  }

  Value startLast(OpBuilder& b, Value sum, Value lhs) {
    IRMapping mapping;
    mapping.map(product_.getAcc(), sum);
    mapping.map(product_.getLhs(), lhs);
    b.clone(*await_, mapping);
    Value product = b.clone(*product_, mapping)->getResult(0);
    b.clone(*advance_, mapping);
    return product;
  }

  Value finish(OpBuilder& b, Value product) {
    Value sum = wait(b, product, 0);
    b.clone(*release_);
    return sum;
  }

  static Value wait(OpBuilder& b, Value acc, int pending) {
    return tgpu::WgmmaWaitOp::create(b, acc.getLoc(), acc, b.getI32IntegerAttr(pending));
  }

  Value compare(OpBuilder& b, Value low, Value high) {
    auto predicate = loop_.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    return arith::CmpIOp::create(b, loop_.getLoc(), predicate, low, high);
  }

  scf::ForOp loop_;
  Block* body_;
  tgpu::WgmmaOp product_;
  tgpu::WgmmaWaitOp wait_, firstWait_;
  tgpu::AwaitOp await_;
  tgpu::AdvanceOp advance_;
  tgpu::ReleaseOp release_;
  Operation* narrow_ = nullptr;        // makes the left operand of float32; null: it is made otherwise
  unsigned index_ = 0;                 // of the sum among the loop's carried values
  llvm::SetVector<Operation*> later_;  // move with the last product
};

struct OverlapProducts : impl::OverlapProductsBase<OverlapProducts> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (std::optional<Rotation> rotation = Rotation::find(loop)) rotation->apply();
    getOperation().walk([](scf::ForOp loop) { rescaleSums(loop); });
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
