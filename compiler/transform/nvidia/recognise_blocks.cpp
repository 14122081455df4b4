// Finds the accesses that go with products, checks them, replaces them.
#include "compiler/analysis/boxes.h"
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/target/occupancy.h"
#include "compiler/target/register_plan.h"
#include "compiler/transform/gpu/drop_carried.h"
#include "compiler/transform/gpu/pointer_form.h"
#include "compiler/transform/nvidia/block_form.h"
#include "compiler/transform/nvidia/loop_registers.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/tensor_choice.h"
#include "compiler/transform/nvidia/unobserved.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Matchers.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
using analysis::ScalarExpr;
#define GEN_PASS_DEF_RECOGNISEBLOCKS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Load, "recognise-blocks"};

bool isFlip(Operation* op) {
  auto permute = dyn_cast<tile::PermuteOp>(op);
  return permute && permute.getOrder() == ArrayRef<int32_t>{1, 0};
}

class Recognition {
 public:
  explicit Recognition(func::FuncOp kernel) : kernel_(kernel), axes_(kernel), numWarps_(tile::numWarps(kernel)) {}

  bool run(const target::TargetInfo& target, bool producer) {
    kernel_.walk([&](tile::DotOp dot) {
      if (fitsWgmma(dot, numWarps_, target)) dots_.insert(dot);
    });
    if (dots_.empty() || lacksRegisters(target, producer)) return false;
    kernel_.walk([&](Operation* op) {
      if (!isa<tile::LoadOp, tile::BlockLoadOp>(op)) return;
      if (std::optional<BlockForm> form = formOf(op)) loads_[op] = *form;
    });
    keepWholeProducts();
    bool changed = false;
    if (shareByMore(target)) {
      loads_.clear();
      changed = usePointers();
    }
    for (auto& [load, why] : refused_)
      if (load->getParentOfType<scf::ForOp>()) remark::missed(load, kRemarks, "not copied by TMA", why);
    for (tile::StoreOp store : storesOfProducts())
      if (std::optional<BlockForm> form = formOf(store)) stores_[store] = *form;
    for (auto& [load, form] : loads_) replace(load, form);
    for (auto& [store, form] : stores_) replace(cast<tile::StoreOp>(store), form);
    if (loads_.empty() && stores_.empty()) return changed;
    dropCarried(kernel_);
    return true;
  }

 private:
  // TMA comes with a producer, which keeps registers: of two blocks of one warpgroup each, a thread has 216 beside
  // producers, 255 without. Where the difference would go to memory, or went there (`producer` is false), the threads
  // themselves copy ahead. A tensor that the host describes is read by TMA alone.
  bool lacksRegisters(const target::TargetInfo& target, bool producer) {
    constexpr int kBlocks = 2, kAddresses = 24;
    const int consumers = threadsOf(numWarps_).count(), producers = threadsOf(target::kProducerWarps).count();
    const int each = target.registersPerMultiprocessor() / kBlocks / (consumers + producers) / 8 * 8;
    const int64_t besideProducer = target::consumerRegisters(each, consumers), alone = kRegistersOfThread - 1;
    if (numWarps_ != target::kWgmma.warps) return false;
    bool isDescribed = false, lacks = false;
    kernel_.walk([&](tile::BlockLoadOp load) {
      isDescribed |= !readersOf(load).empty() && (producer || isTakenAsItStands(load));
    });
    if (isDescribed) return false;
    kernel_.walk([&](scf::ForOp loop) {
      bool multiplies =
          llvm::any_of(loop.getBody()->getOps<tile::DotOp>(), [&](Operation* o) { return dots_.contains(o); });
      if (multiplies && !producer) {
        lacks = true;
        remark::missed(loop, kRemarks, "loads not copied by TMA",
                       {"beside a producer's warps, registers were spilled", "smaller tiles, or more warps"});
      }
      int64_t needed = multiplies && producer ? registersOfLoop(loop, numWarps_) + kAddresses : 0;
      if (needed <= besideProducer || needed > alone) return;
      lacks = true;
      const char* text = "this loop takes about {0} registers of a thread, and a producer's warps would leave {1}";
      remark::missed(loop, kRemarks, "loads not copied by TMA",
                     {llvm::formatv(text, needed, besideProducer).str(), "smaller tiles, or more warps"});
    });
    return lacks;
  }

