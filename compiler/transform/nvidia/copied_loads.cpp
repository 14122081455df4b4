// Follows addresses through the loop's body.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/nvidia/copied_loads.h"
#include "compiler/analysis/zeros.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/anchor_layouts.h"
#include "compiler/transform/gpu/pointer_form.h"
#include "compiler/transform/nvidia/loop_registers.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/row_end.h"
#include <limits>
#include <llvm/Support/FormatVariadic.h>
#include <mlir/Transforms/RegionUtils.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
namespace {

constexpr int64_t kWordBytes = 4;
constexpr size_t kMaxSlice = 256;

class LoadChoice {
 public:
  LoadChoice(scf::ForOp loop, Reasons& reasons)
      : loop_(loop), kernel_(loop->getParentOfType<func::FuncOp>()), reasons_(reasons) {}

  bool usePointers() {
    analysis::AxisInfoAnalysis axes(kernel_);
    SmallVector<tile::BlockLoadOp> blocks(loop_.getBody()->getOps<tile::BlockLoadOp>());
    llvm::erase_if(blocks, [&](tile::BlockLoadOp load) {
      Slice slice;
      bool isFit = isCopyable(load, load.getCache()) &&
                   llvm::all_of(load->getOperands(), [&](Value v) { return collect(v, slice); });
      if (!isFit) reasons_[load] = why_;
      return !isFit;
    });
    for (tile::BlockLoadOp load : blocks) pointerForm(load, axes);
    return !blocks.empty();
  }

  CopiedLoads choose() {
    analysis::AxisInfoAnalysis axes(kernel_);
    int numWarps = tile::numWarps(kernel_);
    CopiedLoads chosen;
    llvm::SetVector<Operation*> needed;
    for (auto load : loop_.getBody()->getOps<tile::LoadOp>()) {
      Slice slice;
      CopiedLoad copied;
      copied.load = load;
      if (load.getIsVolatile() ? !fail({"it is volatile", ""})
                               : !isCopyable(load, load.getCache()) || !collectAddress(copied, slice)) {
        reasons_[load] = why_;
        continue;
      }
      Coalescing c = coalesced(load.getPointer(), load.getMask(), axes, threadsOf(numWarps), true);
      copied.vector = c.neighbours;
      copied.axis = c.axis;
      endRows(copied, axes, numWarps);
      if (int64_t bytes = copied.bytesAtOnce(); bytes < kWordBytes) {
        if (isForNext(load)) continue;
        reasons_[load] = tooNarrow(bytes);
        continue;
      }
      chosen.loads.push_back(copied);
      collectAddress(copied, slice);
      needed.insert_range(slice.ops);
    }
    llvm::erase_if(chosen.loads, [&](const CopiedLoad& c) { return needed.contains(c.load); });
    for (Operation* op : needed)
      if (isa<tile::LoadOp>(op)) reasons_[op] = {"addresses of other loads need it", ""};
    // Each load's address is small enough; of all together none may be left out.
    most_ = std::numeric_limits<size_t>::max();
    for (const CopiedLoad& c : chosen.loads) collectAddress(c, chosen.slice);
    return chosen;
  }

  Slice chooseIndices() {
    llvm::SetVector<Operation*> needed;
    auto isTile = [](Operation* op) { return llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>); };
    auto need = [&](ValueRange address) {
      Slice slice;
      if (llvm::all_of(address, [&](Value v) { return !v || collect(v, slice); })) needed.insert_range(slice.ops);
    };
    for (Operation& op : *loop_.getBody()) {
      if (auto load = dyn_cast<tile::LoadOp>(op); load && isTile(load)) need({load.getPointer(), load.getMask()});
      if (auto store = dyn_cast<tile::StoreOp>(op); store && isa<RankedTensorType>(store.getPointer().getType()))
        need({store.getPointer(), store.getMask()});
      if (isa<tile::BlockLoadOp>(op)) need(op.getOperands());
    }
    Slice chosen;
    for (Operation* op : needed) {
      Slice slice = chosen;
      if (isa<tile::LoadOp>(op) && collect(op->getResult(0), slice) && llvm::none_of(slice.ops, isTile)) chosen = slice;
    }
    return chosen;
  }

