// Looks from a store to the loads and positions that its tile is computed from, and makes a loop of all of them.
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/target/target_info.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/transform/gpu/part_of_tile.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_STOREINPARTS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr int64_t kMostPartBytes = 256;
constexpr int64_t kMostElements = 128;
constexpr int64_t kFewestParts = 4;  // of fewer parts a thread holds all

// A thread loads or stores so many bytes of a tile in each part: a quarter of its registers. Enough loads are under way then to
// fill a multiprocessor's share of the memory's rate.
int64_t partBytes(int64_t threads, const target::TargetInfo& target) {
  return std::min(kMostPartBytes, target.registersPerMultiprocessor() / threads);
}

// Stores that have the same loads behind them, and all that is computed of these, divided along one dimension.
class StoreDivision {
 public:
  StoreDivision(tile::StoreOp store, unsigned dim, const analysis::AxisInfoAnalysis& positions)
      : block_(store->getBlock()), dim_(dim), positions_(positions), part_([this](Operation* op) {
          auto load = dyn_cast<tile::LoadOp>(op);
          return (op->getBlock() == block_ || isCheap(op)) && !(load && load.getIsVolatile());
        }) {
    isPossible_ = add(store) && takeOtherUses() && isAlone() && mayBeApart();
  }

  // Makes the loop if it is right and has enough parts for so many threads, each of so many bytes.
  bool apply(int64_t threads, int64_t partBytes) {
    if (!isPossible_) return false;
    int64_t bytes = 1;
    for (Operation* op : accesses_) bytes = std::max(bytes, analysis::pointeeBytes(op->getOperand(0).getType()));
    auto tile = cast<RankedTensorType>(stores_.front().getValue().getType());
    int64_t parts = tile.getNumElements() / (std::min(kMostElements, partBytes / bytes) * threads);
    if (parts < kFewestParts || tile.getDimSize(dim_) % parts) return false;
    if (!llvm::all_of(apart_, [](auto& pair) { return tile::takeApart(pair.first, pair.second); })) return false;
    makeLoop(parts);
    return true;
  }

