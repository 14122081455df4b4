// Counts what a block of operations has in registers between a load and the products that read it.
#include "compiler/analysis/boxes.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/nvidia/copy_room.h"
#include "compiler/transform/nvidia/loop_registers.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/product_layouts.h"
#include "compiler/transform/nvidia/ring_copies.h"
#include <llvm/Support/FormatVariadic.h>
#include <mlir/Analysis/Liveness.h>

namespace tandem::transform::nvidia {
using namespace mlir;
#define GEN_PASS_DEF_PARKOPERANDS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Product, "park-operands"};

// The tile whose registers hold the elements of `value` too.
Value held(Value value) {
  while (Operation* op = value.getDefiningOp()) {
    if (!isa<tile::BroadcastOp, tile::ExpandDimsOp, tile::PermuteOp, tile::ReshapeOp>(op)) break;
    value = op->getOperand(0);
  }
  return value;
}

// A thread computes integers anew from a few registers where it needs them, unless they were loaded.
int64_t registersHeld(Value value, int numWarps) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  bool isLoaded = isa_and_nonnull<tile::LoadOp, tile::BlockLoadOp>(value.getDefiningOp());
  bool isConstant = isa_and_nonnull<arith::ConstantOp, tile::SplatOp>(value.getDefiningOp());
  return type && !isConstant && (isLoaded || isa<FloatType>(type.getElementType())) ? registersOf(value, numWarps) : 0;
}

class Parking {
 public:
  Parking(func::FuncOp kernel, const target::TargetInfo& target)
      : kernel_(kernel), target_(target), numWarps_(tile::numWarps(kernel)) {
    room_ = roomForSlots(kernel, {}, target) - roomOf(target.maxSharedBytes()) + roomOf(sharedOfBlock());
  }

  bool run() {
    SmallVector<tile::DotOp> dots;
    kernel_.walk([&](tile::DotOp dot) {
      if (planDot(dot, numWarps_, target_).mma) dots.push_back(dot);
    });
    SmallVector<Operation*> loads;
    kernel_.walk([&](Operation* op) {
      if (isa<tile::LoadOp, tile::BlockLoadOp>(op) && isCandidate(op->getResult(0), dots)) loads.push_back(op);
    });
    bool changed = false;
    for (Operation* load : loads) changed |= park(load);
    return changed;
  }

 private:
  static constexpr int64_t kLeast = 32;  // registers of a thread that are worth it

  // Where registers are short, no more blocks share a multiprocessor than have all of them.
  int64_t sharedOfBlock() const {
    int64_t threads = threadsOf(numWarps_).count();
    int64_t blocks = std::max<int64_t>(1, target_.registersPerMultiprocessor() / (kRegistersOfThread * threads));
    return target_.sharedBytesPerMultiprocessor() / blocks - target_.sharedBytesReserved();
  }

  bool isCandidate(Value tile, ArrayRef<tile::DotOp> dots) const {
    auto type = dyn_cast<RankedTensorType>(tile.getType());
    if (!type || type.getRank() < 2 || !type.getElementType().isIntOrFloat()) return false;
    unsigned bits = type.getElementTypeBitWidth();
    return (bits == 8 || bits == 16) && registersOf(tile, numWarps_) >= kLeast && analysis::panelSwizzle(type) &&
           onlyProductsRead(tile.getDefiningOp(), dots);
  }