  Slice chooseSmall() {
    constexpr int64_t kMostRegisters = 24, kMostOfProducts = 96;
    int numWarps = tile::numWarps(loop_->getParentOfType<func::FuncOp>());
    int64_t registers = 0, ofProducts = 0;
    for (auto product : loop_.getBody()->getOps<tgpu::WgmmaOp>())
      ofProducts += registersOf(product.getResult(), numWarps);
    if (ofProducts > kMostOfProducts) return {};
    Slice chosen;
    for (auto load : loop_.getBody()->getOps<tile::LoadOp>()) {
      Slice slice = chosen;
      int64_t own = std::max<int64_t>(1, registersOf(load.getResult(), numWarps));
      if (isForNext(load) || registers + own > kMostRegisters || !collect(load.getResult(), slice)) continue;
      chosen = slice;
      registers += own;
    }
    return chosen;
  }

  Slice chooseNarrow(int64_t room) {
    analysis::AxisInfoAnalysis axes(kernel_);
    int numWarps = tile::numWarps(kernel_);
    Slice chosen;
    for (auto load : loop_.getBody()->getOps<tile::LoadOp>()) {
      auto type = dyn_cast<RankedTensorType>(load.getType());
      if (!type || !type.getElementType().isIntOrFloat() || isForNext(load)) continue;
      Coalescing c = coalesced(load.getPointer(), load.getMask(), axes, threadsOf(numWarps), true);
      CopiedLoad copied;
      copied.load = load;
      copied.vector = c.neighbours;
      copied.axis = c.axis;
      if (copied.bytesAtOnce() >= kWordBytes || neighboursInRow(copied, rowEndOf(copied), axes, numWarps)) continue;
      Slice slice = chosen;
      int64_t elements = std::max<int64_t>(1, type.getNumElements() / threadsOf(numWarps).count());
      if (!collect(load.getResult(), slice)) continue;
      // Loads that are left out hold the iteration up all the same.
      if (elements > room) return {};
      chosen = slice;
      room -= elements;
      reasons_[load] = tooNarrow(copied.bytesAtOnce());
    }
    return chosen;
  }

 private:
  static remark::Reason tooNarrow(int64_t bytes) {
    return {llvm::formatv("a thread finds {0} bytes side by side, and cp.async copies 4, 8 or 16", bytes),
            "contiguous, aligned rows: tl.multiple_of, tl.max_contiguous"};
  }

  // Returns true if the author loads a tile for the next iteration, or this compiler does.
  bool isForNext(tile::LoadOp load) {
    return llvm::all_of(load->getUsers(), [&](Operation* user) { return user == loop_.getBody()->getTerminator(); });
  }

  bool isCopyable(Operation* load, tile::Cache cache) {
    auto type = dyn_cast<RankedTensorType>(load->getResult(0).getType());
    if (!type || load->use_empty()) return false;
    if (cache == tile::Cache::Cv) return fail({"it is volatile", ""});
    if (isa<tile::PtrType>(type.getElementType()) || type.getElementTypeBitWidth() < 8)
      return fail({"cp.async copies whole bytes of numbers", ""});
    Operation* before = holdsBackIn(loop_, load);
    return !before || fail(heldBackBy(before));
  }

  bool collectAddress(const CopiedLoad& copied, Slice& slice) {
    return collect(tile::LoadOp(copied.load).getPointer(), slice) &&
           (!copied.mask() || collect(copied.mask(), slice)) && (!copied.end || collect(copied.end, slice));
  }

  // Where the mask keeps neighbours apart only because rows end somewhere: how many are copied at once if the end becomes a number of
  // its own, as long as that is more than now.
  static std::optional<int64_t> neighboursInRow(const CopiedLoad& copied, const std::optional<RowEnd>& row,
                                                const analysis::AxisInfoAnalysis& axes, int numWarps) {
    tile::LoadOp load = copied.load;
    if (!row) return std::nullopt;
    Coalescing best = coalesced(load.getPointer(), nullptr, axes, threadsOf(numWarps), true);
    for (Value condition : row->others) {
      if (!condition.getDefiningOp()) return std::nullopt;  // The loop carries it, and will be another loop.
      Coalescing c = coalesced(load.getPointer(), condition, axes, threadsOf(numWarps), true);
      if (c.neighbours < best.neighbours) best = c;
    }
    if (best.axis != copied.axis || best.neighbours <= copied.vector) return std::nullopt;
    return best.neighbours;
  }

