// Rings and roles for products in loops; buffers for the others.
#include "compiler/transform/gpu/select_products.h"
#include "compiler/transform/gpu/operands.h"
#include "compiler/transform/gpu/producer.h"
#include <llvm/ADT/MapVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

int64_t bytesOf(RankedTensorType tile) { return tile.getNumElements() * tile.getElementTypeBitWidth() / 8; }

// Loads that one ring serves: they are in one loop and the same products read them.
struct RingPlan {
  SmallVector<tile::BlockLoadOp> loads;
  SmallVector<tile::DotOp> dots;  // in the order of the program
  scf::ForOp loop;
  int64_t bytes = 0;
  Value ring;
  SmallVector<Value> buffers;     // one a load
};

class ProductSelection {
 public:
  ProductSelection(func::FuncOp kernel, const target::TargetInfo& target)
      : kernel_(kernel), target_(target), numWarps_(kernel->getAttrOfType<IntegerAttr>("tile.num_warps").getInt()) {}

  void run() {
    kernel_.walk([&](tile::DotOp dot) {
      if (fitsWgmma(dot, numWarps_, target_)) dots_.push_back(dot);
    });
    if (target_.hasTma()) planRings();
    if (!rings_.empty() && fitSlots()) specialize();
    for (tile::DotOp dot : dots_) multiply(dot);
    eraseUnused();
  }

 private:
  //===- rings --------------------------------------------------------------------------------------------------===//
  void planRings() {
    llvm::MapVector<Operation*, SmallVector<tile::DotOp>> readers;
    for (tile::DotOp dot : dots_)
      for (bool isLhs : {true, false}) {
        OperandSource operand = throughTranspose(isLhs ? dot.getLhs() : dot.getRhs());
        auto load = operand.source.getDefiningOp<tile::BlockLoadOp>();
        if (!load || !fitsTma(load) || !readsFromShared(dot, isLhs, operand)) continue;
        auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
        if (!loop || dot->getParentOp() != loop) continue;
        readers[load].push_back(dot);
      }
    for (auto& [op, dots] : readers) {
      auto load = cast<tile::BlockLoadOp>(op);
      if (!onlyProductsRead(load, dots)) continue;
      RingPlan* plan = nullptr;
      for (RingPlan& p : rings_)
        if (p.loop == load->getParentOp() && p.dots == dots) plan = &p;
      if (!plan) {
        plan = &rings_.emplace_back();
        plan->loop = cast<scf::ForOp>(load->getParentOp());
        plan->dots = dots;
      }
      plan->loads.push_back(load);
      plan->bytes += bytesOf(cast<RankedTensorType>(load.getResult().getType()));
    }
  }

  static bool onlyProductsRead(tile::BlockLoadOp load, ArrayRef<tile::DotOp> dots) {
    auto isReader = [&](Operation* user) { return llvm::is_contained(dots, dyn_cast<tile::DotOp>(user)); };
    return llvm::all_of(load->getUsers(), [&](Operation* user) {
      return isReader(user) || (isa<tile::PermuteOp>(user) && llvm::all_of(user->getUsers(), isReader));
    });
  }

  // As many slots as were asked for, or as fit; the epilogue keeps what it needs.
  bool fitSlots() {
    int64_t perSlot = 0;
    for (const RingPlan& p : rings_) perSlot += p.bytes;
    int64_t budget = target_.maxSharedBytes() - kEpilogueBytes;
    slots_ = std::min<int64_t>(budget / perSlot, kMaxSlots);
    if (auto asked = kernel_->getAttrOfType<IntegerAttr>("tile.num_stages")) slots_ = std::min<int64_t>(slots_, std::max<int64_t>(2, asked.getInt()));
    return slots_ >= 2;
  }

  void specialize() {
    Block& body = kernel_.getBody().front();
    SmallVector<Operation*> roots;
    for (RingPlan& p : rings_)
      for (tile::BlockLoadOp load : p.loads) roots.push_back(load);
    auto needed = neededFor(body, roots);
    if (!needed) return rings_.clear();

    Location loc = kernel_.getLoc();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (RingPlan& p : rings_) makeRing(p, builder);
    auto roles = tgpu::WarpSpecializeOp::create(builder, loc);
    Block& consumer = roles.getConsumer().emplaceBlock();
    Block& producer = roles.getProducer().emplaceBlock();
    consumer.getOperations().splice(consumer.end(), body.getOperations(), std::next(roles->getIterator()), std::prev(body.end()));

    OpBuilder inProducer = OpBuilder::atBlockEnd(&producer);
    IRMapping mapping;
    cloneNeeded(consumer, *needed, inProducer, mapping, [&](Operation* op, OpBuilder& b, IRMapping& map) { return copyLoad(op, b, map); });
    for (RingPlan& p : rings_) consume(p);
  }