  bool park(Operation* load) {
    SmallVector<OpOperand*> reads;
    if (!collectReads(load->getResult(0), load->getBlock(), reads)) return false;
    auto isEarlier = [](OpOperand* a, OpOperand* b) { return a->getOwner()->isBeforeInBlock(b->getOwner()); };
    Operation* last = (*llvm::max_element(reads, isEarlier))->getOwner();
    Operation* first = load->getNextNode();
    while (!isa<tile::DotOp>(first)) first = first->getNextNode();
    auto type = cast<RankedTensorType>(load->getResult(0).getType());
    // All threads meet where they store.
    if (bytesOf(type) > room_ || gpu::isDivergent(load) || !isCrowded(first, last)) return false;
    room_ -= bytesOf(type);
    auto rows = RankedTensorType::get({type.getNumElements() / type.getShape().back(), type.getShape().back()},
                                      type.getElementType());
    OpBuilder top = OpBuilder::atBlockBegin(&kernel_.getBody().front()), b(first);
    Value buffer = makeBuffer(top, load->getLoc(), rows, 1);
    tgpu::LocalStoreOp::create(b, load->getLoc(), tile::ReshapeOp::create(b, load->getLoc(), rows, load->getResult(0)),
                               buffer);
    for (OpOperand* read : reads) readFrom(buffer, load->getResult(0), *read);
    const char* text = "operand loaded here waits in shared memory, not in {0} registers of each thread";
    remark::passed(load, kRemarks, llvm::formatv(text, registersOf(load->getResult(0), numWarps_)).str());
    return true;
  }

  // Returns false if a product reads the tile in another block.
  static bool collectReads(Value tile, Block* block, SmallVectorImpl<OpOperand*>& reads) {
    return llvm::all_of(tile.getUses(), [&](OpOperand& use) {
      Operation* user = use.getOwner();
      if (!isa<tile::DotOp>(user)) return collectReads(user->getResult(0), block, reads);
      reads.push_back(&use);
      return user->getBlock() == block;
    });
  }

  // Returns true if between two operations from `first` up to `last` a thread's tiles need more than it has.
  bool isCrowded(Operation* first, Operation* last) {
    Liveness liveness(kernel_);
    auto liveBehind = [&](Operation* op, llvm::SetVector<Value>& live) {
      const LivenessBlockInfo* block = liveness.getLiveness(op->getBlock());
      auto behind = block->currentlyLiveValues(op->getNextNode());
      for (Value v : block->currentlyLiveValues(op))
        if (behind.contains(v)) live.insert(held(v));
    };
    llvm::SetVector<Value> around;
    for (Operation* op = first->getParentOp(); op != kernel_; op = op->getParentOp()) liveBehind(op, around);
    for (Operation* op = first; op != last; op = op->getNextNode()) {
      llvm::SetVector<Value> live = around;
      liveBehind(op, live);
      int64_t registers = 0;
      for (Value v : live) registers += registersHeld(v, numWarps_);
      if (registers >= kRegistersForTiles) return true;
    }
    return false;
  }

  // The operand's tile again, by what made it of `tile`.
  static void readFrom(Value buffer, Value tile, OpOperand& operand) {
    SmallVector<Operation*> forms;
    for (Value v = operand.get(); v != tile; v = forms.back()->getOperand(0)) forms.push_back(v.getDefiningOp());
    OpBuilder b(operand.getOwner());
    auto smem = cast<tile::SmemType>(buffer.getType());
    Value now = tgpu::LocalLoadOp::create(
        b, tile.getLoc(), RankedTensorType::get(smem.getShape(), smem.getElementType()), buffer, Value());
    now = tile::ReshapeOp::create(b, tile.getLoc(), tile.getType(), now);
    for (Operation* form : llvm::reverse(forms)) {
      IRMapping mapping;
      mapping.map(form->getOperand(0), now);
      now = b.clone(*form, mapping)->getResult(0);
    }
    operand.set(now);
  }

  func::FuncOp kernel_;
  const target::TargetInfo& target_;
  int numWarps_;
  int64_t room_;  // bytes, beside what others have
};

struct ParkOperands : impl::ParkOperandsBase<ParkOperands> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    func::FuncOp kernel = getOperation();
    bool haveRoles = kernel.walk([](tgpu::WarpSpecializeOp) { return WalkResult::interrupt(); }).wasInterrupted();
    cleanUp(gpu && !haveRoles && Parking(kernel, *gpu).run());
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