 private:
  void makeLoop(int64_t parts) {
    Operation* last = stores_.front();
    for (tile::StoreOp store : stores_)
      if (last->isBeforeInBlock(store)) last = store;
    OpBuilder builder(last);
    Location loc = last->getLoc();
    auto number = [&](int64_t n) { return arith::ConstantIntOp::create(builder, loc, n, 32).getResult(); };
    auto loop = scf::ForOp::create(builder, loc, number(0), number(parts), number(1));
    builder.setInsertionPointToStart(loop.getBody());
    llvm::sort(stores_, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    auto ofPart = [&](tile::MakeRangeOp range, RankedTensorType type) -> Value {
      int64_t size = type.getDimSize(0);
      Value first = tile::MakeRangeOp::create(builder, range.getLoc(), type, range.getStart(), range.getStart() + size);
      Value begin = arith::MulIOp::create(builder, loc, loop.getInductionVar(), number(size));
      return arith::AddIOp::create(builder, loc, first, tile::SplatOp::create(builder, loc, type, begin));
    };
    IRMapping made;
    for (tile::StoreOp store : stores_) {
      for (Value operand : store->getOperands()) part_.make(operand, parts, builder, ofPart, made);
      builder.clone(*store, made);
    }
    for (tile::StoreOp store : stores_) store.erase();
  }

  bool add(tile::StoreOp store) {
    if (llvm::is_contained(stores_, store)) return true;
    if (store->getBlock() != block_) return false;
    stores_.push_back(store);
    return part_.takeOperands(store, dim_);
  }

  // Loads, and what is computed of them or takes long, are not to be made twice: all that uses them is stored by parts,
  // too.
  bool takeOtherUses() {
    llvm::DenseMap<Operation*, bool> known;
    std::function<bool(Operation*)> isHeld = [&](Operation* op) {
      if (auto at = known.find(op); at != known.end()) return at->second;
      bool held = !isCheap(op) || llvm::any_of(op->getOperands(), [&](Value v) {
        return v.getDefiningOp() && part_.ops().contains(v.getDefiningOp()) && isHeld(v.getDefiningOp());
      });
      return known[op] = held;
    };
    for (size_t i = 0; i < part_.ops().size(); ++i) {
      auto [op, dim] = part_.ops().begin()[i];
      if (!isHeld(op)) continue;
      for (Operation* user : op->getUsers()) {
        if (part_.ops().contains(user)) continue;
        auto store = dyn_cast<tile::StoreOp>(user);
        if (store ? dim != dim_ || !add(store) : !isElementwise(user) || !part_.take(user->getResult(0), dim))
          return false;
      }
    }
    return true;
  }

  // Returns true if nothing but these loads and stores touches memory from the first of them to the last; other loads may
  // come before the first store, as they do then.
  bool isAlone() {
    for (auto& [op, dim] : part_.ops())
      if (isa<tile::LoadOp>(op)) accesses_.push_back(op);
    llvm::append_range(accesses_, stores_);
    llvm::sort(accesses_, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    bool stored = false;
    for (Operation* op = accesses_.front(); op != accesses_.back(); op = op->getNextNode()) {
      if (!isMemoryEffectFree(op) && !llvm::is_contained(accesses_, op) &&
          (stored || !hasSingleEffect<MemoryEffects::Read>(op)))
        return false;
      stored |= isa<tile::StoreOp>(op);
    }
    return true;
  }

  // Returns true if no part is stored where another one is loaded or stored, given that `apart_` are apart.
  bool mayBeApart() {
    for (tile::StoreOp store : stores_) {
      BlockArgument base = argumentBehind(store.getPointer());
      for (Operation* other : accesses_) {
        if (other == store) continue;
        Value pointer = other->getOperand(0);
        BlockArgument otherBase = argumentBehind(pointer);
        if (!base || !otherBase) return false;
        if (base != otherBase) {
          apart_.push_back({base, otherBase});
        } else if (isa<tile::StoreOp>(other) || pointer != store.getPointer() ||
                   positions_.of(pointer).contiguity(dim_) <
                       cast<RankedTensorType>(pointer.getType()).getDimSize(dim_)) {
          return false;
        }
      }
    }
    return true;
  }

  Block* block_;
  unsigned dim_;  // of what is stored
  const analysis::AxisInfoAnalysis& positions_;
  PartOfTile part_;
  SmallVector<tile::StoreOp> stores_;
  SmallVector<Operation*> accesses_;
  SmallVector<std::pair<BlockArgument, BlockArgument>> apart_;
  bool isPossible_;
};

struct StoreInParts : impl::StoreInPartsBase<StoreInParts> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu) return;
    func::FuncOp kernel = getOperation();
    int64_t threads = tile::numWarps(kernel) * gpu->warpSize();
    int64_t bytes = partBytes(threads, *gpu);
    bool changed = false;
    // A division takes several stores, and the analysis knows nothing of what a division has made.
    while (divideOne(kernel, threads, bytes)) changed = true;
    cleanUp(changed);
  }

 private:
  static bool divideOne(func::FuncOp kernel, int64_t threads, int64_t partBytes) {
    std::optional<analysis::AxisInfoAnalysis> positions;
    return kernel
        .walk([&](tile::StoreOp store) {
          auto type = dyn_cast<RankedTensorType>(store.getValue().getType());
          auto loop = dyn_cast<scf::ForOp>(store->getParentOp());
          // Loads that are asked for ahead stay in their loop.
          if (!type || (loop && tile::numStages(loop).value_or(1) > 1)) return WalkResult::advance();
          if (type.getNumElements() < kFewestParts * partBytes / 8 * threads) return WalkResult::advance();
          if (!positions) positions.emplace(kernel);
          for (unsigned dim = 0; dim < type.getRank(); ++dim)
            if (StoreDivision(store, dim, *positions).apply(threads, partBytes)) return WalkResult::interrupt();
          return WalkResult::advance();
        })
        .wasInterrupted();
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
