// The kernel's body goes into a loop over the author's programs.
#include "compiler/dialect/dist/dist.h"
#include "compiler/remark/remark.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/travelling.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/Transforms/LoopInvariantCodeMotionUtils.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_DEALPROGRAMS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Load, "deal-programs"};
constexpr unsigned kAxes = 3;

class Dealing {
 public:
  Dealing(func::FuncOp kernel, ArrayRef<Value> counts) : kernel_(kernel), counts_(counts) {}

  void run() {
    Block& body = kernel_.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    Location where = kernel_.getLoc();
    for (Value& count : counts_)  // a constant is made anew, ahead of the loop
      if (!isa<BlockArgument>(count)) count = builder.clone(*count.getDefiningOp())->getResult(0);
    Value all = counts_[0];
    for (unsigned axis = 1; axis < kAxes; ++axis)
      if (!isOne(counts_[axis])) all = arith::MulIOp::create(builder, where, all, counts_[axis]);
    Value first = tile::ProgramIdOp::create(builder, where, 0), step = tile::NumProgramsOp::create(builder, where, 0);
    auto loop = scf::ForOp::create(builder, where, first, all, step);
    Operation* end = loop.getBody()->getTerminator();
    end->getBlock()->getOperations().splice(Block::iterator(end), body.getOperations(),
                                            std::next(Block::iterator(loop)), Block::iterator(body.getTerminator()));
    number(loop);
    moveLoopInvariantCode(cast<LoopLikeOpInterface>(loop.getOperation()));
  }

 private:
  static bool isOne(Value value) { return getConstantIntValue(value) == 1; }

  void number(scf::ForOp loop) {
    SmallVector<Operation*> numbers;
    loop.getBody()->walk([&](Operation* op) {
      if (isa<tile::ProgramIdOp, tile::NumProgramsOp>(op)) numbers.push_back(op);
    });
    OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
    SmallVector<Value> ids;
    for (unsigned axis = 0; axis < kAxes; ++axis) ids.push_back(numberAlong(builder, loop.getInductionVar(), axis));
    for (Operation* op : numbers) {
      auto id = dyn_cast<tile::ProgramIdOp>(op);
      Value number = id ? ids[id.getAxis()] : counts_[cast<tile::NumProgramsOp>(op).getAxis()];
      op->getResult(0).replaceAllUsesWith(number);
      op->erase();
    }
  }

  Value numberAlong(OpBuilder& builder, Value place, unsigned axis) {
    Location where = kernel_.getLoc();
    if (isOne(counts_[axis])) return arith::ConstantIntOp::create(builder, where, 0, 32);
    bool isLast = true;
    for (unsigned other = 0; other < kAxes; ++other) {
      if (other < axis && !isOne(counts_[other])) place = arith::DivSIOp::create(builder, where, place, counts_[other]);
      if (other > axis) isLast &= isOne(counts_[other]);
    }
    return isLast ? place : arith::RemSIOp::create(builder, where, place, counts_[axis]).getResult();
  }

  func::FuncOp kernel_;
  SmallVector<Value> counts_;
};

struct DealPrograms : impl::DealProgramsBase<DealPrograms> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    SmallVector<dist::DealtOp> dealt = opsOf<dist::DealtOp>(kernel);
    if (dealt.empty()) return markAllAnalysesPreserved();
    dist::DealtOp first = dealt.front();
    SmallVector<Value> counts = {first.getX(), first.getY(), first.getZ()};
    for (Value count : counts)
      if (!isa<BlockArgument>(count) && !getConstantIntValue(count)) {
        first.emitError("the numbers of programs are no arguments of the kernel");
        return signalPassFailure();
      }
    remark::passed(first, kRemarks, "programs of the launch go through those of the text in turns");
    for (dist::DealtOp op : dealt) {
      op.getResult().replaceAllUsesWith(op.getValue());
      op.erase();
    }
    Dealing(kernel, counts).run();
    cleanUp(true);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
