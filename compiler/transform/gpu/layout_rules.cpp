// The rules, op by op.
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/shape.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;
using layout::LinearLayout;
namespace {

ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }
SmallVector<unsigned> orderOf(tile::PermuteOp op) {
  return SmallVector<unsigned>(op.getOrder().begin(), op.getOrder().end());
}

}  // namespace

bool isSameLayout(Operation* op) {
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect())) return true;
  if (isa<tile::TileDialect>(op->getDialect()) && op->hasTrait<OpTrait::SameOperandsAndResultType>()) return true;
  return isa<tile::AddPtrOp, tile::PtrToIntOp, tile::IntToPtrOp, tile::BitcastOp, tile::FpToFpOp,
             tile::ExternElementwiseOp, tile::InlineAsmOp, tile::MapElementwiseOp, tile::LoadOp, tile::StoreOp,
             tile::AtomicRmwOp, tile::AtomicCasOp, tile::ScanOp, tgpu::WgmmaWaitOp, dist::SymmAtOp,
             dist::ConsumeTokenOp>(op);
}

bool isCheap(Operation* op) {
  if (isa<tile::MakeRangeOp, tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::ReshapeOp, tile::PermuteOp,
          tile::FpToFpOp, arith::ConstantOp, tgpu::LocalLoadOp>(op))
    return true;
  if (!isa<arith::ArithDialect>(op->getDialect()) && !isa<tile::AddPtrOp>(op)) return false;
  return isMemoryEffectFree(op) && !isa<arith::DivSIOp, arith::DivUIOp, arith::DivFOp, arith::RemFOp>(op);
}

LinearLayout withPairInRegister(const LinearLayout& layout) {
  LinearLayout out = layout;
  layout::Bases& registers = out.mutableBases(layout::Dim::Register);
  if (llvm::is_contained(registers, 1)) return layout;
  for (layout::Dim dim : {layout::Dim::Lane, layout::Dim::Warp}) {
    layout::Bases& threads = out.mutableBases(dim);
    auto* pair = llvm::find(threads, 1);
    if (pair == threads.end()) continue;
    uint64_t other = 0;
    while (!registers.empty() && !other) other = registers.pop_back_val();
    *pair = other;
    registers.insert(registers.begin(), 1);
    return out;
  }
  return layout;
}

// Returns true if a tile becomes part of a larger one, in which many threads want each of its elements.
static bool growsAgain(Value tile, llvm::SmallPtrSetImpl<Operation*>& seen) {
  return llvm::any_of(tile.getUses(), [&](OpOperand& use) {
    Operation* op = use.getOwner();
    if (isa<tile::BroadcastOp>(op)) return true;
    bool passes = isSameLayout(op) || isa<tile::ExpandDimsOp, tile::ReshapeOp, tile::PermuteOp>(op);
    if (!passes || !seen.insert(op).second) return false;
    return llvm::any_of(op->getResults(), [&](Value result) { return growsAgain(result, seen); });
  });
}

// Where lanes would hold many copies of many elements each keeps a few, which spares the lowering of the reduction most of
// its shuffles, and what follows registers.
static LinearLayout reduced(tile::ReduceOp op, const LinearLayout& layout) {
  constexpr int64_t kMany = 4;
  LinearLayout copied = layout::slice(layout, op.getAxis()), dealt = layout::dealtSlice(layout, op.getAxis());
  llvm::SmallPtrSet<Operation*, 16> seen;
  bool isFew = copied.numRegisters() < kMany * dealt.numRegisters();
  return isFew || llvm::any_of(op.getResults(), [&](Value v) { return growsAgain(v, seen); }) ? copied : dealt;
}

