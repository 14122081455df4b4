// The loop carries a second set of the values from which addresses are computed, as they will be some iterations later.
#include "compiler/transform/nvidia/copies_ahead.h"
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/transform/gpu/anchor_layouts.h"
#include "compiler/transform/nvidia/operands.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

// The values from which the copies of one iteration are computed.
struct Iteration {
  Value index, valid;
  SmallVector<Value> carried;  // in the slice's order
  SmallVector<Value> loaded;   // results of the slice's loads, in their order
};

class CopiesAhead {
 public:
  CopiesAhead(scf::ForOp loop, const CopiedLoads& copied, RingSize size, Reasons& reasons)
      : loop_(loop), copied_(copied), size_(size), reasons_(reasons), sliceOps_(copied.slice.ops.getArrayRef()) {
    llvm::sort(sliceOps_, [](Operation* x, Operation* y) { return x->isBeforeInBlock(y); });
  }

  void run(const SlotSums& sums) {
    for (const CopiedLoad& c : copied_.loads)
      buffers_.push_back(makeBuffer(c.type(), c.axis, size_.slots, tile::LoadOp(c.load).getLoc()));
    OpBuilder b(loop_);
    Location loc = loop_.getLoc();
    // Copies overwrite what products under way read behind the wait for these, when all threads have waited, and a slot
    // of the same iteration when all threads have read it.
    bool isBehind = !sums.waits.empty() || size_.refillsBehind();
    // Groups that wait for their products apart from one another scale one's sums while the other multiplies.
    bool ofGroups = !isBehind && areOfGroups(copied_.loads, tile::numWarps(loop_->getParentOfType<func::FuncOp>()));
    ring_ = tgpu::CopyRingOp::create(b, loc, b.getI32Type(), size_.slots, size_.ahead, ofGroups);
    tgpu::RewindOp::create(b, loc, ring_);
    Iteration later = firstIteration(b);
    for (int64_t i = 0; i < size_.ahead; ++i) later = fill(later, b, b);
    later = moveBody(later, b);
    OpBuilder top = OpBuilder::atBlockBegin(loop_.getBody()), end(loop_.getBody()->getTerminator());
    tgpu::AwaitOp::create(top, loc, ring_);
    if (isBehind) simt::BarrierOp::create(end, loc, true, false);
    OpBuilder during = duringProducts(top);
    Iteration next = fill(later, top, isBehind ? end : ofGroups ? top : during);
    SmallVector<Value> yielded(loop_.getYieldedValues());
    append(next, yielded);
    loop_.getBody()->getTerminator()->setOperands(yielded);
    for (auto [c, buffer] : llvm::zip(copied_.loads, buffers_)) {
      readSlots(c, buffer, ring_);
      read(c, buffer);
    }
    keepUnderWay(loop_, sums);
  }

  // Carries what the slice loads, each time for the next iteration. Returns the loop.
  scf::ForOp runLoads(bool duringProducts) {
    OpBuilder b(loop_);
    SmallVector<unsigned> axes;  // along which threads find neighbours
    if (duringProducts) axes = axesOfLoads();
    Iteration now{{}, {}, {}, firstIteration(b).loaded};
    ValueRange loaded = carry(now.loaded, b);
    now = {loop_.getInductionVar(), {}, {}, SmallVector<Value>(loaded)};
    for (unsigned i : copied_.slice.carried) now.carried.push_back(loop_.getRegionIterArg(i));
    OpBuilder at = OpBuilder::atBlockBegin(loop_.getBody());
    if (duringProducts) at.setInsertionPoint(firstAwaited());
    SmallVector<Value> yielded(loop_.getYieldedValues());
    yielded.append(fill(now, at, at).loaded);
    loop_.getBody()->getTerminator()->setOperands(yielded);
    const Value* value = now.loaded.begin();
    for (Operation* op : sliceOps_)
      if (isa<tile::LoadOp>(op)) {
        op->getResult(0).replaceAllUsesWith(*value++);
        op->erase();
      }
    for (auto [axis, tile] : llvm::zip(axes, now.loaded)) readThroughBuffer(tile, axis);
    if (duringProducts) storeFirst(now.loaded);
    return loop_;
  }

  // Products of mma.sync read from buffers what the slice loads. Returns true if there is any.
  bool runBuffers() {
    SmallVector<unsigned> axes = axesOfLoads();
    bool changed = false;
    const unsigned* axis = axes.begin();
    for (Operation* op : sliceOps_)
      if (isa<tile::LoadOp>(op)) changed |= readThroughBuffer(op->getResult(0), *axis++);
    return changed;
  }

