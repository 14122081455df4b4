// A load's facts that are known when the kernel is launched decide how its copies are made.
#include "compiler/transform/nvidia/ring_copies.h"
#include "compiler/analysis/boxes.h"
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/tensor_choice.h"
#include "compiler/transform/nvidia/unobserved.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

class SlotCopy {
 public:
  SlotCopy(const RingPlan& plan, tile::BlockLoadOp load, int64_t blocks, const analysis::AxisInfoAnalysis& axes,
           IRMapping& mapping)
      : plan_(plan), load_(load), blocks_(blocks), axes_(axes), mapping_(mapping),
        buffer_(plan.buffers[llvm::find(plan.loads, load) - plan.loads.begin()]) {}

  // Data that only this program reads leaves L2 first.
  void start(OpBuilder& builder) {
    // Without a choice that arguments decide, the kernel makes the map of the values as they are.
    TensorChoice tensor = tensorChoice(load_).value_or(TensorChoice());
    Value once = isReadOnce(builder);
    if (!once) return startRows(tensor, builder);
    auto branch = scf::IfOp::create(builder, load_.getLoc(), once, true);
    OpBuilder then(branch.thenYield()), otherwise(branch.elseYield());
    start(tensor, true, then);
    startRows(tensor, otherwise);
  }

 private:
  // Returns a condition that is true if the other operand's tensor has no more rows or columns than the tile: every
  // block of this one is then read by one program. Null: it cannot be known.
  Value isReadOnce(OpBuilder& builder) {
    if (plan_.dots.empty() || !plan_.loop) return nullptr;
    Value once;
    for (tile::DotOp dot : plan_.dots) {
      OperandSource lhs = throughTranspose(dot.getLhs()), rhs = throughTranspose(dot.getRhs());
      bool isLhs = blockLoadBehind(lhs.source) == load_;
      if (!isLhs && blockLoadBehind(rhs.source) != load_) continue;
      tile::BlockLoadOp other = blockLoadBehind(isLhs ? rhs.source : lhs.source);
      if (once || !other || other == load_) return nullptr;
      auto type = cast<RankedTensorType>(other.getResult().getType());
      size_t dim = type.getRank() - 2 + (isLhs ? !rhs.transposed : lhs.transposed);
      Value size = other.getShape()[dim];
      if (!analysis::hostExpr(size)) return nullptr;
      int64_t ofProgram = type.getDimSize(dim) * (tgpu::isWhole(other) ? 1 : blocks_);
      Value tile = arith::ConstantIntOp::create(builder, load_.getLoc(), ofProgram, 64);
      once = arith::CmpIOp::create(builder, load_.getLoc(), arith::CmpIPredicate::sle,
                                   analysis::computeAnew(size, {}, builder), tile);
    }
    return once;
  }

