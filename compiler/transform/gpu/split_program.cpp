// This pass works in place: it changes types and a few attributes, and adds offsets by the block's number.
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/program_axes.h"
#include "compiler/transform/gpu/travelling.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_SPLITPROGRAM
#define GEN_PASS_DEF_DIVIDEPROGRAMS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

bool readsPlace(tile::InlineAsmOp op) {
  return llvm::any_of(
      std::initializer_list<StringRef>{"%ctaid", "%nctaid", "%cluster", "%smid", "%clock", "%globaltimer"},
      [&](StringRef name) { return op.getAssembly().contains(name); });
}

// Returns true if `value` is made of positions, scalars and constants alone.
bool isPosition(Value value, int depth = 0) {
  if (!isa<RankedTensorType>(value.getType())) return true;
  Operation* op = value.getDefiningOp();
  return op && depth < 16 && isCheap(op) &&
         llvm::all_of(op->getOperands(), [&](Value v) { return isPosition(v, depth + 1); });
}

// One range may number the rows of one tile and the columns of another: of positions each use gets its own, so that
// these stay two axes.
void separatePositions(func::FuncOp kernel) {
  constexpr int kMostCopies = 4096;
  SmallVector<Operation*> positions;
  kernel.walk([&](Operation* op) {
    if (op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) && isPosition(op->getResult(0)))
      positions.push_back(op);
  });
  int copies = 0;
  for (Operation* op : llvm::reverse(positions)) {
    SmallVector<OpOperand*> uses;
    for (OpOperand& use : op->getResult(0).getUses()) uses.push_back(&use);
    for (OpOperand* use : ArrayRef(uses).drop_front(std::min<size_t>(1, uses.size()))) {
      if (++copies > kMostCopies) return;
      OpBuilder builder(op);
      use->set(builder.clone(*op)->getResult(0));
    }
  }
}

// The blocks of a cluster compute the parts, or as many programs, which cannot do more than their part.
enum class Parts { Cluster, Programs };

class Division {
 public:
  Division(func::FuncOp kernel, int64_t blocks, Parts parts)
      : kernel_(kernel), blocks_(blocks), parts_(parts), axes_(kernel, blocks), integers_(kernel) {}