  void makeRing(RingPlan& p, OpBuilder& builder) {
    Location loc = p.loads.front().getLoc();
    p.ring = tgpu::RingOp::create(builder, loc, builder.getI32Type(), builder.getI32IntegerAttr(slots_), builder.getI32IntegerAttr(p.bytes));
    for (tile::BlockLoadOp load : p.loads) {
      auto type = cast<RankedTensorType>(load.getResult().getType());
      p.buffers.push_back(makeBuffer(builder, load.getLoc(), type, slots_));
    }
  }

  static Value makeBuffer(OpBuilder& builder, Location loc, RankedTensorType type, int64_t slots) {
    auto smem = tile::SmemType::get(builder.getContext(), type.getShape(), type.getElementType());
    return tgpu::AllocOp::create(builder, loc, smem, builder.getI32IntegerAttr(slots),
                                 builder.getI32IntegerAttr(panelBytes(*panelSwizzle(type))));
  }

  // The first load of a ring's slot acquires it, the last commits.
  bool copyLoad(Operation* op, OpBuilder& builder, IRMapping& mapping) {
    auto load = dyn_cast<tile::BlockLoadOp>(op);
    if (!load) return false;
    for (RingPlan& p : rings_) {
      auto it = llvm::find(p.loads, load);
      if (it == p.loads.end()) continue;
      Location loc = load.getLoc();
      if (it == p.loads.begin()) tgpu::AcquireOp::create(builder, loc, p.ring);
      auto mapped = [&](ValueRange values) {
        return llvm::map_to_vector(values, [&](Value v) { return mapping.lookupOrDefault(v); });
      };
      tgpu::TmaLoadOp::create(builder, loc, mapping.lookupOrDefault(load.getBase()), mapped(load.getShape()), mapped(load.getStrides()),
                              mapped(load.getOffsets()), p.buffers[it - p.loads.begin()], p.ring, load.getPadding());
      if (std::next(it) == p.loads.end()) tgpu::CommitOp::create(builder, loc, p.ring);
      return true;
    }
    return false;
  }

  //===- consumers ----------------------------------------------------------------------------------------------===//
  // Where a ring's only product adds to what the loop carries and nothing else looks at it, one product stays under way from each
  // iteration to the next.
  void consume(RingPlan& p) {
    OpBuilder builder(p.dots.front());
    tgpu::AwaitOp::create(builder, p.dots.front().getLoc(), p.ring);
    tile::DotOp last = p.dots.back();
    builder.setInsertionPointAfter(last);
    bool overlaps = rings_.size() == 1 && p.dots.size() == 1 && accumulates(last, p.loop);
    tgpu::AdvanceOp::create(builder, last.getLoc(), p.ring);
    if (overlaps) {
      pending_[last] = 1;
      Value later = arith::CmpIOp::create(builder, last.getLoc(), arith::CmpIPredicate::ne, p.loop.getInductionVar(), p.loop.getLowerBound());
      releaseIf(builder, last.getLoc(), later, p.ring);
      builder.setInsertionPointAfter(p.loop);
      Value result = p.loop.getTiedLoopResult(&p.loop.getInitsMutable()[accIndex(last, p.loop)]);
      auto wait = tgpu::WgmmaWaitOp::create(builder, p.loop.getLoc(), result, builder.getI32IntegerAttr(0));
      result.replaceAllUsesExcept(wait.getResult(), wait);
      Value ran = arith::CmpIOp::create(builder, last.getLoc(), arith::CmpIPredicate::slt, p.loop.getLowerBound(), p.loop.getUpperBound());
      releaseIf(builder, last.getLoc(), ran, p.ring);
    } else {
      tgpu::ReleaseOp::create(builder, last.getLoc(), p.ring);
    }
  }

  static void releaseIf(OpBuilder& builder, Location loc, Value condition, Value ring) {
    auto branch = scf::IfOp::create(builder, loc, condition, false);
    OpBuilder then(branch.thenYield());
    tgpu::ReleaseOp::create(then, loc, ring);
  }

