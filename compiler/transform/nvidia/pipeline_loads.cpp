// The loop carries a second set of the values from which addresses are computed, as they will be some iterations later.
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/shared.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/anchor_layouts.h"
#include "compiler/transform/gpu/drop_carried.h"
#include "compiler/transform/gpu/pointer_form.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/product_layouts.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Support/FormatVariadic.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
#define GEN_PASS_DEF_PIPELINELOADS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Load, "pipeline-loads"};
constexpr int64_t kMaxSlots = 8, kDefaultStages = 3, kWordBytes = 4;
constexpr size_t kMaxSlice = 256;

RankedTensorType typeOf(Operation* load) { return cast<RankedTensorType>(load->getResult(0).getType()); }
int64_t bytesOf(RankedTensorType type) { return type.getNumElements() * type.getElementTypeBitWidth() / 8; }

// The part of a loop's body that addresses need: ops, and some of the carried values.
struct Slice {
  llvm::SetVector<Operation*> ops;
  llvm::SetVector<unsigned> carried;
};

// A buffer that products read and a load's tile is stored to: the products can read the slot itself.
struct Feed {
  tgpu::LocalStoreOp store;
  tgpu::AllocOp buffer;
  bool transposed = false;  // the buffer has the tile's transpose
};

struct Copied {
  tile::LoadOp load;
  int64_t vector = 1;  // elements in one copy, along `axis`
  unsigned axis = 0;
  SmallVector<Feed> feeds;
};

// The values from which the copies of one iteration are computed.
struct Iteration {
  Value index, valid;
  SmallVector<Value> carried;  // in the slice's order
};

// Why loads are not copied ahead; an empty reason: they come ahead all the same.
using Reasons = llvm::MapVector<Operation*, remark::Reason>;

class LoopPipeline {
 public:
  LoopPipeline(scf::ForOp loop, const target::TargetInfo& target, Reasons& reasons)
      : loop_(loop), reasons_(reasons), kernel_(loop->getParentOfType<func::FuncOp>()), target_(target),
        numWarps_(kernel_->getAttrOfType<IntegerAttr>("tile.num_warps").getInt()) {}

  bool apply() {
    int64_t asked = stagesAsked();
    if (!asked)
      return refuse({"its loop multiplies nothing and asks for no stages", "tl.range(..., num_stages=3)"}), false;
    if (asked < 2) return refuse({"its loop has one stage", "num_stages=3"}), false;
    if (isDivergent(loop_.getBody()->getTerminator()))
      return refuse({"its loop is different for threads of a block", ""}), false;
    bool changed = usePointers();
    choose();
    if (copied_.empty()) return changed;
    findSums();
    int64_t fitting = room() / bytesInSlot();
    slots_ = std::min(asked, fitting);
    ahead_ = slots_ - 1;
    remark::Reason noRoom{
        llvm::formatv("the shared memory of {0} has no room for more of {1} bytes", target_.name(), bytesInSlot()),
        "smaller tiles"};
    if (slots_ < 2) return refuse(noRoom), changed;
    if (slots_ < asked)
      remark::missed(loop_, kRemarks, llvm::formatv("{0} stages instead of {1}", slots_, asked).str(), noRoom);
    rewrite();
    return true;
  }

 private:
  // A loop's own number of stages, else, if it has products, the kernel's.
  int64_t stagesAsked() {
    auto asked = loop_->getAttrOfType<IntegerAttr>("tile.num_stages");
    bool multiplies = llvm::any_of(
        *loop_.getBody(), [](Operation& op) { return isa<tile::DotOp, tile::DotScaledOp, tgpu::WgmmaOp>(op); });
    if (!asked && !multiplies) return 0;
    if (!asked) asked = kernel_->getAttrOfType<IntegerAttr>("tile.num_stages");
    return std::min(asked ? asked.getInt() : kDefaultStages, kMaxSlots);
  }

