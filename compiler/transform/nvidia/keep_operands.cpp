// Looks at the operands of mma.sync one at a time, and keeps those that a loop takes from outside.
#include "compiler/analysis/boxes.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/nvidia/loop_registers.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/product_layouts.h"
#include "compiler/transform/nvidia/ring_copies.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/Support/FormatVariadic.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::nvidia {
using namespace mlir;
#define GEN_PASS_DEF_KEEPOPERANDS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Product, "keep-operands"};

// Returns the outermost loop around `op` that `value` comes from outside of.
Operation* loopBehind(Operation* op, Value value) {
  Operation* found = nullptr;
  for (Operation* around = op->getParentOp(); around; around = around->getParentOp()) {
    if (around->isAncestor(value.getParentBlock()->getParentOp())) break;
    if (isa<scf::ForOp, scf::WhileOp>(around)) found = around;
  }
  return found;
}

class Keeping {
 public:
  Keeping(func::FuncOp kernel, const target::TargetInfo& target)
      : kernel_(kernel), target_(target), numWarps_(tile::numWarps(kernel)) {}

  bool run() {
    SmallVector<tile::DotOp> dots;
    kernel_.walk([&](tile::DotOp dot) { dots.push_back(dot); });
    bool changed = false;
    for (tile::DotOp dot : dots) {
      DotPlan plan = planDot(dot, numWarps_, target_);
      if (!plan.mma) continue;
      changed |= keep(dot.getLhsMutable(), plan.lhs);
      changed |= keep(dot.getRhsMutable(), plan.rhs);
    }
    return changed;
  }

 private:
  bool keep(OpOperand& operand, const layout::LinearLayout& wanted) {
    Value tile = operand.get();
    Operation* loop = loopBehind(operand.getOwner(), tile);
    auto type = cast<RankedTensorType>(tile.getType());
    // A product in a branch would have its operand brought to its threads in every iteration, not once before the loop.
    bool isInBranch = !isa<scf::ForOp, scf::WhileOp>(operand.getOwner()->getParentOp());
    if (!loop || !fits(type) || !(takesMany(type, wanted, isInBranch ? 32 : 96) || isCrowded(operand, wanted)) ||
        gpu::isDivergent(loop))
      return false;
    Value buffer = bufferOf(tile, loop);
    if (!buffer) return false;
    OpBuilder b(operand.getOwner());
    operand.set(tgpu::LocalLoadOp::create(b, tile.getLoc(), tile.getType(), buffer, Value()));
    const char* text = "{0} operand kept in shared memory for the loop, not in {1} registers of each thread";
    bool isLeft = &operand == &cast<tile::DotOp>(operand.getOwner()).getLhsMutable();
    remark::passed(
        operand.getOwner(), kRemarks,
        llvm::formatv(text, isLeft ? "left" : "right", registersHeld(cast<RankedTensorType>(tile.getType()), wanted))
            .str());
    return true;
  }

  static int64_t registersHeld(RankedTensorType type, const layout::LinearLayout& wanted) {
    return int64_t(wanted.numRegisters()) * type.getElementTypeBitWidth() / 32;
  }

  // Returns true if every thread would hold `many` registers, and all threads together several copies of the tile.
  bool takesMany(RankedTensorType type, const layout::LinearLayout& wanted, int64_t many) const {
    constexpr int64_t kCopies = 2;
    int64_t held = registersHeld(type, wanted), threads = threadsOf(numWarps_).count();
    return held >= many && held * 32 / type.getElementTypeBitWidth() * threads >= kCopies * type.getNumElements();
  }

  static bool fits(RankedTensorType type) {
    unsigned bits = type.getElementTypeBitWidth();
    return type.getRank() == 2 && (bits == 8 || bits == 16) && analysis::panelSwizzle(type);
  }

  // Returns true if the operand and what the loop around its product has of tiles need more registers than a thread has.
  bool isCrowded(OpOperand& operand, const layout::LinearLayout& wanted) const {
    constexpr int64_t kLeast = 32;
    auto loop = operand.getOwner()->getParentOfType<scf::ForOp>();
    int64_t held = registersHeld(cast<RankedTensorType>(operand.get().getType()), wanted);
    return loop && held >= kLeast && held + registersOfLoop(loop, numWarps_) > kRegistersForTiles;
  }

  // Stored before the first loop, once for all products in it and in later ones; nothing where too little would be left for
  // copies ahead.
  Value bufferOf(Value tile, Operation* loop) {
    SmallVector<tgpu::LocalStoreOp>& stores = stores_[tile];
    for (tgpu::LocalStoreOp store : stores)
      if (store->getBlock()->findAncestorOpInBlock(*loop)) return store.getBuffer();
    int64_t bytes = bytesOf(cast<RankedTensorType>(tile.getType()));
    if (kept_ + bytes > target_.maxSharedBytes() / 4) return nullptr;
    kept_ += bytes;
    OpBuilder top = OpBuilder::atBlockBegin(&kernel_.getBody().front()), before(loop);
    Value buffer = makeBuffer(top, tile.getLoc(), cast<RankedTensorType>(tile.getType()), 1);
    stores.push_back(tgpu::LocalStoreOp::create(before, tile.getLoc(), tile, buffer));
    return buffer;
  }

  func::FuncOp kernel_;
  const target::TargetInfo& target_;
  int numWarps_;
  int64_t kept_ = 0;  // bytes
  llvm::MapVector<Value, SmallVector<tgpu::LocalStoreOp>> stores_;
};

struct KeepOperands : impl::KeepOperandsBase<KeepOperands> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    func::FuncOp kernel = getOperation();
    bool haveRoles = kernel.walk([](tgpu::WarpSpecializeOp) { return WalkResult::interrupt(); }).wasInterrupted();
    cleanUp(gpu && !haveRoles && Keeping(kernel, *gpu).run());
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