 private:
  SmallVector<unsigned> axesOfLoads() {
    auto kernel = loop_->getParentOfType<func::FuncOp>();
    analysis::AxisInfoAnalysis known(kernel);
    layout::ThreadCounts threads = threadsOf(tile::numWarps(kernel));
    SmallVector<unsigned> axes;
    for (Operation* op : sliceOps_)
      if (auto load = dyn_cast<tile::LoadOp>(op)) {
        bool isTile = isa<RankedTensorType>(load.getType());
        axes.push_back(isTile ? gpu::coalesced(load.getPointer(), load.getMask(), known, threads, true).axis : 0);
      }
    return axes;
  }

  // Warps read what they multiply of a tile by mma.sync, most of which other warps read too, from a buffer: what waits for the next
  // iteration is no more than what each thread has loaded.
  bool readThroughBuffer(Value tile, unsigned axis) {
    auto type = dyn_cast<RankedTensorType>(tile.getType());
    auto isMultiplied = [](Operation* user) {
      return isa<tile::DotOp>(user) ||
             (isa<tile::PermuteOp>(user) && llvm::all_of(user->getUsers(), llvm::IsaPred<tile::DotOp>));
    };
    if (!type || type.getRank() != 2 || tile.use_empty() || !llvm::all_of(tile.getUsers(), isMultiplied)) return false;
    if (layout::widestSwizzle(type.getDimSize(axis) * type.getElementTypeBitWidth() / 8) == layout::Swizzle::None)
      return false;
    Value buffer = makeBuffer(type, axis, 1, loop_.getLoc());
    Operation* first = *tile.user_begin();
    for (Operation* user : tile.getUsers())
      if (user->isBeforeInBlock(first)) first = user;
    OpBuilder b(first);
    auto read = tgpu::LocalLoadOp::create(b, first->getLoc(), type, buffer, Value());
    tile.replaceAllUsesWith(read);
    if (tile.getDefiningOp())
      b.setInsertionPointAfterValue(tile);
    else
      b.setInsertionPoint(read);
    tgpu::LocalStoreOp::create(b, first->getLoc(), tile, buffer);
    return true;
  }

  // Tiles that are there when an iteration begins go to shared memory then, so that all products start behind one meeting.
  void storeFirst(ArrayRef<Value> tiles) {
    SmallVector<Operation*> moved;
    auto collect = [&](auto& self, Value tile) -> void {
      for (Operation* user : tile.getUsers()) {
        if (user->getBlock() != loop_.getBody() || !isa<tgpu::LocalStoreOp, tile::PermuteOp>(user)) continue;
        moved.push_back(user);
        if (user->getNumResults()) self(self, user->getResult(0));
      }
    };
    for (Value tile : tiles) collect(collect, tile);
    llvm::sort(moved, [](Operation* x, Operation* y) { return x->isBeforeInBlock(y); });
    Operation* first = &loop_.getBody()->front();
    for (Operation* op : moved)
      if (op == first)
        first = op->getNextNode();
      else
        op->moveBefore(first);
  }

  // Returns the first op of an iteration that waits for a product.
  Operation* firstAwaited() {
    for (Operation& op : *loop_.getBody())
      if (isa<tgpu::WgmmaWaitOp, tile::DotOp>(op)) return &op;
    return loop_.getBody()->getTerminator();
  }

  // Returns the place where the iteration waits for its first products, so that these start before the copies do; `top`
  // where it waits for none.
  OpBuilder duringProducts(OpBuilder top) {
    auto waits = loop_.getBody()->getOps<tgpu::WgmmaWaitOp>();
    return waits.empty() ? top : OpBuilder(*waits.begin());
  }

  Value makeBuffer(RankedTensorType type, unsigned axis, int64_t slots, Location loc) {
    auto kernel = loop_->getParentOfType<func::FuncOp>();
    OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
    auto smem = tile::SmemType::get(b.getContext(), type.getShape(), type.getElementType());
    layout::Swizzle swizzle = layout::widestSwizzle(type.getDimSize(axis) * type.getElementTypeBitWidth() / 8);
    bool isPlain = type.getRank() < 2 || swizzle == layout::Swizzle::None;
    IntegerAttr fastest;
    if (axis + 1 != type.getRank()) fastest = b.getI32IntegerAttr(axis);
    return tgpu::AllocOp::create(b, loc, smem, b.getI32IntegerAttr(slots),
                                 b.getI32IntegerAttr(isPlain ? 0 : layout::rowBytes(swizzle)), fastest);
  }