  // Products that only add to what the loop carries, of slots or of left operands in registers: none is waited for
  // before the next iteration's, or before that one has computed its left operands.
  void findSums() {
    for (auto product : loop_.getBody()->getOps<tgpu::WgmmaOp>()) {
      auto wait =
          product.getResult().hasOneUse() ? dyn_cast<tgpu::WgmmaWaitOp>(*product->user_begin()) : tgpu::WgmmaWaitOp();
      auto isFed = [&](Value operand) {
        auto buffer = operand.getDefiningOp<tgpu::AllocOp>();
        return buffer && isFeed(buffer);
      };
      bool isInRegisters = isa<RankedTensorType>(product.getLhs().getType());
      if (!wait || !onlyAdds(product.getAcc(), wait.getResult(), loop_) ||
          !(isInRegisters || isFed(product.getLhs())) || !isFed(product.getRhs()))
        return sums_.clear();
      haveComputed_ |= isInRegisters;
      sums_.push_back(wait);
    }
  }

  // The last wait leaves this iteration's products under way.
  void keepSumsUnderWay() {
    if (haveComputed_ && !sums_.empty()) {
      auto products = llvm::map_to_vector(
          sums_, [](tgpu::WgmmaWaitOp wait) { return wait.getAcc().getDefiningOp<tgpu::WgmmaOp>(); });
      return startInNextIteration(loop_, products);
    }
    SmallVector<unsigned> carried;
    for (tgpu::WgmmaWaitOp wait : sums_) {
      auto product = wait.getAcc().getDefiningOp<tgpu::WgmmaOp>();
      carried.push_back(carriedIndex(product.getAcc(), loop_));
      if (analysis::isZero(loop_.getInitArgs()[carried.back()]))
        product->setAttr("tgpu.begins_at_zero", UnitAttr::get(loop_.getContext()));
      if (wait == sums_.back()) {
        wait.setPending(sums_.size());
      } else {
        wait.replaceAllUsesWith(product.getResult());
        wait.erase();
      }
    }
    if (!carried.empty()) awaitSums(loop_, carried);
  }

  //===- which loads --------------------------------------------------------------------------------------------===//
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

  bool isCopyable(Operation* load, tile::Cache cache) {
    auto type = dyn_cast<RankedTensorType>(load->getResult(0).getType());
    if (!type || load->use_empty()) return false;
    if (cache == tile::Cache::Cv) return fail({"it is volatile", ""});
    if (isa<tile::PtrType>(type.getElementType()) || type.getElementTypeBitWidth() < 8)
      return fail({"cp.async copies whole bytes of numbers", ""});
    Operation* before = holdsBackIn(loop_, load);
    return !before || fail(heldBackBy(before));
  }

  // Chooses the loads to copy ahead. A load that other copies' addresses need stays as it is.
  void choose() {
    analysis::AxisInfoAnalysis axes(kernel_);
    llvm::SetVector<Operation*> needed;
    for (auto load : loop_.getBody()->getOps<tile::LoadOp>()) {
      Slice slice;
      if (load.getIsVolatile() ? !fail({"it is volatile", ""})
                               : !isCopyable(load, load.getCache()) || !collectAddress(load, slice)) {
        reasons_[load] = why_;
        continue;
      }
      Coalescing c = coalesced(load.getPointer(), load.getMask(), axes, numWarps_, true);
      int64_t bytes = c.neighbours * typeOf(load).getElementTypeBitWidth() / 8;
      if (bytes < kWordBytes) {
        reasons_[load] = {llvm::formatv("a thread finds {0} bytes side by side, and cp.async copies 4, 8 or 16", bytes),
                          "contiguous, aligned rows: tl.multiple_of, tl.max_contiguous"};
        continue;
      }
      copied_.push_back({load, c.neighbours, c.axis, {}});
      needed.insert_range(slice.ops);
    }
    llvm::erase_if(copied_, [&](const Copied& c) { return needed.contains(c.load); });
    for (Operation* op : needed)
      if (isa<tile::LoadOp>(op)) reasons_[op] = {"addresses of other loads need it", ""};
    for (Copied& c : copied_) {
      collectAddress(c.load, slice_);
      c.feeds = feedsOf(c);
    }
  }