  // Beside a producer fewer blocks may share a multiprocessor than where threads copy: its warps take registers, and all of a block's
  // have as many as the widest instruction needs until roles divide them. One block's first copies and its stores are hidden behind
  // another one's products alone, so half as many blocks are not made up for by what TMA spares. A program that goes from tile to
  // tile copies for the next one meanwhile.
  bool shareByMore(const target::TargetInfo& target) {
    bool isDescribed = false, shares = false;
    kernel_.walk([&](tile::BlockLoadOp load) { isDescribed |= load.getDescriptor(); });
    if (isDescribed) return false;
    kernel_.walk([&](scf::ForOp loop) {
      bool isAlone = loop->getParentOp() == kernel_.getOperation();
      SmallVector<tile::DotOp> dots(loop.getBody()->getOps<tile::DotOp>()), sums = productsOfSums(loop);
      bool areSums =
          llvm::all_of(dots, [&](tile::DotOp dot) { return dots_.contains(dot) && llvm::is_contained(sums, dot); });
      // Nothing holds back the threads' copies.
      areSums &= llvm::all_of(*loop.getBody(), [](Operation& op) {
        return isMemoryEffectFree(&op) || isa<tile::LoadOp, tile::BlockLoadOp>(op);
      });
      if (!isAlone || dots.empty() || !areSums) return;
      std::pair<int, int> blocks = blocksThatShare(loop, dots, target);
      if (blocks.first < 2 * blocks.second) return;
      shares = true;
      const char* text = "{0} blocks share a multiprocessor where threads copy, and {1} beside a producer";
      remark::missed(loop, kRemarks, "loads not copied by TMA",
                     {llvm::formatv(text, blocks.first, blocks.second).str(), "larger tiles for each warp"});
    });
    return shares;
  }

  // Returns how many blocks share a multiprocessor where threads copy, and where a producer does.
  std::pair<int, int> blocksThatShare(scf::ForOp loop, ArrayRef<tile::DotOp> dots, const target::TargetInfo& target) {
    constexpr int64_t kBesideSums = 48, kBesideSumsOfConsumers = 40, kFewestStages = 2, kDefaultStages = 3,
                      kMostStored = 16 * 1024, kMostOfTwo = 128;
    int64_t groups = std::max<int64_t>(1, numWarps_ / target::kWgmma.warps), columns = 0, stored = 0, slot = 0;
    llvm::SmallDenseSet<Value> operands;
    for (tile::DotOp dot : dots) {
      auto acc = cast<RankedTensorType>(dot.getType());
      columns =
          std::max(columns, acc.getDimSize(1) * std::min(groups, acc.getDimSize(0) / target::kWgmma.rows) / groups);
      stored = std::max(stored, acc.getNumElements() * 2);
      for (Value operand : {dot.getLhs(), dot.getRhs()})
        if (operands.insert(operand).second) slot += bytesOf(cast<RankedTensorType>(operand.getType()));
    }
    int64_t stages = tile::numStages(loop).value_or(tile::numStages(kernel_).value_or(kDefaultStages)),
            bytes = std::max(stages, kFewestStages) * slot, registers = registersOfLoop(loop, numWarps_);
    int ofThreads = target::occupancyOf(target, threadsOf(numWarps_).count(), registers + kBesideSums, bytes).blocks;
    int besideProducer = target::blocksBesideProducers(
        target, {numWarps_, columns, registers + kBesideSumsOfConsumers, bytes + std::min(stored, kMostStored)});
    bool areFew = numWarps_ <= kFewWarps && columns <= kMostOfTwo;
    return {ofThreads, areFew ? std::max(besideProducer, target::roomyBlocks(target, numWarps_)) : besideProducer};
  }

