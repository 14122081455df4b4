// Counts what a block of operations has in registers between a load and what reads it.
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

// Forms of a tile that a thread makes anew from what it has read: the same elements, in another order or wider.
bool isForm(Operation* op) { return isa<tile::PermuteOp, tile::ReshapeOp, tile::FpToFpOp>(op); }

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
    int64_t left = roomForSlots(kernel, {}, target);
    for (int64_t blocks = blocksOf(); blocks > 0 && room_ <= 0; --blocks)
      room_ = left - roomOf(target.maxSharedBytes()) + roomOf(sharedOf(blocks));
  }

  bool run() {
    SmallVector<Operation*> loads;
    SmallVector<tgpu::LocalLoadOp> slots;
    kernel_.walk([&](Operation* op) {
      if (isa<tile::LoadOp, tile::BlockLoadOp>(op) && isCandidate(op->getResult(0))) loads.push_back(op);
      if (auto slot = dyn_cast<tgpu::LocalLoadOp>(op)) slots.push_back(slot);
    });
    bool changed = false;
    for (Operation* load : loads) changed |= park(load);
    for (tgpu::LocalLoadOp slot : slots) changed |= readAgain(slot);
    return changed;
  }

 private:
  static constexpr int64_t kLeast = 32;  // registers of a thread that are worth it

  // Where registers are short, no more blocks share a multiprocessor than have all of them.
  int64_t blocksOf() const {
    int64_t threads = threadsOf(numWarps_).count();
    return std::max<int64_t>(1, target_.registersPerMultiprocessor() / (kRegistersOfThread * threads));
  }

  int64_t sharedOf(int64_t blocks) const {
    return std::min<int64_t>(target_.maxSharedBytes(),
                             target_.sharedBytesPerMultiprocessor() / blocks - target_.sharedBytesReserved());
  }

  bool isCandidate(Value tile) const {
    auto type = dyn_cast<RankedTensorType>(tile.getType());
    if (!type || type.getRank() < 2 || !type.getElementType().isIntOrFloat()) return false;
    unsigned bits = type.getElementTypeBitWidth();
    return (bits == 8 || bits == 16) && registersOf(tile, numWarps_) >= kLeast && analysis::panelSwizzle(type);
  }

  // Returns true if the op multiplies, or stores a tile where wgmma reads it.
  bool isProduct(Operation* op) const {
    auto dot = dyn_cast<tile::DotOp>(op);
    return dot ? planDot(dot, numWarps_, target_).mma : isa<tgpu::WgmmaOp, tgpu::LocalStoreOp>(op);
  }

  bool park(Operation* load) {
    SmallVector<OpOperand*> reads;
    if (!collectReads(load->getResult(0), load->getBlock(), reads) || reads.empty() ||
        !llvm::all_of(reads, [&](OpOperand* read) { return isProduct(read->getOwner()); }))
      return false;
    Operation *first = load->getNextNode(), *last = reads.back()->getOwner();
    while (!isProduct(first)) first = first->getNextNode();
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

  // Lets each use of a tile that lies in a slot or a buffer read it from there, where registers are short until then.
  bool readAgain(tgpu::LocalLoadOp slot) {
    SmallVector<OpOperand*> reads;
    if (!collectReads(slot.getResult(), slot->getBlock(), reads)) return false;
    bool changed = false;
    for (size_t i = reads.size(); i-- > 0;) {
      Operation *before = i ? reads[i - 1]->getOwner() : slot.getOperation(), *reader = reads[i]->getOwner();
      if (before == reader || registersOf(reads[i]->get(), numWarps_) < kLeast || !staysUntil(slot, reader) ||
          !isCrowded(before, reader))
        continue;
      readAnew(slot.getResult(), *reads[i], [&](OpBuilder& b) { return b.clone(*slot)->getResult(0); });
      changed = true;
    }
    if (changed)
      remark::passed(slot, kRemarks, "operand read from shared memory for each use, not kept in registers until then");
    return changed;
  }

  // Returns true if nothing before `reader` lets the slot go or writes to it.
  static bool staysUntil(tgpu::LocalLoadOp slot, Operation* reader) {
    for (Operation* op = slot->getNextNode(); op != reader; op = op->getNextNode()) {
      bool mayChange = op->walk([&](Operation* inner) {
                           bool isOfSlot = llvm::is_contained(inner->getOperands(), slot.getBuffer()) ||
                                           (slot.getRing() && llvm::is_contained(inner->getOperands(), slot.getRing()));
                           return isOfSlot && !isa<tgpu::LocalLoadOp, tgpu::WgmmaOp>(inner) ? WalkResult::interrupt()
                                                                                            : WalkResult::advance();
                         }).wasInterrupted();
      if (mayChange) return false;
    }
    return true;
  }

  // Collects the operands that are the tile or a form of it, in the order of their ops. Returns false if one is in another block.
  static bool collectReads(Value tile, Block* block, SmallVectorImpl<OpOperand*>& reads) {
    SmallVector<Value> forms{tile};
    for (size_t i = 0; i < forms.size(); ++i)
      for (OpOperand& use : forms[i].getUses()) {
        if (use.getOwner()->getBlock() != block) return false;
        if (isForm(use.getOwner()))
          forms.push_back(use.getOwner()->getResult(0));
        else
          reads.push_back(&use);
      }
    llvm::sort(reads, [](OpOperand* a, OpOperand* b) { return a->getOwner()->isBeforeInBlock(b->getOwner()); });
    return true;
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

  // The operand becomes the same form of what `buffer` holds.
  static void readFrom(Value buffer, Value tile, OpOperand& operand) {
    readAnew(tile, operand, [&](OpBuilder& b) -> Value {
      auto smem = cast<tile::SmemType>(buffer.getType());
      auto rows = RankedTensorType::get(smem.getShape(), smem.getElementType());
      Value now = tgpu::LocalLoadOp::create(b, tile.getLoc(), rows, buffer, Value());
      return tile::ReshapeOp::create(b, tile.getLoc(), tile.getType(), now);
    });
  }

  // The operand becomes the same form of what `read` makes before its op.
  static void readAnew(Value tile, OpOperand& operand, llvm::function_ref<Value(OpBuilder&)> read) {
    SmallVector<Operation*> forms;
    for (Value v = operand.get(); v != tile; v = forms.back()->getOperand(0)) forms.push_back(v.getDefiningOp());
    OpBuilder b(operand.getOwner());
    Value now = read(b);
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
  int64_t room_ = 0;  // bytes, beside what others have
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