  // ===- products that read slots -------------------------------------------------------------------------------===//
  // wgmma reads swizzled rows of K, of 16-bit types columns too; where the load would have something else than zeros,
  // registers have it.
  SmallVector<Feed> feedsOf(Copied c) {
    RankedTensorType type = typeOf(c.load);
    SmallVector<Feed> feeds;
    if (type.getRank() != 2 || swizzleOf(c) == layout::Swizzle::None || fillsIn(c.load)) return feeds;
    auto addStores = [&](Value tile, bool transposed) {
      for (Operation* user : tile.getUsers()) {
        auto store = dyn_cast<tgpu::LocalStoreOp>(user);
        auto buffer = store ? store.getBuffer().getDefiningOp<tgpu::AllocOp>() : nullptr;
        if (buffer && productsCanRead(buffer, store, transposed ? 1 - c.axis : c.axis))
          feeds.push_back({store, buffer, transposed});
      }
    };
    addStores(c.load.getResult(), false);
    for (Operation* user : c.load->getUsers())
      if (auto permute = dyn_cast<tile::PermuteOp>(user); permute && permute.getOrder() == ArrayRef<int32_t>{1, 0})
        addStores(permute.getResult(), true);
    return feeds;
  }

  // Returns true if only `store` and products of this loop use the buffer, and these can read it with neighbours along
  // `fastest`.
  bool productsCanRead(tgpu::AllocOp buffer, tgpu::LocalStoreOp store, unsigned fastest) {
    return llvm::all_of(buffer->getUsers(), [&](Operation* user) {
      auto product = dyn_cast<tgpu::WgmmaOp>(user);
      if (!product) return user == store;
      bool isLhs = product.getLhs() == buffer.getResult(), isRhs = product.getRhs() == buffer.getResult();
      // the dimension that is summed over
      unsigned depth = isLhs ? !product.getLhsTransposed() : product.getRhsTransposed();
      bool isWide = cast<tile::SmemType>(buffer.getType()).getElementType().getIntOrFloatBitWidth() == 16;
      return product->getBlock() == loop_.getBody() && isLhs != isRhs && (isWide || fastest == depth);
    });
  }

  static bool fillsIn(tile::LoadOp load) {
    return load.getMask() && load.getOther() && !analysis::isZero(load.getOther());
  }
  static layout::Swizzle swizzleOf(const Copied& c) {
    RankedTensorType type = typeOf(c.load);
    return layout::widestSwizzle(type.getDimSize(c.axis) * type.getElementTypeBitWidth() / 8);
  }

  void feedProducts(const Copied& c, Value buffer) {
    for (Feed feed : c.feeds) {
      for (Operation* user : llvm::make_early_inc_range(feed.buffer->getUsers())) {
        auto product = dyn_cast<tgpu::WgmmaOp>(user);
        if (!product) continue;
        if (product.getLhs() == feed.buffer.getResult()) {
          product.getLhsMutable().assign(buffer);
          product.getLhsRingMutable().assign(ring_);
          product.setLhsTransposed(product.getLhsTransposed() != feed.transposed);
        } else {
          product.getRhsMutable().assign(buffer);
          product.getRhsRingMutable().assign(ring_);
          product.setRhsTransposed(product.getRhsTransposed() != feed.transposed);
        }
      }
      Value stored = feed.store.getValue();
      feed.store.erase();
      feed.buffer.erase();
      if (stored.use_empty() && stored.getDefiningOp<tile::PermuteOp>()) stored.getDefiningOp()->erase();
    }
  }

  bool collectAddress(tile::LoadOp load, Slice& slice) {
    return collect(load.getPointer(), slice) && (!load.getMask() || collect(load.getMask(), slice));
  }

  // Leaves a reason, and returns false.
  bool fail(remark::Reason why) {
    why_ = std::move(why);
    return false;
  }

  // For all loads that are the loop's own.
  void refuse(const remark::Reason& why) {
    for (Operation& op : *loop_.getBody())
      if (isa<tile::LoadOp, tile::BlockLoadOp>(op)) reasons_.try_emplace(&op, why);
  }