  // Block pointers become pointers, too, so that threads copy what they name.
  bool usePointers() {
    SmallVector<tile::BlockLoadOp> blocks;
    kernel_.walk([&](tile::BlockLoadOp load) {
      if (!readersOf(load).empty()) blocks.push_back(load);
    });
    for (tile::BlockLoadOp load : blocks) pointerForm(load, axes_);
    return !blocks.empty();
  }

  //===- loads --------------------------------------------------------------------------------------------------===//
  std::optional<BlockForm> formOf(Operation* load) {
    if (!isa<RankedTensorType>(load->getResult(0).getType()) || readersOf(load).empty()) return std::nullopt;
    remark::Reason why;
    std::optional<BlockForm> form = readForm(load, why);
    if (form) form->isMade |= !areUnobserved(load, *form);
    if (form) why = whyNotMoved(load, *form);
    if (isa<tile::LoadOp>(load) && !why.why.empty()) refused_[load] = why;
    return why.why.empty() ? form : std::nullopt;
  }

  // Returns why a block is not copied ahead as it is; an empty reason if it is.
  remark::Reason whyNotMoved(Operation* load, const BlockForm& form) {
    if (!suitsReaders(load, form))
      return {"wgmma cannot read its rows as they lie in memory",
              "rows along K of at least 32 bytes, or 16-bit elements"};
    if (Operation* op = holdsBack(load, cast<BlockArgument>(form.access.memory()))) return heldBackBy(op);
    if (form.isMade && !changesSeldom(load, form))
      return {"its mask leaves out more than the bounds of a tensor of the kernel's arguments", ""};
    for (unsigned d : {0u, 1u})
      if (form.wraps[d] &&
          !isUnobservedFrom(load->getResult(0), d, form.extents[d] - form.access.dims[d].offset, axes_))
        return {"its indices wrap around or are clamped, and what they read twice is looked at",
                "a mask instead of the remainder"};
    return {};
  }

  // Returns true if nobody looks at what further bounds than the extents leave out.
  bool areUnobserved(Operation* load, const BlockForm& form) const {
    return llvm::all_of(llvm::enumerate(form.access.dims), [&](const auto& at) {
      return llvm::all_of(at.value().alsoBelow, [&](const ScalarExpr& bound) {
        return isUnobservedFrom(load->getResult(0), at.index(), bound - at.value().offset, axes_);
      });
    });
  }

  static bool changesSeldom(Operation* load, const BlockForm& form) {
    SmallVector<ScalarExpr> sizes(form.extents.begin(), form.extents.end());
    for (const analysis::DimAccess& dim : form.access.dims) llvm::append_range(sizes, dim.alsoBelow);
    auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
    return loop && changeSeldom(sizes, loop);
  }

  static bool isTakenAsItStands(tile::BlockLoadOp load) { return fitsTma(load) && tensorChoice(load); }