  Iteration firstIteration(OpBuilder& b) {
    auto isLess = loop_.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Iteration first{loop_.getLowerBound(), {}, {}, {}};
    first.valid = arith::CmpIOp::create(b, loop_.getLoc(), isLess, loop_.getLowerBound(), loop_.getUpperBound());
    for (unsigned i : copied_.slice.carried) first.carried.push_back(loop_.getInitArgs()[i]);
    load(first, b);
    return first;
  }

  static void append(const Iteration& from, SmallVector<Value>& to) {
    to.append({from.index, from.valid});
    to.append(from.carried);
    to.append(from.loaded);
  }

  // Makes the same loop, with the values that the iteration ahead needs behind its own carried values; returns these as
  // the new loop's body has them.
  Iteration moveBody(const Iteration& ahead, OpBuilder& b) {
    SmallVector<Value> added;
    append(ahead, added);
    auto arguments = carry(added, b);
    auto values = arguments.drop_front(2);
    size_t carried = ahead.carried.size();
    return {arguments[0], arguments[1], SmallVector<Value>(values.take_front(carried)),
            SmallVector<Value>(values.drop_front(carried))};
  }

  // Makes the same loop, which carries `added` too; returns these as the new loop's body has them.
  ValueRange carry(ValueRange added, OpBuilder& b) {
    SmallVector<Value> inits(loop_.getInitArgs());
    unsigned own = inits.size();
    inits.append(added.begin(), added.end());
    auto made =
        scf::ForOp::create(b, loop_.getLoc(), loop_.getLowerBound(), loop_.getUpperBound(), loop_.getStep(), inits);
    made.setUnsignedCmp(loop_.getUnsignedCmp());
    made->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
    Block& body = *made.getBody();
    if (!body.empty()) body.back().erase();
    for (auto [from, to] : llvm::zip(loop_.getBody()->getArguments(), body.getArguments())) from.replaceAllUsesWith(to);
    body.getOperations().splice(body.end(), loop_.getBody()->getOperations());
    for (auto [from, to] : llvm::zip(loop_.getResults(), made.getResults())) from.replaceAllUsesWith(to);
    loop_.erase();
    loop_ = made;
    return ValueRange(made.getRegionIterArgs()).drop_front(own);
  }