  LogicalResult run() {
    if (kernel_.walk([&](Operation* op) { return failed(check(op)) ? WalkResult::interrupt() : WalkResult::advance(); })
            .wasInterrupted())
      return failure();
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel_.getBody().front());
    if (parts_ == Parts::Programs) numberPrograms(builder);
    SmallVector<Operation*> ops;
    kernel_.walk([&](Operation* op) { ops.push_back(op); });
    SmallVector<std::pair<Value, Type>> types;
    auto add = [&](Value v) {
      if (std::optional<unsigned> dim = axes_.dividedDim(v)) types.push_back({v, partOf(v.getType(), *dim)});
    };
    kernel_.walk([&](Block* block) { llvm::for_each(block->getArguments(), add); });
    for (Operation* op : ops) llvm::for_each(op->getResults(), add);
    if (parts_ == Parts::Cluster) {
      rank_ = tgpu::BlockRankOp::create(builder, kernel_.getLoc(), builder.getI32Type());
      for (Operation* op : ops) mark(op);
      tgpu::setBlocks(kernel_, blocks_);
    } else {
      deepenRings();
    }
    for (auto [value, type] : types) value.setType(type);
    for (Operation* op : ops) shift(op);
    return success();
  }

 private:
  Type partOf(Type type, unsigned dim) const {
    auto tile = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tile.getShape());
    shape[dim] /= blocks_;
    return RankedTensorType::get(shape, tile.getElementType());
  }

  bool isDivided(Value v) const { return axes_.dividedDim(v).has_value(); }
  bool isDivided(Operation* op) const {
    return llvm::any_of(op->getOperands(), [&](Value v) { return isDivided(v); }) ||
           llvm::any_of(op->getResults(), [&](Value v) { return isDivided(v); });
  }

  //===- what a cluster cannot do -------------------------------------------------------------------------------===//
  // Blocks must agree on every scalar, and what happens once happens in the first block.
  LogicalResult check(Operation* op) {
    if (parts_ == Parts::Programs) return checkProgram(op);
    auto fail = [&](const Twine& why) {
      return op->emitError() << "`" << op->getName().getStringRef() << "` in a program of " << blocks_
                             << " blocks (`num_ctas` = " << blocks_ << "): " << why;
    };
    if (isa<simt::SimtDialect>(op->getDialect()) && !isa<simt::BarrierOp>(op))
      return fail("code of single threads is possible in programs of one block only");
    if (isa<dist::DistDialect>(op->getDialect()) && !isMemoryEffectFree(op))
      return fail("communication between ranks is possible in programs of one block only");
    if (isDivided(op)) return success();
    if (auto load = dyn_cast<tile::LoadOp>(op); load && load.getIsVolatile())
      return fail("each block would make this volatile load, and may see another value");
    if (auto code = dyn_cast<tile::InlineAsmOp>(op); code && (!code.getPure() || readsPlace(code)))
      return fail("each block would run this assembly for the whole program");
    bool isAtomic = isa<tile::AtomicRmwOp, tile::AtomicCasOp>(op);
    if (isAtomic && isa<RankedTensorType>(op->getResult(0).getType()) && !op->getResult(0).use_empty())
      return fail("the old values are needed by every block, and this tile cannot be divided among them");
    return success();
  }

  // No program knows what the others have written, nor whether they write the same.
  LogicalResult checkProgram(Operation* op) {
    auto fail = [&](const Twine& why) {
      return op->emitError() << "`" << op->getName().getStringRef() << "` in a program that " << blocks_
                             << " programs divide among them: " << why;
    };
    auto code = dyn_cast<tile::InlineAsmOp>(op);
    if (isa<simt::SimtDialect>(op->getDialect()) || (code && (!code.getPure() || readsPlace(code))))
      return fail("it is of the whole program");
    bool isHarmless = op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op) ||
                      hasSingleEffect<MemoryEffects::Read>(op);
    if (isHarmless) return success();
    if (!isDivided(op)) return fail("each of them would do it");
    BlockArgument base = argumentBehind(op->getOperand(0));
    if (!base || !areOnlyAccesses(op, base)) return fail("others may read, or write, what it writes");
    return success();
  }

  // The author's numbers are quotients of these programs' own, whose remainders are the parts.
  void numberPrograms(OpBuilder& builder) {
    SmallVector<Operation*> numbers;
    kernel_.walk([&](Operation* op) {
      auto id = dyn_cast<tile::ProgramIdOp>(op);
      auto count = dyn_cast<tile::NumProgramsOp>(op);
      if ((id && id.getAxis() == 0) || (count && count.getAxis() == 0)) numbers.push_back(op);
    });
    Location where = kernel_.getLoc();
    Value parts = arith::ConstantIntOp::create(builder, where, blocks_, 32);
    Value id = tile::ProgramIdOp::create(builder, where, 0), count = tile::NumProgramsOp::create(builder, where, 0);
    Value program = arith::DivSIOp::create(builder, where, id, parts);
    Value programs = arith::DivSIOp::create(builder, where, count, parts);
    rank_ = arith::RemSIOp::create(builder, where, id, parts);
    for (Operation* op : numbers) {
      op->getResult(0).replaceAllUsesWith(isa<tile::ProgramIdOp>(op) ? program : programs);
      op->erase();
    }
  }

  // A part's loads are smaller, and its products take less time to hide them: as many times more are under way.
  void deepenRings() {
    auto deeper = [&](Operation* op) -> std::optional<int64_t> {
      std::optional<int64_t> stages = tile::numStages(op);
      return stages && *stages > 1 ? std::optional(*stages * blocks_) : std::nullopt;
    };
    if (std::optional<int64_t> stages = deeper(kernel_)) tile::setNumStages(kernel_, *stages);
    kernel_.walk([&](scf::ForOp loop) {
      if (std::optional<int64_t> stages = deeper(loop))
        tile::setLoopHint(loop, "num_stages", Builder(loop.getContext()).getI32IntegerAttr(*stages));
    });
  }

  void mark(Operation* op) {
    if (auto store = dyn_cast<tile::BlockStoreOp>(op)) markOwnPart(store);
    if (isDivided(op)) return;
    std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
    bool accesses = does && llvm::any_of(does->accesses, [](const tile::MemoryAccess& access) {
                      return access.order == tile::AccessOrder::Program && access.memory != tile::Memory::Shared;
                    });
    if (accesses || isa<tile::PrintOp>(op)) tgpu::setWhole(op);
  }

  // Blocks of the tensor that begin at multiples of their size: its parts of that size belong to the blocks in turn.
  void markOwnPart(tile::BlockStoreOp store) {
    std::optional<unsigned> dim = axes_.dividedDim(store.getValue());
    if (!dim) return;
    int64_t size = cast<RankedTensorType>(store.getValue().getType()).getDimSize(*dim);
    if (integers_.of(store.getOffsets()[*dim]).divisibility(0) % size == 0)
      tgpu::setOwnPart(store, DenseI64ArrayAttr::get(store.getContext(), {int64_t(*dim), size}));
  }

  //===- the block's own part -----------------------------------------------------------------------------------===//
  void shift(Operation* op) {
    for (Value result : op->getResults())
      if (std::optional<unsigned> dim = axes_.dividedDim(result)) tile::limitPromises(op, *dim, partSize(result, *dim));
    if (auto range = dyn_cast<tile::MakeRangeOp>(op)) return shiftRange(range);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) return shrink(constant);
    if (auto load = dyn_cast<tile::BlockLoadOp>(op)) return shiftBlock(load, load.getResult());
    if (auto store = dyn_cast<tile::BlockStoreOp>(op)) return shiftBlock(store, store.getValue());
  }

  static int64_t partSize(Value tile, unsigned dim) { return cast<RankedTensorType>(tile.getType()).getDimSize(dim); }

  Value begin(OpBuilder& builder, Location loc, int64_t part) {
    Value size = arith::ConstantIntOp::create(builder, loc, part, 32);
    return arith::MulIOp::create(builder, loc, rank_, size);
  }

  void shiftRange(tile::MakeRangeOp range) {
    auto type = cast<RankedTensorType>(range.getType());
    if (!isDivided(range.getResult())) return;
    range.setEnd(range.getStart() + type.getDimSize(0));
    OpBuilder builder(range->getContext());
    builder.setInsertionPointAfter(range);
    Value by = tile::SplatOp::create(builder, range.getLoc(), type, begin(builder, range.getLoc(), type.getDimSize(0)));
    auto own = arith::AddIOp::create(builder, range.getLoc(), range.getResult(), by);
    range.getResult().replaceAllUsesExcept(own, own);
  }

  static void shrink(arith::ConstantOp constant) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    auto type = dyn_cast<RankedTensorType>(constant.getType());
    if (elements && elements.getType() != type)
      constant.setValueAttr(cast<TypedAttr>(Attribute(elements.resizeSplat(type))));
  }

  template <class Op>
  void shiftBlock(Op op, Value tile) {
    std::optional<unsigned> dim = axes_.dividedDim(tile);
    if (!dim) return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    OpOperand& offset = op.getOffsetsMutable()[*dim];
    offset.set(arith::AddIOp::create(builder, loc, offset.get(), begin(builder, loc, partSize(tile, *dim))));
  }

  func::FuncOp kernel_;
  int64_t blocks_;
  Parts parts_;
  ProgramAxes axes_;
  analysis::AxisInfoAnalysis integers_;
  Value rank_;
};