  // False: `value` cannot be had ahead.
  bool collect(Value value, Slice& slice) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != loop_.getBody() || argument == loop_.getInductionVar()) return true;
      unsigned i = argument.getArgNumber() - loop_.getNumInductionVars();
      return !slice.carried.insert(i) || collect(loop_.getYieldedValues()[i], slice);
    }
    Operation* op = value.getDefiningOp();
    if (!loop_->isAncestor(op) || slice.ops.contains(op)) return true;
    if (op->getBlock() != loop_.getBody() || op->getNumRegions())
      return fail({"its address depends on a branch or a loop of the same iteration, " + remark::lineOf(op), ""});
    if (isa<tile::DotOp, tile::DotScaledOp, tgpu::WgmmaWaitOp>(op))
      return fail({"its address depends on a product of the same iteration, " + remark::lineOf(op), ""});
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load ? load.getIsVolatile() || holdsBackIn(loop_, op) : !isMemoryEffectFree(op))
      return fail({"its address depends on what " + remark::lineOf(op) +
                       " reads in the same iteration, which the loop may change",
                   ""});
    if (slice.ops.size() >= kMaxSlice) return fail({"its address takes too many operations to compute it twice", ""});
    return slice.ops.insert(op) && llvm::all_of(op->getOperands(), [&](Value v) { return collect(v, slice); });
  }

  //===- shared memory ------------------------------------------------------------------------------------------===//
  int64_t bytesInSlot() const {
    int64_t bytes = 0;
    for (const Copied& c : copied_) bytes += llvm::alignTo(bytesOf(typeOf(c.load)), 1024);
    return bytes;
  }

  // A fifth stays for exchanges between threads, and what some ops cannot do without.
  int64_t room() {
    int64_t room = target_.maxSharedBytes() - target_.maxSharedBytes() / 5, exchanged = 0;
    kernel_.walk([&](Operation* op) {
      if (auto alloc = dyn_cast<tgpu::AllocOp>(op); alloc && !isFeed(alloc))
        room -= alloc.getSlots() * sizeOf(alloc.getResult());
      if (auto alloc = dyn_cast<simt::SmemAllocOp>(op)) room -= sizeOf(alloc->getResult(0));
      exchanged = std::max(exchanged, bytesExchanged(op));
    });
    return room - exchanged;
  }

  bool isFeed(tgpu::AllocOp buffer) const {
    return llvm::any_of(copied_, [&](const Copied& c) {
      return llvm::any_of(c.feeds, [&](const Feed& f) { return f.buffer == buffer; });
    });
  }

  static int64_t sizeOf(Value buffer) {
    auto type = cast<tile::SmemType>(buffer.getType());
    int64_t bits =
        type.getElementType().isIntOrFloat() ? std::max(8u, type.getElementType().getIntOrFloatBitWidth()) : 64;
    return llvm::alignTo(ShapedType::getNumElements(type.getShape()) * bits / 8, 1024);
  }

  int64_t bytesExchanged(Operation* op) const {
    if (auto counts = dyn_cast<tile::HistogramOp>(op)) return typeOf(counts).getNumElements() * kWordBytes;
    auto dot = dyn_cast<tile::DotOp>(op);
    if (dot ? planDot(dot, numWarps_, target_).mma
            : !isa<tile::GatherOp, tile::ScanOp, tile::AtomicRmwOp, tile::AtomicCasOp>(op))
      return 0;
    constexpr int64_t kWidest = 8;
    int64_t elements = 0;
    for (Value v : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(v.getType())) elements += type.getNumElements();
    return elements * (dot ? kWordBytes : kWidest);
  }

  Value makeBuffer(Copied& c) {
    OpBuilder b = OpBuilder::atBlockBegin(&kernel_.getBody().front());
    RankedTensorType type = typeOf(c.load);
    auto smem = tile::SmemType::get(b.getContext(), type.getShape(), type.getElementType());
    layout::Swizzle swizzle = swizzleOf(c);
    bool isPlain = type.getRank() < 2 || swizzle == layout::Swizzle::None;
    IntegerAttr fastest;
    if (c.axis + 1 != type.getRank()) fastest = b.getI32IntegerAttr(c.axis);
    return tgpu::AllocOp::create(b, c.load.getLoc(), smem, b.getI32IntegerAttr(slots_),
                                 b.getI32IntegerAttr(isPlain ? 0 : layout::rowBytes(swizzle)), fastest);
  }

  //===- the new loop -------------------------------------------------------------------------------------------===//
  void remarkCopies() {
    for (const Copied& c : copied_) {
      int64_t bytes = c.vector * typeOf(c.load).getElementTypeBitWidth() / 8;
      const char* text =
          "copied by cp.async {0} iterations ahead, {1} bytes a thread at once, into a ring of {2} slots";
      remark::passed(c.load, kRemarks, llvm::formatv(text, ahead_, bytes, slots_).str());
    }
    for (Operation* op : slice_.ops) {
      if (!isa<tile::LoadOp>(op)) continue;
      remark::passed(
          op, kRemarks,
          llvm::formatv("loaded into registers {0} iterations ahead: addresses of copies need it", ahead_).str());
      reasons_[op] = {};
    }
  }

  void rewrite() {
    remarkCopies();
    for (Copied& c : copied_) buffers_.push_back(makeBuffer(c));
    OpBuilder b(loop_);
    Location loc = loop_.getLoc();
    ring_ = tgpu::CopyRingOp::create(b, loc, b.getI32Type(), slots_, ahead_);
    tgpu::RewindOp::create(b, loc, ring_);
    Iteration ahead = firstIteration(b);
    for (int64_t i = 0; i < ahead_; ++i) ahead = fill(ahead, b, b);
    moveBody(ahead, b);
    OpBuilder top = OpBuilder::atBlockBegin(loop_.getBody()), end(loop_.getBody()->getTerminator());
    tgpu::AwaitOp::create(top, loc, ring_);
    bool waits = llvm::any_of(slice_.ops, [](Operation* op) { return isa<tile::LoadOp>(op); });
    // Where products are under way until the wait, what they read is overwritten behind it, when all threads have
    // waited.
    if (!sums_.empty()) simt::BarrierOp::create(end, loc);
    Iteration next = fill(later_, top, waits || !sums_.empty() ? end : top);
    SmallVector<Value> yielded(loop_.getYieldedValues());
    append(next, yielded);
    loop_.getBody()->getTerminator()->setOperands(yielded);
    for (auto [c, buffer] : llvm::zip(copied_, buffers_)) {
      feedProducts(c, buffer);
      read(c.load, buffer);
    }
    keepSumsUnderWay();
  }

  Iteration firstIteration(OpBuilder& b) {
    auto isLess = loop_.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Iteration first{loop_.getLowerBound(), {}, {}};
    first.valid = arith::CmpIOp::create(b, loop_.getLoc(), isLess, loop_.getLowerBound(), loop_.getUpperBound());
    for (unsigned i : slice_.carried) first.carried.push_back(loop_.getInitArgs()[i]);
    return first;
  }

  static void append(const Iteration& from, SmallVector<Value>& to) {
    to.append({from.index, from.valid});
    to.append(from.carried);
  }

  // Makes the same loop, with the values that the iteration ahead needs behind its own carried values.
  void moveBody(const Iteration& ahead, OpBuilder& b) {
    SmallVector<Value> inits(loop_.getInitArgs());
    unsigned own = inits.size();
    append(ahead, inits);
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
    auto arguments = made.getRegionIterArgs().drop_front(own);
    later_ = {arguments[0], arguments[1], SmallVector<Value>(arguments.drop_front(2))};
  }

  // Copies for one iteration, started at `copies`; gives the next. Addresses that are loaded come while the iteration
  // computes.
  Iteration fill(const Iteration& at, OpBuilder& b, OpBuilder& copies) {
    IRMapping mapping;
    mapping.map(loop_.getInductionVar(), at.index);
    for (auto [i, value] : llvm::zip(slice_.carried, at.carried)) mapping.map(loop_.getRegionIterArgs()[i], value);
    SmallVector<Operation*> ops(slice_.ops.getArrayRef());
    llvm::sort(ops, [](Operation* x, Operation* y) { return x->isBeforeInBlock(y); });
    for (Operation* op : ops) {
      auto load = dyn_cast<tile::LoadOp>(b.clone(*op, mapping));
      if (!load) continue;
      loadIf(at.valid, load);
      reasons_[load] = {};
    }
    for (auto [c, buffer] : llvm::zip(copied_, buffers_)) {
      Value mask = c.load.getMask() ? mapping.lookupOrDefault(c.load.getMask()) : Value();
      Value pointer = mapping.lookupOrDefault(c.load.getPointer());
      auto copy = tgpu::CopyAsyncOp::create(copies, c.load.getLoc(), pointer, mask, at.valid, buffer, ring_);
      copy->setAttr("tgpu.vector", b.getDenseI32ArrayAttr({int32_t(c.vector), int32_t(c.axis)}));
    }
    tgpu::CommitOp::create(copies, loop_.getLoc(), ring_);
    Iteration next = step(at, b);
    for (unsigned i : slice_.carried) next.carried.push_back(mapping.lookupOrDefault(loop_.getYieldedValues()[i]));
    return next;
  }

  // The number of iterations left is compared, for the index may go beyond the range of its type.
  Iteration step(const Iteration& at, OpBuilder& b) {
    Location loc = loop_.getLoc();
    Value left = arith::SubIOp::create(b, loc, loop_.getUpperBound(), at.index);
    Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, left, loop_.getStep());
    return {
        arith::AddIOp::create(b, loc, at.index, loop_.getStep()), arith::AndIOp::create(b, loc, at.valid, more), {}};
  }

  // Beyond the loop's end an address may be anything.
  static void loadIf(Value valid, tile::LoadOp load) {
    OpBuilder b(load);
    Value mask = valid;
    if (auto type = dyn_cast<RankedTensorType>(load.getPointer().getType()))
      mask = tile::SplatOp::create(b, load.getLoc(), RankedTensorType::get(type.getShape(), b.getI1Type()), valid);
    if (load.getMask()) mask = arith::AndIOp::create(b, load.getLoc(), load.getMask(), mask);
    load.getMaskMutable().assign(mask);
  }

  // Zeros have come where the mask is false.
  void read(tile::LoadOp load, Value buffer) {
    if (load.getResult().use_empty()) return load.erase();
    OpBuilder b(load);
    Value value = tgpu::LocalLoadOp::create(b, load.getLoc(), load.getType(), buffer, ring_);
    if (fillsIn(load)) value = arith::SelectOp::create(b, load.getLoc(), load.getMask(), value, load.getOther());
    load.getResult().replaceAllUsesWith(value);
    load.erase();
  }

  scf::ForOp loop_;
  Reasons& reasons_;
  remark::Reason why_;  // of the last that failed
  func::FuncOp kernel_;
  const target::TargetInfo& target_;
  int numWarps_;
  SmallVector<Copied> copied_;
  Slice slice_;
  int64_t slots_ = 0, ahead_ = 0;
  SmallVector<tgpu::WgmmaWaitOp> sums_;
  bool haveComputed_ = false;  // left operands of theirs in registers
  Value ring_;
  SmallVector<Value> buffers_;  // one a load
  Iteration later_;
};

