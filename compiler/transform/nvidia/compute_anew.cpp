// Finds what a loop's addresses are made of, and copies into the loop what makes too many different ones.
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/gpu/anchor_layouts.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Matchers.h>

namespace tandem::transform::nvidia {
using namespace mlir;
#define GEN_PASS_DEF_COMPUTEANEW
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

// An access of a loop: its pointers, and how many of a thread's elements are one access, along which dimension.
struct Access {
  OpOperand* pointers;
  int64_t neighbours;
  unsigned axis;
};

std::optional<Access> accessOf(Operation& op, const analysis::AxisInfoAnalysis& known, layout::ThreadCounts threads) {
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    auto type = dyn_cast<RankedTensorType>(load.getPointer().getType());
    if (!type || type.getRank() != 2) return std::nullopt;
    gpu::Coalescing c = gpu::coalesced(load.getPointer(), load.getMask(), known, threads);
    // The analysis knows nothing of addresses made anew, which would take wider accesses apart.
    if (c.neighbours > 1) return std::nullopt;
    return Access{&load.getPointerMutable(), 1, c.axis};
  }
  auto copy = dyn_cast<tgpu::CopyAsyncOp>(op);
  std::optional<tgpu::Neighbours> neighbours = copy ? tgpu::neighboursOf(copy) : std::nullopt;
  if (!neighbours || cast<RankedTensorType>(copy.getPointer().getType()).getRank() != 2) return std::nullopt;
  return Access{&copy.getPointerMutable(), neighbours->count, unsigned(neighbours->axis)};
}

class Anew {
 public:
  explicit Anew(scf::ForOp loop) : loop_(loop) {}

  // Returns true if the access has other pointers now.
  bool apply(const Access& access) {
    Value pointers = access.pointers->get(), root = pointers;
    auto type = cast<RankedTensorType>(pointers.getType());
    SmallVector<Value> offsets;
    for (Operation* op = root.getDefiningOp(); op; op = root.getDefiningOp()) {
      if (auto add = dyn_cast<tile::AddPtrOp>(op))
        offsets.push_back(add.getOffset());
      else if (!isa<tile::BroadcastOp>(op))
        break;
      root = op->getOperand(0);
    }
    OpBuilder b(access.pointers->getOwner());
    bool changed = false;
    for (Value& offset : offsets) {
      Value made = anewAcross(offset, access.axis, b);
      changed |= made != offset;
      offset = made;
    }
    if (!changed) return false;
    auto whole = [&](Value tile) -> Value {
      Type wanted = type.clone(getElementTypeOrSelf(tile.getType()));
      if (tile.getType() == wanted) return tile;
      if (auto splat = tile.getDefiningOp<tile::SplatOp>())
        return tile::SplatOp::create(b, splat.getLoc(), wanted, splat.getSource());
      return tile::BroadcastOp::create(b, tile.getLoc(), wanted, tile);
    };
    root = whole(root);
    for (Value offset : llvm::reverse(offsets))
      root = tile::AddPtrOp::create(b, pointers.getLoc(), type, root, whole(offset));
    access.pointers->set(root);
    return true;
  }

 private:
  bool isOutside(Value value) const { return !loop_->isAncestor(value.getParentRegion()->getParentOp()); }

  // Returns true unless the tile has one value for all elements along `axis`.
  static bool differsAlong(Value tile, unsigned axis) {
    if (auto broadcast = tile.getDefiningOp<tile::BroadcastOp>()) tile = broadcast.getSource();
    return cast<RankedTensorType>(tile.getType()).getDimSize(axis) != 1;
  }

  // `anew` of the summands that are the same for all elements along `axis`.
  Value anewAcross(Value offset, unsigned axis, OpBuilder& b) {
    auto sum = offset.getDefiningOp<arith::AddIOp>();
    if (!sum || !isOutside(offset)) return differsAlong(offset, axis) ? offset : anew(offset, b);
    Value lhs = anewAcross(sum.getLhs(), axis, b), rhs = anewAcross(sum.getRhs(), axis, b);
    if (lhs == sum.getLhs() && rhs == sum.getRhs()) return offset;
    return arith::AddIOp::create(b, sum.getLoc(), lhs, rhs);
  }

  // The value, of which products with numbers that the kernel gets are computed in the loop; itself where there are none.
  Value anew(Value value, OpBuilder& b) {
    Operation* op = value.getDefiningOp();
    if (!op || !isOutside(value)) return value;
    bool isProduct = isa<arith::MulIOp>(op);
    if (!isProduct && !isa<arith::AddIOp, arith::SubIOp, arith::ExtSIOp, tile::BroadcastOp, tile::ExpandDimsOp>(op))
      return value;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) operands.push_back(isProduct ? hidden(operand, b) : anew(operand, b));
    if (operands == SmallVector<Value>(op->getOperands())) return value;
    Operation* made = b.clone(*op);
    made->setOperands(operands);
    made->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
    return made->getResult(0);
  }

  // A number of the kernel as one that may be another in each iteration: LLVM computes nothing of it before the loop.
  Value hidden(Value factor, OpBuilder& b) {
    auto splat = factor.getDefiningOp<tile::SplatOp>();
    Value number = splat ? splat.getSource() : nullptr;
    if (!number || !number.getType().isIntOrIndex() || matchPattern(number, m_Constant())) return factor;
    Value& made = hidden_[number];
    if (!made) {
      auto letter = [](Type type) { return type.getIntOrFloatBitWidth() == 64 ? "l" : "r"; };
      Type type = number.getType(), index = loop_.getInductionVar().getType();
      if (!index.isInteger(32) && !index.isInteger(64)) return factor;
      OpBuilder top = OpBuilder::atBlockBegin(loop_.getBody());
      std::string constraints = std::string("=") + letter(type) + "," + letter(type) + "," + letter(index);
      const char* text = type.getIntOrFloatBitWidth() == 64 ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;";
      made = tile::InlineAsmOp::create(top, number.getLoc(), TypeRange(type), text, constraints, true, 1,
                                       ValueRange{number, loop_.getInductionVar()})
                 .getResult(0);
    }
    return tile::SplatOp::create(b, splat.getLoc(), splat.getType(), made);
  }

  scf::ForOp loop_;
  llvm::DenseMap<Value, Value> hidden_;
};

struct ComputeAnew : impl::ComputeAnewBase<ComputeAnew> {
  void runOnOperation() override {
    constexpr int64_t kMany = 24;  // addresses of a thread, two registers each
    func::FuncOp kernel = getOperation();
    layout::ThreadCounts threads = threadsOf(tile::numWarps(kernel));
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    bool changed = false;
    for (scf::ForOp loop : loops) {
      analysis::AxisInfoAnalysis known(kernel);
      SmallVector<Access> accesses;
      for (Operation& op : *loop.getBody()) {
        std::optional<Access> access = accessOf(op, known, threads);
        if (!access) continue;
        auto type = cast<RankedTensorType>(access->pointers->get().getType());
        if (type.getNumElements() / threads.count() / access->neighbours >= kMany) accesses.push_back(*access);
      }
      Anew anew(loop);
      for (const Access& access : accesses) changed |= anew.apply(access);
    }
    cleanUp(changed);
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