LogicalResult split(func::FuncOp kernel, int64_t blocks, const target::TargetInfo& target) {
  if (!target.hasClusters())
    return kernel.emitError() << "`num_ctas` is " << blocks << ", but " << StringRef(target.name())
                              << " has no clusters";
  if (!llvm::isPowerOf2_64(blocks) || blocks > target.maxClusterSize())
    return kernel.emitError() << "`num_ctas` must be a power of two up to " << target.maxClusterSize() << ", but is "
                              << blocks;
  separatePositions(kernel);
  return Division(kernel, blocks, Parts::Cluster).run();
}

struct SplitProgram : impl::SplitProgramBase<SplitProgram> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu) return;
    if (failed(split(getOperation(), blocks, *gpu))) return signalPassFailure();
    cleanUp(true);
  }
};

struct DividePrograms : impl::DivideProgramsBase<DividePrograms> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    SmallVector<dist::DividedOp> divided = opsOf<dist::DividedOp>(kernel);
    if (divided.empty()) return markAllAnalysesPreserved();
    int64_t parts = divided.front().getParts();
    for (dist::DividedOp op : divided) {
      op.getResult().replaceAllUsesWith(op.getValue());
      op.erase();
    }
    separatePositions(kernel);
    if (failed(Division(kernel, parts, Parts::Programs).run())) return signalPassFailure();
    cleanUp(true);
  }
};

}  // namespace

}  // namespace tandem::transform::gpu
