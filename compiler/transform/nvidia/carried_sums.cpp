// Waits behind loops whose last products are still under way.
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::nvidia {
using namespace mlir;

unsigned carriedIndex(Value sum, scf::ForOp loop) {
  return cast<BlockArgument>(sum).getArgNumber() - loop.getNumInductionVars();
}

bool onlyAdds(Value sum, Value result, scf::ForOp loop) {
  auto carried = dyn_cast<BlockArgument>(sum);
  if (!carried || carried.getOwner() != loop.getBody() || carried == loop.getInductionVar() || !carried.hasOneUse() ||
      !result.hasOneUse())
    return false;
  OpOperand& use = *result.getUses().begin();
  return isa<scf::YieldOp>(use.getOwner()) && use.getOwner()->getBlock() == loop.getBody() &&
         use.getOperandNumber() == carriedIndex(sum, loop);
}

OpBuilder awaitSums(scf::ForOp loop, ArrayRef<unsigned> sums) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto isLess = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value runs = arith::CmpIOp::create(builder, loc, isLess, loop.getLowerBound(), loop.getUpperBound());
  auto branch = scf::IfOp::create(builder, loc, loop.getResultTypes(), runs, true);
  loop.replaceAllUsesWith(branch.getResults());
  OpBuilder otherwise = OpBuilder::atBlockEnd(branch.elseBlock()), then = OpBuilder::atBlockEnd(branch.thenBlock());
  scf::YieldOp::create(otherwise, loc, loop.getInitArgs());
  loop->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  SmallVector<Value> results(loop.getResults());
  for (unsigned i : sums) results[i] = tgpu::WgmmaWaitOp::create(then, loc, results[i], then.getI32IntegerAttr(0));
  auto yield = scf::YieldOp::create(then, loc, results);
  return OpBuilder(yield);
}

namespace {

class Turning {
 public:
  Turning(scf::ForOp loop, ArrayRef<tgpu::WgmmaOp> products)
      : loop_(loop), products_(products.begin(), products.end()) {
    for (tgpu::WgmmaOp product : products_) {
      left_.insert(product);
      left_.insert(*product->user_begin());
      sums_.push_back(carriedIndex(product.getAcc(), loop));
      if (isa<RankedTensorType>(product.getLhs().getType()) && product.getLhs().getParentBlock() == loop.getBody())
        computed_.push_back(product.getLhs());
    }
    for (Value lhs : computed_) findNarrowing(lhs);
  }

  void apply() {
    OpBuilder b(loop_);
    Location loc = loop_.getLoc();
    auto isLess = loop_.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value runs = arith::CmpIOp::create(b, loc, isLess, loop_.getLowerBound(), loop_.getUpperBound());
    auto branch = scf::IfOp::create(b, loc, loop_.getResultTypes(), runs, true);
    OpBuilder otherwise = OpBuilder::atBlockEnd(branch.elseBlock()), then = OpBuilder::atBlockEnd(branch.thenBlock());
    scf::YieldOp::create(otherwise, loc, loop_.getInitArgs());
    build(then);
    loop_.replaceAllUsesWith(branch.getResults());
    loop_.erase();
  }

 private:
  void build(OpBuilder& b) {
    Location loc = loop_.getLoc();
    IRMapping first;
    first.map(loop_.getInductionVar(), loop_.getLowerBound());
    first.map(loop_.getRegionIterArgs(), loop_.getInitArgs());
    clone(b, first, nullptr);
    SmallVector<Value> inits = yielded(first);
    for (unsigned i : sums_) inits[i] = loop_.getInitArgs()[i];
    Value second = arith::AddIOp::create(b, loc, loop_.getLowerBound(), loop_.getStep());
    auto turned = scf::ForOp::create(b, loc, second, loop_.getUpperBound(), loop_.getStep(), inits);
    turned.setUnsignedCmp(loop_.getUnsignedCmp());
    turned->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());