  IRMapping mappingOf(const Iteration& at) {
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), at.index);
    for (auto [i, value] : llvm::zip(copied_.slice.carried, at.carried))
      mapping.map(loop_.getRegionIterArgs()[i], value);
    return mapping;
  }

  // Loads what the iteration's addresses need.
  void load(Iteration& at, OpBuilder& b) {
    IRMapping mapping = mappingOf(at);
    for (Operation* op : sliceOps_) {
      auto load = dyn_cast<tile::LoadOp>(b.clone(*op, mapping));
      if (!load) continue;
      loadIf(at.valid, load);
      reasons_[load] = {};
      at.loaded.push_back(load.getResult());
    }
  }

  // Makes the copies for one iteration, started at `copies`; gives the next. What the next one's addresses need is
  // loaded then, one iteration before its copies start, so that these wait for nothing.
  Iteration fill(const Iteration& at, OpBuilder& b, OpBuilder& copies) {
    IRMapping mapping = mappingOf(at);
    const Slice& slice = copied_.slice;
    const Value* loaded = at.loaded.begin();
    for (Operation* op : sliceOps_)
      if (isa<tile::LoadOp>(op))
        mapping.map(op->getResult(0), *loaded++);
      else
        b.clone(*op, mapping);
    for (auto [c, buffer] : llvm::zip(copied_.loads, buffers_)) {
      tile::LoadOp load = c.load;
      auto mapped = [&](Value v) { return v ? mapping.lookupOrDefault(v) : v; };
      auto copy = tgpu::CopyAsyncOp::create(copies, load.getLoc(), mapped(load.getPointer()), mapped(c.mask()),
                                            mapped(c.end), at.valid, buffer, ring_);
      tgpu::setNeighbours(copy, {int32_t(c.vector), int32_t(c.axis)});
    }
    if (ring_) tgpu::CommitOp::create(copies, loop_.getLoc(), ring_);
    Iteration next = step(at, b);
    for (unsigned i : slice.carried) next.carried.push_back(mapping.lookupOrDefault(loop_.getYieldedValues()[i]));
    load(next, b);
    return next;
  }

  // The number of iterations left is compared, for the index may go beyond the range of its type.
  Iteration step(const Iteration& at, OpBuilder& b) {
    Location loc = loop_.getLoc();
    Value left = arith::SubIOp::create(b, loc, loop_.getUpperBound(), at.index);
    Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, left, loop_.getStep());
    return {arith::AddIOp::create(b, loc, at.index, loop_.getStep()),
            at.valid ? arith::AndIOp::create(b, loc, at.valid, more).getResult() : more,
            {},
            {}};
  }

  // Beyond the loop's end an address may be anything.
  static void loadIf(Value valid, tile::LoadOp load) {
    OpBuilder b(load);
    Value mask = load.getMask();
    if (auto type = dyn_cast<RankedTensorType>(load.getPointer().getType()))
      mask = mask ? masked(mask, valid, b) : splat(valid, type.getShape(), b);
    else
      mask = mask ? arith::AndIOp::create(b, load.getLoc(), mask, valid).getResult() : valid;
    load.getMaskMutable().assign(mask);
  }

  static Value splat(Value condition, ArrayRef<int64_t> shape, OpBuilder& b) {
    return tile::SplatOp::create(b, condition.getLoc(), RankedTensorType::get(shape, b.getI1Type()), condition);
  }

  // The elements of the smallest tile that a mask is true with alone.
  static int64_t leastElements(Value mask) {
    if (auto both = mask.getDefiningOp<arith::AndIOp>())
      return std::min(leastElements(both.getLhs()), leastElements(both.getRhs()));
    if (auto broadcast = mask.getDefiningOp<tile::BroadcastOp>()) mask = broadcast.getSource();
    return cast<RankedTensorType>(mask.getType()).getNumElements();
  }

  // `mask`, where the condition holds, which the smallest part of the mask takes: a thread has few elements of that.
  static Value masked(Value mask, Value condition, OpBuilder& b) {
    Location loc = mask.getLoc();
    if (auto both = mask.getDefiningOp<arith::AndIOp>()) {
      bool isLhs = leastElements(both.getLhs()) < leastElements(both.getRhs());
      Value part = masked(isLhs ? both.getLhs() : both.getRhs(), condition, b);
      return arith::AndIOp::create(b, loc, part, isLhs ? both.getRhs() : both.getLhs());
    }
    if (auto broadcast = mask.getDefiningOp<tile::BroadcastOp>())
      return tile::BroadcastOp::create(b, loc, mask.getType(), masked(broadcast.getSource(), condition, b));
    Value other = splat(condition, cast<RankedTensorType>(mask.getType()).getShape(), b);
    return arith::AndIOp::create(b, loc, mask, other);
  }

  // Zeros have come where the mask is false.
  void read(const CopiedLoad& c, Value buffer) {
    tile::LoadOp load = c.load;
    if (load.getResult().use_empty()) return load.erase();
    OpBuilder b(load);
    Value value = tgpu::LocalLoadOp::create(b, load.getLoc(), load.getType(), buffer, ring_);
    if (c.fillsIn()) value = arith::SelectOp::create(b, load.getLoc(), load.getMask(), value, load.getOther());
    load.getResult().replaceAllUsesWith(value);
    load.erase();
  }

  scf::ForOp loop_;
  const CopiedLoads& copied_;
  RingSize size_;
  Reasons& reasons_;
  SmallVector<Operation*> sliceOps_;  // in the program's order
  Value ring_;
  SmallVector<Value> buffers_;  // one a load
};

}  // namespace

void copyAhead(scf::ForOp loop, const CopiedLoads& copied, RingSize size, const SlotSums& sums, Reasons& reasons) {
  CopiesAhead(loop, copied, size, reasons).run(sums);
}

bool readThroughBuffers(scf::ForOp loop, const Slice& slice) {
  CopiedLoads only{{}, slice};
  Reasons reasons;
  return CopiesAhead(loop, only, {}, reasons).runBuffers();
}

scf::ForOp loadAhead(scf::ForOp loop, const Slice& slice, Reasons& reasons, bool duringProducts) {
  CopiedLoads only{{}, slice};
  return CopiesAhead(loop, only, {}, reasons).runLoads(duringProducts);
}

}  // namespace tandem::transform::nvidia