std::optional<LinearLayout> forward(OpOperand& operand, const LinearLayout& layout, unsigned index) {
  Operation* op = operand.getOwner();
  if (isSameLayout(op)) return layout;
  using Maybe = std::optional<LinearLayout>;
  return llvm::TypeSwitch<Operation*, Maybe>(op)
      .Case<tile::ExpandDimsOp>([&](auto o) -> Maybe { return layout::inferExpandDims(layout, o.getAxis()); })
      .Case<tile::ReshapeOp>([&](auto o) -> Maybe { return layout::inferReshape(layout, shapeOf(o.getResult())); })
      .Case<tile::PermuteOp>([&](auto o) -> Maybe { return layout::inferPermute(layout, orderOf(o)); })
      .Case<tile::BroadcastOp>([&](auto o) -> Maybe { return layout::inferBroadcast(layout, shapeOf(o.getResult())); })
      .Case<tile::JoinOp>([&](auto) -> Maybe { return layout::inferJoin(layout); })
      .Case<tile::CatOp>([&](auto) -> Maybe { return layout::inferCat(layout); })
      .Case<tile::SplitOp>([&](auto) -> Maybe { return layout::inferSplit(withPairInRegister(layout)); })
      .Case<tile::ReduceOp>([&](auto o) -> Maybe { return reduced(o, layout); })
      .Case<tile::GatherOp>(
          [&](auto) -> Maybe { return operand.getOperandNumber() == 1 ? Maybe(layout) : std::nullopt; })
      .Case<tgpu::WgmmaOp>([&](auto o) -> Maybe { return operand.get() == o.getAcc() ? Maybe(layout) : std::nullopt; })
      .Case<tile::DotOp>([&](auto o) -> Maybe { return operand.get() == o.getAcc() ? Maybe(layout) : std::nullopt; })
      .Default([](Operation*) { return std::nullopt; });
}

std::optional<LinearLayout> backward(OpOperand& operand, const LinearLayout& layout) {
  Operation* op = operand.getOwner();
  if (isSameLayout(op)) return layout;
  using Maybe = std::optional<LinearLayout>;
  Value source = operand.get();
  return llvm::TypeSwitch<Operation*, Maybe>(op)
      .Case<tile::ExpandDimsOp>([&](auto o) -> Maybe { return layout::inferExpandDimsSource(layout, o.getAxis()); })
      .Case<tile::ReshapeOp>([&](auto) -> Maybe { return layout::inferReshapeSource(layout, shapeOf(source)); })
      .Case<tile::PermuteOp>([&](auto o) -> Maybe { return layout::inferPermuteSource(layout, orderOf(o)); })
      .Case<tile::BroadcastOp>([&](auto) -> Maybe { return layout::inferBroadcastSource(layout, shapeOf(source)); })
      .Case<tile::JoinOp>([&](auto) -> Maybe { return layout::inferJoinSource(layout); })
      .Case<tile::CatOp>([&](auto) -> Maybe { return layout::inferCatSource(layout); })
      .Case<tile::SplitOp>([&](auto) -> Maybe { return layout::inferSplitSource(layout); })
      .Case<tile::GatherOp>(
          [&](auto) -> Maybe { return operand.getOperandNumber() == 1 ? Maybe(layout) : std::nullopt; })
      .Case<tgpu::WgmmaOp>([&](auto o) -> Maybe { return source == o.getAcc() ? Maybe(layout) : std::nullopt; })
      .Case<tile::DotOp>([&](auto o) -> Maybe { return source == o.getAcc() ? Maybe(layout) : std::nullopt; })
      .Default([](Operation*) { return std::nullopt; });
}

SmallVector<Value> tiedTo(OpOperand& operand) {
  Operation* op = operand.getOwner();
  unsigned i = operand.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return i >= 3 ? SmallVector<Value>{loop.getResult(i - 3)} : SmallVector<Value>{};
  if (auto loop = dyn_cast<scf::WhileOp>(op)) return {loop.getBeforeArguments()[i]};
  if (isa<scf::ConditionOp>(op))
    return i >= 1 ? SmallVector<Value>{op->getParentOp()->getResult(i - 1)} : SmallVector<Value>{};
  if (!isa<scf::YieldOp>(op)) return {};
  if (auto loop = dyn_cast<scf::WhileOp>(op->getParentOp())) return {loop.getBeforeArguments()[i]};
  return {op->getParentOp()->getResult(i)};
}

}  // namespace tandem::transform::gpu