    OpBuilder inside = OpBuilder::atBlockBegin(turned.getBody());
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), turned.getInductionVar());
    mapping.map(loop_.getRegionIterArgs(), turned.getRegionIterArgs().take_front(loop_.getNumRegionIterArgs()));
    SmallVector<Value> started = start(inside, turned.getRegionIterArgs()), sums(loop_.getNumResults());
    clone(inside, mapping, [&] { await(inside, started, sums); });
    SmallVector<Value> next = yielded(mapping);
    for (unsigned i : sums_) next[i] = sums[i];
    scf::YieldOp::create(inside, loc, next);

    SmallVector<Value> results(turned.getResults().take_front(loop_.getNumResults()));
    await(b, start(b, turned.getResults()), results);
    scf::YieldOp::create(b, loc, results);
  }

  // The ops that make the operand of float32 come behind the wait, which names their source: ptxas may give the new
  // operand the registers of the one that the product reads until then.
  void findNarrowing(Value lhs) {
    SmallVector<Operation*> ops;
    Operation* op = lhs.getDefiningOp();
    for (; op && op->getBlock() == loop_.getBody() && op->hasOneUse(); op = op->getOperand(0).getDefiningOp()) {
      if (!isa<tile::PermuteOp, tile::FpToFpOp>(op)) return;
      ops.push_back(op);
      bool isWide = getElementTypeOrSelf(op->getOperand(0)).isF32();
      if (isa<tile::FpToFpOp>(op) && isWide) return narrowing_.append(ops.rbegin(), ops.rend());
    }
  }

  void narrow(OpBuilder& b, IRMapping& mapping) {
    for (Operation* op : narrowing_) {
      Value source = op->getOperand(0);
      if (isa<tile::FpToFpOp>(op)) {
        Value wide = mapping.lookupOrDefault(source);
        mapping.map(source, tgpu::WgmmaWaitOp::create(b, op->getLoc(), wide, b.getI32IntegerAttr(0)).getResult());
      }
      b.clone(*op, mapping);
    }
  }

  // All but the products; `await` is called where the last one was awaited.
  void clone(OpBuilder& b, IRMapping& mapping, llvm::function_ref<void()> await) {
    Operation* last = *products_.back()->user_begin();
    for (Operation& op : loop_.getBody()->without_terminator()) {
      if (!left_.contains(&op) && !(await && llvm::is_contained(narrowing_, &op))) b.clone(op, mapping);
      if (&op == last && await) {
        await();
        narrow(b, mapping);
      }
    }
  }

  // Returns the values that the iteration carries on, and behind them the left operands.
  SmallVector<Value> yielded(IRMapping& mapping) {
    SmallVector<Value> out;
    for (Value v : loop_.getYieldedValues()) out.push_back(mapping.lookupOrDefault(v));
    for (Value lhs : computed_) out.push_back(mapping.lookup(lhs));
    return out;
  }

  SmallVector<Value> start(OpBuilder& b, ValueRange carried) {
    IRMapping mapping;
    for (auto [lhs, value] : llvm::zip(computed_, carried.drop_front(loop_.getNumResults()))) mapping.map(lhs, value);
    SmallVector<Value> started;
    for (auto [product, i] : llvm::zip(products_, sums_)) {
      mapping.map(product.getAcc(), carried[i]);
      started.push_back(b.clone(*product, mapping)->getResult(0));
    }
    return started;
  }

  void await(OpBuilder& b, ArrayRef<Value> started, MutableArrayRef<Value> results) {
    for (auto [product, i] : llvm::zip(started, sums_))
      results[i] = tgpu::WgmmaWaitOp::create(b, loop_.getLoc(), product, b.getI32IntegerAttr(0));
  }

  scf::ForOp loop_;
  SmallVector<tgpu::WgmmaOp> products_;
  llvm::DenseSet<Operation*> left_;    // the products and their waits
  SmallVector<unsigned> sums_;         // each product's, among the loop's carried values
  SmallVector<Value> computed_;        // left operands
  SmallVector<Operation*> narrowing_;  // makes them, of float32
};

}  // namespace

void startInNextIteration(scf::ForOp loop, ArrayRef<tgpu::WgmmaOp> products) { Turning(loop, products).apply(); }

}  // namespace tandem::transform::nvidia