  // Pointers, or a block as block pointers and descriptors in the kernel make it, unless TMA takes that as it stands.
  std::optional<BlockForm> readForm(Operation* op, remark::Reason& why) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (load.getIsVolatile() || load.getCache() == tile::Cache::Cv) why = {"it is volatile", ""};
      if (load.getOther() && !analysis::isZero(load.getOther()))
        why = {"outside of the mask it reads something else than zeros", "other=0"};
      return why.why.empty() ? blockForm(load.getPointer(), load.getMask(), axes_, why) : std::nullopt;
    }
    auto load = cast<tile::BlockLoadOp>(op);
    bool readsZeros = load.getBoundaryCheck().empty() || load.getPadding() == tile::Padding::Zero;
    return readsZeros && !isTakenAsItStands(load) ? blockForm(load, axes_, why) : std::nullopt;
  }

  struct Reader {
    tile::DotOp dot;
    bool isLhs, isFlipped;  // flipped: through a transpose
  };

  // Empty when something else reads the tile than products of the same iteration, or of loops behind the load.
  SmallVector<Reader> readersOf(Operation* load) const {
    SmallVector<Reader> readers;
    Block* block = load->getBlock();
    if (!addReaders(load->getResult(0), false, readers)) return {};
    auto isBeside = [&](const Reader& r) { return r.dot->getBlock() == block; };
    auto isInLoopBehind = [&](const Reader& r) {
      auto loop = dyn_cast<scf::ForOp>(r.dot->getParentOp());
      return loop && loop->getBlock() == block;
    };
    bool isInLoop = isa<scf::ForOp>(load->getParentOp()), isOnTop = isa<func::FuncOp>(load->getParentOp());
    bool isServed = (isInLoop && llvm::all_of(readers, isBeside)) ||
                    ((isInLoop || isOnTop) && llvm::all_of(readers, isInLoopBehind));
    return isServed ? readers : SmallVector<Reader>();
  }

  bool addReaders(Value tile, bool isFlipped, SmallVector<Reader>& to) const {
    return llvm::all_of(tile.getUses(), [&](OpOperand& use) {
      if (isFlip(use.getOwner()) && !isFlipped) return addReaders(use.getOwner()->getResult(0), true, to);
      auto dot = dyn_cast<tile::DotOp>(use.getOwner());
      if (!dot || !dots_.contains(dot) || use.get() == dot.getAcc()) return false;
      to.push_back({dot, use.getOperandNumber() == dot.getLhsMutable().getOperandNumber(), isFlipped});
      return true;
    });
  }

  // Returns true if wgmma takes the tile as it lies in memory. Otherwise it would go through registers as it does now.
  bool suitsReaders(Operation* load, const BlockForm& form) const {
    RankedTensorType type = form.inMemory(cast<RankedTensorType>(load->getResult(0).getType()));
    return analysis::panelSwizzle(type) && llvm::all_of(readersOf(load), [&](const Reader& reader) {
             bool kMajor = reader.isLhs != (reader.isFlipped != form.isFlipped);
             return kMajor || type.getElementTypeBitWidth() == 16;
           });
  }

  // A product that still has to wait for one operand's load gains nothing from the other's copy.
  void keepWholeProducts() {
    auto isLeft = [&](Value operand, Block* block) {
      auto load = throughTranspose(operand).source.getDefiningOp<tile::LoadOp>();
      return load && load->getBlock() == block && !loads_.count(load);
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation* load : llvm::to_vector(llvm::make_first_range(loads_))) {
        bool lacks = llvm::any_of(readersOf(load), [&](Reader reader) {
          Block* block = reader.dot->getBlock();
          return isLeft(reader.dot.getLhs(), block) || isLeft(reader.dot.getRhs(), block);
        });
        if (!lacks) continue;
        changed |= loads_.erase(load) > 0;
        if (isa<tile::LoadOp>(load)) refused_[load] = {"the product waits for its other operand, which is not", ""};
      }
    }
  }

  void replace(Operation* load, const BlockForm& form) {
    OpBuilder builder(load);
    Location loc = load->getLoc();
    BlockOperands block = buildOperands(form, builder, loc);
    auto type = cast<RankedTensorType>(load->getResult(0).getType());
    auto hints = [&](auto op) { return std::pair(op.getCache(), op.getEvict()); };
    auto [cache, evict] =
        isa<tile::LoadOp>(load) ? hints(cast<tile::LoadOp>(load)) : hints(cast<tile::BlockLoadOp>(load));
    Value tile = tile::BlockLoadOp::create(builder, loc, form.block(type), block.base, block.shape, block.strides,
                                           block.offsets, form.allDims(), tile::Padding::Zero, cache, evict, true);
    if (tgpu::isWhole(load)) tgpu::setWhole(tile.getDefiningOp());
    if (!form.outer.empty()) tile = tile::ReshapeOp::create(builder, loc, form.inMemory(type), tile);
    if (form.isFlipped) {
      for (Operation* user : llvm::make_early_inc_range(load->getUsers())) {
        if (!isFlip(user)) continue;
        user->getResult(0).replaceAllUsesWith(tile);
        user->erase();
      }
      if (!load->use_empty())
        tile = tile::PermuteOp::create(builder, loc, type, tile, builder.getDenseI32ArrayAttr({1, 0}));
    }
    load->getResult(0).replaceAllUsesWith(tile);
    load->erase();
  }

  //===- stores -------------------------------------------------------------------------------------------------===//
  // Those whose value is computed from a product's result element by element.
  llvm::SetVector<tile::StoreOp> storesOfProducts() const {
    llvm::SetVector<tile::StoreOp> stores;
    llvm::DenseSet<Value> seen;
    SmallVector<Value> todo;
    auto push = [&](Value v) {
      if (seen.insert(v).second) todo.push_back(v);
    };
    for (Operation* dot : dots_) push(dot->getResult(0));
    while (!todo.empty()) {
      Value tile = todo.pop_back_val();
      for (OpOperand& use : tile.getUses()) {
        Operation* op = use.getOwner();
        if (auto store = dyn_cast<tile::StoreOp>(op); store && store.getValue() == tile) stores.insert(store);
        if (isa<scf::YieldOp>(op) && isa<scf::ForOp, scf::IfOp>(op->getParentOp()))
          push(op->getParentOp()->getResult(use.getOperandNumber()));
        if (op->getNumResults() == 1 && (op->hasTrait<OpTrait::Elementwise>() || isa<tile::FpToFpOp>(op)))
          push(op->getResult(0));
      }
    }
    return stores;
  }

  // Copies out of one loop iteration may be overtaken by those of the next, so these stay stores.
  std::optional<BlockForm> formOf(tile::StoreOp store) {
    if (store.getCache() != tile::Cache::None || store->getParentOfType<scf::ForOp>() ||
        store->getParentOfType<scf::WhileOp>())
      return std::nullopt;
    remark::Reason why;
    std::optional<BlockForm> form = blockForm(store.getPointer(), store.getMask(), axes_, why);
    if (!form || form->isFlipped || llvm::is_contained(form->wraps, true)) return std::nullopt;
    auto isSimple = [](const analysis::DimAccess& dim) { return dim.alsoBelow.empty(); };
    if (form->isMade || !llvm::all_of(form->access.dims, isSimple)) return std::nullopt;
    auto type = cast<RankedTensorType>(store.getValue().getType());
    auto base = dyn_cast<BlockArgument>(form->access.base);
    if (!analysis::panelSwizzle(type) || !base || !isOnlyAccess(store, base)) return std::nullopt;
    return form;
  }

  void replace(tile::StoreOp store, const BlockForm& form) {
    OpBuilder builder(store);
    Location loc = store.getLoc();
    BlockOperands block = buildOperands(form, builder, loc);
    Value value = store.getValue();
    if (!form.outer.empty())
      value = tile::ReshapeOp::create(builder, loc, form.block(cast<RankedTensorType>(value.getType())), value);
    auto blockStore =
        tile::BlockStoreOp::create(builder, loc, block.base, block.shape, block.strides, block.offsets, value,
                                   form.allDims(), tile::RmwAttr(), store.getCache(), store.getEvict(), true);
    if (tgpu::isWhole(store)) tgpu::setWhole(blockStore);
    store.erase();
  }

  func::FuncOp kernel_;
  analysis::AxisInfoAnalysis axes_;
  int numWarps_;
  llvm::SetVector<Operation*> dots_;
  llvm::MapVector<Operation*, BlockForm> loads_, stores_;
  llvm::MapVector<Operation*, remark::Reason> refused_;  // pointer loads of products that do not become blocks
};

struct RecogniseBlocks : impl::RecogniseBlocksBase<RecogniseBlocks> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (gpu) cleanUp(gpu->hasTma() && gpu->hasWgmma() && Recognition(getOperation()).run(*gpu, producer));
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