  static unsigned accIndex(tile::DotOp dot, scf::ForOp loop) { return cast<BlockArgument>(dot.getAcc()).getArgNumber() - loop.getNumInductionVars(); }

  static bool accumulates(tile::DotOp dot, scf::ForOp loop) {
    auto acc = dyn_cast<BlockArgument>(dot.getAcc());
    if (!acc || acc.getOwner() != loop.getBody() || !acc.hasOneUse() || !dot.getResult().hasOneUse()) return false;
    OpOperand& use = *dot.getResult().getUses().begin();
    return isa<scf::YieldOp>(use.getOwner()) && use.getOperandNumber() == accIndex(dot, loop);
  }

  //===- products -----------------------------------------------------------------------------------------------===//
  // `dot` as wgmma. Operands that no ring holds come from registers, or through a buffer.
  void multiply(tile::DotOp dot) {
    OpBuilder builder(dot);
    Operand lhs = operandOf(dot, true, builder), rhs = operandOf(dot, false, builder);
    auto product = tgpu::WgmmaOp::create(builder, dot.getLoc(), dot.getType(), lhs.value, rhs.value, dot.getAcc(), lhs.ring, rhs.ring,
                                         lhs.transposed, rhs.transposed);
    auto wait = tgpu::WgmmaWaitOp::create(builder, dot.getLoc(), product.getResult(), builder.getI32IntegerAttr(pending_.lookup(dot)));
    dot.getResult().replaceAllUsesWith(wait.getResult());
    dot.erase();
  }

  struct Operand {
    Value value, ring;
    bool transposed = false;
  };

  Operand operandOf(tile::DotOp dot, bool isLhs, OpBuilder& builder) {
    Value value = isLhs ? dot.getLhs() : dot.getRhs();
    OperandSource source = throughTranspose(value);
    for (RingPlan& p : rings_)
      for (auto [load, buffer] : llvm::zip(p.loads, p.buffers))
        if (load.getResult() == source.source) return {buffer, p.ring, source.transposed};
    bool isComputedHere = value.getParentBlock() == dot->getBlock() && !isa_and_nonnull<tile::LoadOp, tile::BlockLoadOp>(value.getDefiningOp());
    if (isLhs && isComputedHere) return {value, nullptr, false};
    if (!readsFromShared(dot, isLhs, source)) source = {kMajorCopy(dot, isLhs, builder), !isLhs};
    return {stage(source.source), nullptr, source.transposed};
  }

  // The operand's transpose, computed in registers, where wgmma wants K innermost.
  static Value kMajorCopy(tile::DotOp dot, bool isLhs, OpBuilder& builder) {
    if (isLhs) return dot.getLhs();
    auto type = cast<RankedTensorType>(dot.getRhs().getType());
    auto flipped = RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
    return tile::PermuteOp::create(builder, dot.getLoc(), flipped, dot.getRhs(), builder.getDenseI32ArrayAttr({1, 0}));
  }

  // A tile in shared memory, stored where it is computed, once for all products that read it.
  Value stage(Value tile) {
    Value& buffer = staged_[tile];
    if (buffer) return buffer;
    OpBuilder top = OpBuilder::atBlockBegin(&kernel_.getBody().front());
    buffer = makeBuffer(top, tile.getLoc(), cast<RankedTensorType>(tile.getType()), 1);
    OpBuilder builder(kernel_.getContext());
    builder.setInsertionPointAfterValue(tile);
    tgpu::LocalStoreOp::create(builder, tile.getLoc(), tile, buffer);
    return buffer;
  }

  // Loads that became copies, and what only read them.
  void eraseUnused() {
    for (RingPlan& p : rings_)
      for (tile::BlockLoadOp load : p.loads) {
        for (Operation* user : llvm::make_early_inc_range(load->getUsers())) user->erase();
        load->erase();
      }
  }

  static constexpr int64_t kEpilogueBytes = 33 * 1024, kMaxSlots = 8;

  func::FuncOp kernel_;
  const target::TargetInfo& target_;
  int numWarps_;
  int64_t slots_ = 0;
  SmallVector<tile::DotOp> dots_;
  SmallVector<RingPlan> rings_;
  llvm::DenseMap<Operation*, int> pending_;
  llvm::DenseMap<Value, Value> staged_;
};

}  // namespace

void selectProducts(func::FuncOp kernel, const target::TargetInfo& target) { ProductSelection(kernel, target).run(); }

}  // namespace tandem::transform::gpu