  static std::optional<RowEnd> rowEndOf(const CopiedLoad& copied) {
    tile::LoadOp load = copied.load;
    return load.getMask() ? rowEnd(load.getMask(), copied.axis) : std::nullopt;
  }

  static void endRows(CopiedLoad& copied, const analysis::AxisInfoAnalysis& axes, int numWarps) {
    std::optional<RowEnd> row = rowEndOf(copied);
    std::optional<int64_t> neighbours = neighboursInRow(copied, row, axes, numWarps);
    if (!neighbours) return;
    copied.vector = *neighbours;
    OpBuilder builder(copied.load);
    copied.others = allOf(row->others, builder, copied.load->getLoc());
    copied.end = row->build(builder, copied.load->getLoc());
  }

  // Returns false if `value` cannot be had ahead.
  bool collect(Value value, Slice& slice) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != loop_.getBody() || argument == loop_.getInductionVar()) return true;
      unsigned i = argument.getArgNumber() - loop_.getNumInductionVars();
      return !slice.carried.insert(i) || collect(loop_.getYieldedValues()[i], slice);
    }
    Operation* op = value.getDefiningOp();
    if (!loop_->isAncestor(op) || slice.ops.contains(op)) return true;
    if (op->getBlock() != loop_.getBody() || (op->getNumRegions() && !isa<scf::IfOp>(op)))
      return fail({"its address depends on a loop of the same iteration, " + remark::lineOf(op), ""});
    if (isa<tile::DotOp, tgpu::WgmmaWaitOp>(op))
      return fail({"its address depends on a product of the same iteration, " + remark::lineOf(op), ""});
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load ? load.getIsVolatile() || holdsBackIn(loop_, op) : !isMemoryEffectFree(op))
      return fail({"its address depends on what " + remark::lineOf(op) +
                       " reads in the same iteration, which the loop may change",
                   ""});
    if (slice.ops.size() >= most_) return fail({"its address takes too many operations to compute it twice", ""});
    llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);  // of a branch, which is taken ahead as a whole
    return slice.ops.insert(op) && llvm::all_of(used, [&](Value v) { return collect(v, slice); });
  }

  // Leaves a reason, and returns false.
  bool fail(remark::Reason why) {
    why_ = std::move(why);
    return false;
  }

  scf::ForOp loop_;
  func::FuncOp kernel_;
  Reasons& reasons_;
  size_t most_ = kMaxSlice;  // operations of a slice
  remark::Reason why_;       // of the last that failed
};

}  // namespace

RankedTensorType CopiedLoad::type() const { return cast<RankedTensorType>(tile::LoadOp(load).getResult().getType()); }

layout::Swizzle CopiedLoad::swizzle() const {
  return layout::widestSwizzle(type().getDimSize(axis) * type().getElementTypeBitWidth() / 8);
}

bool CopiedLoad::fillsIn() const {
  tile::LoadOp op = load;
  return op.getMask() && op.getOther() && !analysis::isZero(op.getOther());
}

bool usePointers(scf::ForOp loop, Reasons& reasons) { return LoadChoice(loop, reasons).usePointers(); }

CopiedLoads chooseLoads(scf::ForOp loop, Reasons& reasons) { return LoadChoice(loop, reasons).choose(); }

Slice chooseIndices(scf::ForOp loop) {
  Reasons reasons;
  return LoadChoice(loop, reasons).chooseIndices();
}

Slice chooseSmall(scf::ForOp loop) {
  Reasons reasons;
  return LoadChoice(loop, reasons).chooseSmall();
}

Slice chooseNarrow(scf::ForOp loop, int64_t room, Reasons& reasons) {
  return LoadChoice(loop, reasons).chooseNarrow(room);
}

}  // namespace tandem::transform::nvidia