  // Rows that are not there are filled with zeros, which takes the unit longer than to copy them. Where nobody looks at them, as many are
  // asked for as a few sizes allow.
  void startRows(const TensorChoice& choice, OpBuilder& builder) {
    constexpr int64_t kRows[] = {16, 64};
    int64_t all = mayBeFew(choice) ? cast<RankedTensorType>(load_.getResult().getType()).getDimSize(0) : 0;
    OpBuilder at = builder;
    for (int64_t rows : kRows) {
      if (rows >= all) break;
      Location loc = load_.getLoc();
      Value begin = arith::ExtSIOp::create(at, loc, at.getI64Type(), mapping_.lookupOrDefault(load_.getOffsets()[0]));
      Value end = arith::AddIOp::create(at, loc, begin, arith::ConstantIntOp::create(at, loc, rows, 64));
      Value size = analysis::computeAnew(load_.getShape()[0], {}, at);
      Value few = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::sle, size, end);
      auto branch = scf::IfOp::create(at, loc, few, true);
      OpBuilder then(branch.thenYield());
      start(choice, false, then, rows);
      at = OpBuilder(branch.elseYield());
    }
    start(choice, false, at);
  }

  // Returns true if a tile may end behind the tensor's last row, nobody looks at what is there, and the launcher makes the map.
  bool mayBeFew(const TensorChoice& choice) {
    auto isKnown = [](Value v) { return analysis::hostExpr(v).has_value(); };
    bool isOneTensor = load_.getShape().size() == 2 && !choice.condition && choice.facts.empty() &&
                       isKnown(load_.getBase()) && llvm::all_of(load_.getShape(), isKnown) &&
                       llvm::all_of(load_.getStrides(), isKnown);
    if (!isOneTensor || isMulticast(load_, blocks_)) return false;
    int64_t rows = cast<RankedTensorType>(load_.getResult().getType()).getDimSize(0);
    auto isWhole = [&](Value v) { return axes_.of(v).divisibility(0) % rows == 0; };
    return !(isWhole(load_.getShape()[0]) && isWhole(load_.getOffsets()[0])) && areUnobservedBehindTensor(load_, axes_);
  }

  void start(const TensorChoice& choice, bool once, OpBuilder& builder, std::optional<int64_t> rows = {}) {
    if (choice.condition) {
      auto branch = scf::IfOp::create(builder, load_.getLoc(), mapping_.lookupOrDefault(choice.condition), true);
      OpBuilder then(branch.thenYield()), otherwise(branch.elseYield());
      start(*choice.then, once, then);
      return start(*choice.otherwise, once, otherwise);
    }
    auto here = [&](Value v) {
      return choice.facts.empty() ? mapping_.lookupOrDefault(v) : analysis::computeAnew(v, choice.facts, builder);
    };
    auto offsets = llvm::map_to_vector(load_.getOffsets(), [&](Value v) { return mapping_.lookupOrDefault(v); });
    Value base = here(load_.getBase());
    SmallVector<Value> shape = llvm::map_to_vector(load_.getShape(), here),
                       strides = llvm::map_to_vector(load_.getStrides(), here);
    auto copy = tgpu::TmaLoadOp::create(builder, load_.getLoc(), base, shape, strides, offsets, buffer_, plan_.ring,
                                        load_.getPadding(), isMulticast(load_, blocks_));
    if (once) copy.setEvictFirst(true);
    if (rows) tgpu::setRowsCopied(copy, *rows);
  }

  const RingPlan& plan_;
  tile::BlockLoadOp load_;
  int64_t blocks_;
  const analysis::AxisInfoAnalysis& axes_;
  IRMapping& mapping_;
  Value buffer_;
};

}  // namespace

bool isMulticast(tile::BlockLoadOp load, int64_t blocks) {
  return tgpu::isWhole(load) &&
         analysis::multicastBox(analysis::matrixOf(cast<RankedTensorType>(load.getResult().getType())), blocks);
}

Value makeBuffer(OpBuilder& builder, Location loc, RankedTensorType type, int64_t slots) {
  auto smem = tile::SmemType::get(builder.getContext(), type.getShape().take_back(2), type.getElementType());
  return tgpu::AllocOp::create(builder, loc, smem, builder.getI32IntegerAttr(slots),
                               builder.getI32IntegerAttr(analysis::panelBytes(*analysis::panelSwizzle(type))), nullptr);
}

void gatherIntoSlot(const RingPlan& plan, const CopiedLoad& copied, OpBuilder& builder, IRMapping& mapping) {
  tile::LoadOp load = copied.load;
  size_t at = 0;
  while (plan.gathered[at].load != load) ++at;
  auto mapped = [&](Value v) { return v ? mapping.lookupOrDefault(v) : v; };
  Value always = arith::ConstantIntOp::create(builder, load.getLoc(), 1, 1);
  auto copy = tgpu::CopyAsyncOp::create(builder, load.getLoc(), mapped(load.getPointer()), mapped(copied.mask()),
                                        Value(), always, plan.gatheredBuffers[at], plan.ring);
  tgpu::setNeighbours(copy, {int32_t(copied.vector), int32_t(copied.axis)});
}

void copyIntoSlot(const RingPlan& plan, tile::BlockLoadOp load, int64_t blocks, const analysis::AxisInfoAnalysis& axes,
                  OpBuilder& builder, IRMapping& mapping) {
  SlotCopy(plan, load, blocks, axes, mapping).start(builder);
}

}  // namespace tandem::transform::nvidia
