// The pass changes types and the loop's step in place: what lies beyond the loop's end lies beyond the tensors, too, and is zero.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <llvm/ADT/MapVector.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <limits>
#include <vector>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
#define GEN_PASS_DEF_WIDENSTEPS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

// Copies bring whole lines of the cache; a part of one costs as much.
constexpr int64_t kLineBytes = 128;
// Tiles with fewer sums stay as they are: many of their blocks share a multiprocessor, and hide one another's copies.
constexpr int64_t kLeastSums = 128 * 64, kDefaultStages = 3;

RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }

// Looks through the places that stand for an offset which does not fit, or for a tensor without elements: they lie outside.
Value behindChecks(Value offset) {
  while (auto select = offset.getDefiningOp<arith::SelectOp>()) {
    if (getConstantIntValue(select.getFalseValue()) != std::numeric_limits<int32_t>::min()) break;
    offset = select.getTrueValue();
  }
  return offset;
}

Value behindWidth(Value number) {
  while (Operation* op = number.getDefiningOp()) {
    if (!isa<arith::ExtSIOp, arith::TruncIOp>(op)) break;
    number = op->getOperand(0);
  }
  return number;
}

// A size is at least what TMA takes.
Value behindLeast(Value size) {
  auto most = size.getDefiningOp<arith::MaxSIOp>();
  return behindWidth(most && getConstantIntValue(most.getRhs()) ? most.getLhs() : size);
}

class Widening {
 public:
  explicit Widening(scf::ForOp loop) : loop_(loop) {}

  bool match(int numWarps, const target::TargetInfo& target) {
    if (getConstantIntValue(loop_.getLowerBound()) != 0 || !getConstantIntValue(loop_.getStep()) ||
        tile::numStages(loop_) || !matchBody() || dots_.empty())
      return false;
    return llvm::all_of(dots_,
                        [&](tile::DotOp dot) { return fitsWgmma(dot, numWarps, target) && matchProduct(dot); }) &&
           llvm::all_of(loads_, [&](tile::BlockLoadOp load) { return depthOf_.contains(load); }) && times_ > 1;
  }

  // Returns how many wider slots have as many bytes under way as `asked` narrow ones, and one more, which is being read. Two slots of two
  // steps were too few: the next tiles came too late.
  int64_t slots(int64_t asked) const { return std::max<int64_t>(asked / times_ + 1, times_ == 2 ? 3 : 2); }

  // Returns true if the slots have room, and that of one of two blocks on a multiprocessor where two have it before.
  bool fits(int64_t asked, int64_t slots, const target::TargetInfo& target) const {
    constexpr int64_t kBesideRing = 16 << 10;
    int64_t step = 0, one = target.maxSharedBytes() - kBesideRing, ofTwo = target.maxSharedBytes() / 2 - kBesideRing;
    for (tile::BlockLoadOp load : loads_) step += bytesOf(typeOf(load));
    return slots * times_ * step <= (asked * step <= ofTwo ? ofTwo : one);
  }

  void apply() {
    OpBuilder b(loop_);
    int64_t step = *getConstantIntValue(loop_.getStep()) * times_;
    loop_.setStep(arith::ConstantOp::create(b, loop_.getLoc(), b.getIntegerAttr(loop_.getStep().getType(), step)));
    for (auto [load, depth] : depthOf_) {
      Value tile = load->getResult(0);
      tile.setType(widened(tile, depth));
      for (Operation* user : tile.getUsers())
        if (isa<tile::PermuteOp>(user)) user->getResult(0).setType(widened(user->getResult(0), 1 - depth));
    }
  }

 private:
  RankedTensorType widened(Value tile, unsigned depth) const {
    SmallVector<int64_t> shape(typeOf(tile).getShape());
    shape[depth] *= times_;
    return typeOf(tile).clone(shape);
  }