struct PipelineLoads : impl::PipelineLoadsBase<PipelineLoads> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu) return;
    func::FuncOp kernel = getOperation();
    bool haveRoles = kernel.walk([](tgpu::WarpSpecializeOp) { return WalkResult::interrupt(); }).wasInterrupted();
    Reasons reasons;
    if (haveRoles)
      return remarkOthers(reasons, {"a producer warp copies what the kernel's products read, and nothing else", ""});
    if (tgpu::blocksOf(kernel) > 1)
      return remarkOthers(reasons, {"programs of several blocks have no copies by cp.async", "num_ctas=1"});
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    bool changed = false;
    for (scf::ForOp loop : loops) changed |= LoopPipeline(loop, *gpu, reasons).apply();
    remarkOthers(reasons, {"it is in a branch, or in a loop whose end is not known before it begins", ""});
    if (changed) dropCarried(kernel);
    cleanUp(changed);
  }

  // Says of each other load in a loop why it is not copied ahead, for its own reason or else for `others`.
  void remarkOthers(const Reasons& reasons, const remark::Reason& others) {
    getOperation().walk([&](Operation* op) {
      if (!isa<tile::LoadOp, tile::BlockLoadOp>(op) || !isa<RankedTensorType>(op->getResult(0).getType()) ||
          op->use_empty())
        return;
      if (!op->getParentOfType<scf::ForOp>() && !op->getParentOfType<scf::WhileOp>()) return;
      auto found = reasons.find(op);
      const remark::Reason& why = found == reasons.end() ? others : found->second;
      if (!why.why.empty()) remark::missed(op, kRemarks, "not copied ahead of its loop", why);
    });
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