  // Nothing in the loop but its products may depend on how often it runs.
  bool matchBody() {
    for (Type type : loop_.getResultTypes())
      if (!isa<RankedTensorType>(type)) return false;
    for (Operation& op : loop_.getBody()->without_terminator()) {
      if (auto load = dyn_cast<tile::BlockLoadOp>(op))
        loads_.push_back(load);
      else if (auto dot = dyn_cast<tile::DotOp>(op))
        dots_.push_back(dot);
      else if (op.getNumRegions() || !isMemoryEffectFree(&op) ||
               (makesTile(op) && !isa<tile::PermuteOp, arith::AddFOp>(op)))
        return false;
    }
    return true;
  }

  static bool makesTile(Operation& op) {
    return llvm::any_of(op.getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
  }

  bool matchProduct(tile::DotOp dot) {
    if (typeOf(dot).getNumElements() < kLeastSums) return false;
    return matchOperand(dot, dot.getLhs(), 1) && matchOperand(dot, dot.getRhs(), 0);
  }

  // Finds the load behind an operand. Where the loop's end is the tensor's, a step more than it has is zero.
  bool matchOperand(tile::DotOp dot, Value operand, unsigned depth) {
    OperandSource source = throughTranspose(operand);
    auto load = source.source.getDefiningOp<tile::BlockLoadOp>();
    if (source.transposed) depth = 1 - depth;
    if (!load || load->getBlock() != loop_.getBody() || load.getPadding() != tile::Padding::Zero ||
        typeOf(load).getRank() != 2 || !llvm::is_contained(load.getBoundaryCheck(), depth) ||
        !onlyProductsRead(load, dots_))
      return false;
    int64_t each = typeOf(load).getDimSize(depth);
    if (!endsWithTensor(behindChecks(load.getOffsets()[depth]), behindLeast(load.getShape()[depth]), each))
      return false;
    depthOf_.insert({load, depth});
    bool isRow = getConstantIntValue(load.getStrides()[depth]) == 1;
    if (isRow) times_ = std::max(times_, kLineBytes * 8 / (each * typeOf(load).getElementTypeBitWidth()));
    return true;
  }

  // Returns true if the offset goes on by `each` an iteration, from zero to the end of the tensor's `size`.
  bool endsWithTensor(Value offset, Value size, int64_t each) {
    Value end = loop_.getUpperBound(), index = behindWidth(offset);
    auto times = index.getDefiningOp<arith::MulIOp>();
    if (!times) return index == loop_.getInductionVar() && end == size && getConstantIntValue(loop_.getStep()) == each;
    auto count = end.getDefiningOp<arith::DivSIOp>();
    auto more = count ? count.getLhs().getDefiningOp<arith::AddIOp>() : arith::AddIOp();
    return behindWidth(times.getLhs()) == loop_.getInductionVar() && getConstantIntValue(times.getRhs()) == each &&
           getConstantIntValue(loop_.getStep()) == 1 && more && getConstantIntValue(count.getRhs()) == each &&
           getConstantIntValue(more.getRhs()) == each - 1 && more.getLhs() == size;
  }

  scf::ForOp loop_;
  SmallVector<tile::BlockLoadOp> loads_;
  SmallVector<tile::DotOp> dots_;
  llvm::SmallMapVector<Operation*, unsigned, 4> depthOf_;  // the dimension of each load that is K
  int64_t times_ = 1;
};

struct WidenSteps : impl::WidenStepsBase<WidenSteps> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu || !gpu->hasTma()) return;
    func::FuncOp kernel = getOperation();
    int numWarps = tile::numWarps(kernel);
    std::vector<Widening> all;
    bool haveOthers = false;
    kernel.walk([&](scf::ForOp loop) {
      if (loop.getBody()->getOps<tile::DotOp>().empty()) return;
      Widening widening(loop);
      if (widening.match(numWarps, *gpu))
        all.push_back(std::move(widening));
      else
        haveOthers = true;
    });
    int64_t asked = tile::numStages(kernel).value_or(kDefaultStages), slots = 0;
    if (all.empty() || haveOthers || asked < 2) return markAllAnalysesPreserved();
    for (const Widening& widening : all) slots = std::max(slots, widening.slots(asked));
    if (!llvm::all_of(all, [&](const Widening& widening) { return widening.fits(asked, slots, *gpu); }))
      return markAllAnalysesPreserved();
    for (Widening& widening : all) widening.apply();
    tile::setNumStages(kernel, slots);
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
