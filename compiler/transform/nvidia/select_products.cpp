// Rings and roles for products in loops; buffers for the others.
#include "compiler/analysis/boxes.h"
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/gpu/waits.h"
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/transform/nvidia/epilogue_room.h"
#include "compiler/transform/nvidia/joined_products.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/producer.h"
#include "compiler/transform/nvidia/ring_plan.h"
#include "compiler/transform/nvidia/signaller.h"
#include "compiler/transform/nvidia/tensor_choice.h"
#include <llvm/ADT/MapVector.h>
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
#define GEN_PASS_DEF_SELECTPRODUCTS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

int64_t bytesOf(RankedTensorType tile) { return tile.getNumElements() * tile.getElementTypeBitWidth() / 8; }

class ProductSelection {
 public:
  ProductSelection(func::FuncOp kernel, const target::TargetInfo& target)
      : kernel_(kernel), target_(target), numWarps_(kernel->getAttrOfType<IntegerAttr>("tile.num_warps").getInt()),
        blocks_(tgpu::blocksOf(kernel)) {}

  void run() {
    kernel_.walk([&](tile::DotOp dot) {
      if (fitsWgmma(dot, numWarps_, target_)) dots_.push_back(dot);
    });
    if (target_.hasTma()) planRings();
    bool inLoops = llvm::any_of(rings_, [](const RingPlan& p) { return p.loop != nullptr; });
    if (inLoops && fitSlots())
      specialize();
    else
      dropRings(inLoops ? remark::Reason{"shared memory has no room for two slots of the loop's tiles", "smaller tiles"}
                        : remark::Reason{"the loops behind it load their own tiles otherwise", ""});
    remarkLoads();
    for (tile::DotOp dot : dots_) multiply(dot);
    eraseUnused();
  }

 private:
  void planRings() {
    llvm::MapVector<Operation*, SmallVector<tile::DotOp>> readers;
    for (tile::DotOp dot : dots_)
      for (bool isLhs : {true, false}) {
        OperandSource operand = throughTranspose(isLhs ? dot.getLhs() : dot.getRhs());
        tile::BlockLoadOp load = blockLoadBehind(operand.source);
        if (!load) continue;
        if (std::optional<remark::Reason> why = whyNotTma(load))
          refused_[load] = *why;
        else if (readsFromShared(dot, isLhs, operand))
          readers[load].push_back(dot);
        else
          refused_[load] = {"wgmma reads rows of 8 and 32 bits only along K",
                            "the operand with K last, or 16-bit elements"};
      }
    for (auto& [op, dots] : readers) {
      auto load = cast<tile::BlockLoadOp>(op);
      bool inLoop = isa<scf::ForOp>(op->getParentOp()) &&
                    llvm::all_of(dots, [&](tile::DotOp dot) { return dot->getBlock() == op->getBlock(); });
      if (!onlyProductsRead(load, dots) || !(inLoop || inLoopsBehind(load, dots))) {
        refused_[load] = {"not only products of one loop read it", "a load of its own for what else reads it"};
        continue;
      }
      RingPlan* plan = nullptr;
      for (RingPlan& p : rings_)
        if (p.loads.front()->getBlock() == op->getBlock() && p.dots == dots) plan = &p;
      if (!plan) {
        plan = &rings_.emplace_back();
        if (inLoop) plan->loop = cast<scf::ForOp>(op->getParentOp());
        plan->dots = dots;
      }
      plan->loads.push_back(load);
      plan->bytes += bytesOf(cast<RankedTensorType>(load.getResult().getType()));
    }
    llvm::erase_if(rings_, [&](const RingPlan& p) {
      if (!p.loop || llvm::none_of(p.dots, readsTileOfThreads)) return false;
      for (auto load : p.loads)
        refused_[load] = {"the other operand of its product comes through pointers that TMA cannot follow",
                          "a descriptor for that one"};
      return true;
    });
    // The slot is acquired before the program's first load and committed behind its last.
    joinRings();
    for (RingPlan& p : rings_)
      llvm::sort(p.loads, [](tile::BlockLoadOp a, tile::BlockLoadOp b) { return a->isBeforeInBlock(b); });
    for (size_t i = 0; i < rings_.size(); ++i) rings_[i].owner = ownerOf(i);
  }

  void dropRings(const remark::Reason& why) {
    for (const RingPlan& p : rings_)
      for (tile::BlockLoadOp load : p.loads) refused_[load] = why;
    rings_.clear();
  }

  void remarkLoads() const {
    constexpr remark::Source source{remark::RemarkKind::Load, "select-products"};
    for (const RingPlan& p : rings_)
      for (tile::BlockLoadOp load : p.loads) {
        std::string into =
            p.loop ? "into a ring of " + std::to_string(p.slots) + " slots" : "once for the loops behind it";
        if (isMulticast(load)) into += ", each part by one block for all of the cluster";
        remark::passed(load, source, "copied by TMA, by a producer warp, " + into);
      }
    for (const auto& [load, why] : refused_)
      if (load->getParentOfType<scf::ForOp>()) remark::missed(load, source, "not copied by TMA", why);
  }

  // Sums of one loop whose products share operands: one ring for all that they read, and all of an iteration's products
  // stay under way.
  void joinRings() {
    auto share = [](const RingPlan& a, const RingPlan& b) {
      return a.loop && a.loop == b.loop &&
             llvm::any_of(a.dots, [&](tile::DotOp dot) { return llvm::is_contained(b.dots, dot); });
    };
    for (size_t i = 0; i < rings_.size(); ++i) {
      RingPlan joined = rings_[i];
      llvm::SmallDenseSet<size_t> members{i};
      for (size_t j = i + 1; j < rings_.size(); ++j) {
        if (members.contains(j) || !share(joined, rings_[j])) continue;
        join(joined, rings_[j]);
        members.insert(j);
        j = i;
      }
      if (members.size() == 1 || !onlyAccumulates(joined)) continue;
      size_t at = 0;
      llvm::erase_if(rings_, [&](const RingPlan&) { return members.contains(at++); });
      rings_.insert(rings_.begin() + i, joined);
    }
  }

  // Returns true if nothing uses the products before the loop ends, and the ring holds all that they read.
  static bool onlyAccumulates(const RingPlan& p) {
    return llvm::all_of(
        p.dots, [&](tile::DotOp dot) { return onlyAdds(dot.getAcc(), dot.getResult(), p.loop) && readsOnly(p, dot); });
  }

  // The loops in the load's block, each with some of the products in its body.
  static bool inLoopsBehind(tile::BlockLoadOp load, ArrayRef<tile::DotOp> dots) {
    return isa<func::FuncOp, scf::ForOp>(load->getParentOp()) && llvm::all_of(dots, [&](tile::DotOp dot) {
             return isa<scf::ForOp>(dot->getParentOp()) && dot->getParentOp()->getBlock() == load->getBlock();
           });
  }

  // Loops one after the other, or in two branches, fill the same slots in turn, if their tiles have the same types.
  // Producer and consumers go through the slots in the program's order, so it does not matter which loop a slot was
  // filled for.
  int ownerOf(size_t index) {
    const RingPlan& plan = rings_[index];
    for (size_t i = 0; i < index; ++i) {
      if (rings_[i].owner != int(i) || typesOf(rings_[i]) != typesOf(plan)) continue;
      bool isTaken = llvm::any_of(
          rings_, [&](const RingPlan& p) { return &p != &plan && p.owner == int(i) && !areInTurn(p, plan); });
      if (!isTaken) return i;
    }
    return index;
  }

  // Takes as many slots as were asked for, or as fit; the epilogue and operands without a ring keep what they need.
  // Tiles that a signaller stores stay whole if that leaves slots enough.
  bool fitSlots() {
    signals_ = findSignals(kernel_.getBody().front());
    bool staged = signals_ && !signals_->stores.empty();
    for (; staged && canStage(signals_->tile(), signals_->pieces, numWarps_); signals_->pieces *= 2)
      if (fitSlots(target_.maxSharedBytes() - kScratchBytes - signals_->stagedBytes()) >=
          std::min(kSlotsBesideTiles, slotsAsked()))
        return true;
    if (signals_) signals_->stores.clear();
    int64_t epilogue = epilogueBytes(kernel_, dots_, numWarps_);
    // A warpgroup that waits for its products leaves the tensor cores to another block's meanwhile.
    if (numWarps_ <= 4 && awaitsProducts() &&
        fitSlots((target_.maxSharedBytes() - kBytesBetweenBlocks) / 2 - epilogue) >= std::min<int64_t>(slotsAsked(), 2))
      return true;
    return fitSlots(target_.maxSharedBytes() - epilogue) >= 2;
  }

  // Returns true if a loop needs a product's result before it goes on.
  bool awaitsProducts() {
    return llvm::any_of(rings_, [&](const RingPlan& p) { return p.loop && !(isAlone(p) && onlyAccumulates(p)); });
  }

  int64_t fitSlots(int64_t budget) {
    int64_t perSlot = 0, room = budget - bytesStaged();
    for (auto [i, p] : llvm::enumerate(rings_)) {
      if (p.owner != int(i)) continue;
      for (tile::BlockLoadOp load : p.loads) {
        int64_t bytes = llvm::alignTo(bytesOf(cast<RankedTensorType>(load.getResult().getType())), kAlignment);
        p.loop ? perSlot += bytes : room -= bytes;
      }
    }
    int64_t slots = std::min(room / perSlot, slotsAsked());
    for (RingPlan& p : rings_)
      if (p.loop) p.slots = slots;
    return slots;
  }

  int64_t slotsAsked() const {
    auto asked = kernel_->getAttrOfType<IntegerAttr>("tile.num_stages");
    return asked ? std::clamp<int64_t>(asked.getInt(), 2, kMaxSlots) : kMaxSlots;
  }

  int64_t bytesStaged() const {
    llvm::DenseSet<Value> seen;
    int64_t bytes = 0;
    for (tile::DotOp dot : dots_)
      for (bool isLhs : {true, false}) {
        Value source = throughTranspose(isLhs ? dot.getLhs() : dot.getRhs()).source;
        bool inRing = llvm::any_of(
            rings_, [&](const RingPlan& p) { return llvm::is_contained(p.loads, blockLoadBehind(source)); });
        if (inRing || (isLhs && staysInRegisters(dot)) || !seen.insert(source).second) continue;
        bytes += bytesOf(cast<RankedTensorType>(source.getType()));
      }
    return bytes;
  }

  void specialize() {
    Block& body = kernel_.getBody().front();
    SmallVector<Operation*> roots;
    for (RingPlan& p : rings_)
      for (tile::BlockLoadOp load : p.loads) roots.push_back(load);
    SmallVector<Operation*> loads = roots;
    SmallVector<Operation*> waits = findWaits(loads);
    llvm::copy_if(waits, std::back_inserter(roots), ordersAll);
    SmallVector<Operation*> gates = findGates(loads);
    auto needed = neededFor(body, roots, gates);
    if (!needed) return dropRings({"a producer warp cannot run ahead of what decides the loop or its addresses", ""});
    if (auto gate = llvm::find_if(gates, isDivergent); gate != gates.end())
      return dropRings({remark::lineOf(*gate) + ", which comes before it, is reached by some threads only", ""});
    warnOfOvertaking(loads, waits, *needed);

    Location loc = kernel_.getLoc();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (auto [i, p] : llvm::enumerate(rings_)) {
      if (p.owner == int(i)) makeRing(p, builder);
      p.ring = rings_[p.owner].ring;
      p.buffers = rings_[p.owner].buffers;
    }
    Value gate = gates.empty() ? nullptr : makeGate(builder);
    auto roles = tgpu::WarpSpecializeOp::create(builder, loc);
    Block& consumer = roles.getConsumer().emplaceBlock();
    Block& producer = roles.getProducer().emplaceBlock();
    consumer.getOperations().splice(consumer.end(), body.getOperations(), std::next(roles->getIterator()),
                                    std::prev(body.end()));

    OpBuilder inProducer = OpBuilder::atBlockEnd(&producer);
    IRMapping mapping;
    cloneNeeded(consumer, *needed, inProducer, mapping, [&](Operation* op, OpBuilder& b, IRMapping& map) {
      if (llvm::is_contained(gates, op)) return passGate(op, gate, b);
      return copyLoad(op, b, map);
    });
    for (Operation* op : gates) openGate(op, gate);
    dropWaits(*needed, loads);
    if (signals_) delegateSignals(roles, *signals_);
    for (RingPlan& p : rings_) consume(p);
  }

  void makeRing(RingPlan& p, OpBuilder& builder) {
    Location loc = p.loads.front().getLoc();
    bool cluster = llvm::any_of(rings_, [&](const RingPlan& other) {
      return &rings_[other.owner] == &p && llvm::any_of(other.loads, [&](auto load) { return isMulticast(load); });
    });
    p.ring = tgpu::RingOp::create(builder, loc, builder.getI32Type(), p.slots, p.bytes, false, false, cluster);
    for (tile::BlockLoadOp load : p.loads) {
      auto type = cast<RankedTensorType>(load.getResult().getType());
      p.buffers.push_back(makeBuffer(builder, load.getLoc(), type, p.slots));
    }
  }

  // Returns true if all blocks of the cluster load the same tile, so that each can fetch a part for all.
  bool isMulticast(tile::BlockLoadOp load) const {
    return tgpu::isWhole(load) &&
           analysis::multicastBox(analysis::matrixOf(cast<RankedTensorType>(load.getResult().getType())), blocks_);
  }

  static Value makeBuffer(OpBuilder& builder, Location loc, RankedTensorType type, int64_t slots) {
    auto smem = tile::SmemType::get(builder.getContext(), type.getShape().take_back(2), type.getElementType());
    return tgpu::AllocOp::create(builder, loc, smem, builder.getI32IntegerAttr(slots),
                                 builder.getI32IntegerAttr(analysis::panelBytes(*analysis::panelSwizzle(type))),
                                 nullptr);
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
      startCopies(p, load, p.buffers[it - p.loads.begin()], builder, mapping);
      if (std::next(it) == p.loads.end()) tgpu::CommitOp::create(builder, loc, p.ring);
      return true;
    }
    return false;
  }

  // Returns a condition that is true if the other operand's tensor has no more rows or columns than the tile: every
  // block of this one is then read by one program. Null: it cannot be known.
  Value isReadOnce(const RingPlan& p, tile::BlockLoadOp load, OpBuilder& builder) const {
    if (p.dots.empty() || !p.loop) return nullptr;
    Value once;
    for (tile::DotOp dot : p.dots) {
      OperandSource lhs = throughTranspose(dot.getLhs()), rhs = throughTranspose(dot.getRhs());
      bool isLhs = blockLoadBehind(lhs.source) == load;
      if (!isLhs && blockLoadBehind(rhs.source) != load) continue;
      tile::BlockLoadOp other = blockLoadBehind(isLhs ? rhs.source : lhs.source);
      if (once || !other || other == load) return nullptr;
      auto type = cast<RankedTensorType>(other.getResult().getType());
      size_t dim = type.getRank() - 2 + (isLhs ? !rhs.transposed : lhs.transposed);
      Value size = other.getShape()[dim];
      if (!analysis::hostExpr(size)) return nullptr;
      int64_t ofProgram = type.getDimSize(dim) * (tgpu::isWhole(other) ? 1 : blocks_);
      Value tile = arith::ConstantIntOp::create(builder, load.getLoc(), ofProgram, 64);
      once = arith::CmpIOp::create(builder, load.getLoc(), arith::CmpIPredicate::sle,
                                   analysis::computeAnew(size, {}, builder), tile);
    }
    return once;
  }

  // Data that only this program reads leaves L2 first.
  void startCopies(const RingPlan& p, tile::BlockLoadOp load, Value buffer, OpBuilder& builder,
                   IRMapping& mapping) const {
    Value once = isReadOnce(p, load, builder);
    if (!once) return startCopy(load, *tensorChoice(load), buffer, p.ring, false, builder, mapping);
    auto branch = scf::IfOp::create(builder, load.getLoc(), once, true);
    OpBuilder then(branch.thenYield()), otherwise(branch.elseYield());
    startCopy(load, *tensorChoice(load), buffer, p.ring, true, then, mapping);
    startCopy(load, *tensorChoice(load), buffer, p.ring, false, otherwise, mapping);
  }

  void startCopy(tile::BlockLoadOp load, const TensorChoice& choice, Value buffer, Value ring, bool once,
                 OpBuilder& builder, IRMapping& mapping) const {
    if (choice.condition) {
      auto branch = scf::IfOp::create(builder, load.getLoc(), mapping.lookupOrDefault(choice.condition), true);
      OpBuilder then(branch.thenYield()), otherwise(branch.elseYield());
      startCopy(load, *choice.then, buffer, ring, once, then, mapping);
      return startCopy(load, *choice.otherwise, buffer, ring, once, otherwise, mapping);
    }
    auto here = [&](Value v) {
      return choice.facts.empty() ? mapping.lookupOrDefault(v) : analysis::computeAnew(v, choice.facts, builder);
    };
    auto offsets = llvm::map_to_vector(load.getOffsets(), [&](Value v) { return mapping.lookupOrDefault(v); });
    Value base = here(load.getBase());
    SmallVector<Value> shape = llvm::map_to_vector(load.getShape(), here),
                       strides = llvm::map_to_vector(load.getStrides(), here);
    auto copy = tgpu::TmaLoadOp::create(builder, load.getLoc(), base, shape, strides, offsets, buffer, ring,
                                        load.getPadding(), isMulticast(load));
    if (once) copy->setAttr("tgpu.evict_first", builder.getUnitAttr());
  }

  SmallVector<Operation*> findWaits(ArrayRef<Operation*> loads) {
    SmallVector<Operation*> waits;
    kernel_.walk([&](Operation* op) {
      if (isWait(op) && llvm::any_of(loads, [&](Operation* load) { return mayPrecede(op, load); })) waits.push_back(op);
    });
    return waits;
  }

  // Finds the ops, other than waits, that the program must have done before its later copies start.
  SmallVector<Operation*> findGates(ArrayRef<Operation*> loads) {
    SmallVector<BlockArgument> bases;
    for (Operation* load : loads) addArgumentsBehind(cast<tile::BlockLoadOp>(load).getBase(), bases);
    SmallVector<Operation*> gates;
    kernel_.walk([&](Operation* op) {
      if (op != kernel_ && holdsUp(op, bases) &&
          llvm::any_of(loads, [&](Operation* load) { return mayPrecede(op, load); }))
        gates.push_back(op);
    });
    return gates;
  }

  void warnOfOvertaking(ArrayRef<Operation*> loads, ArrayRef<Operation*> waits, const Needed& needed) {
    for (Operation* wait : waits)
      for (Operation* load : loads) {
        if (needed.ops.contains(wait) || !mayPrecede(wait, load)) continue;
        SmallVector<BlockArgument> bases;
        addArgumentsBehind(cast<tile::BlockLoadOp>(load).getBase(), bases);
        gpu::warnOfOvertaking(load, bases, wait);
      }
  }

  // A ring without bytes in which the roles meet: the consumers come first, the producer passes when all are there.
  Value makeGate(OpBuilder& builder) const {
    return tgpu::RingOp::create(builder, builder.getUnknownLoc(), builder.getI32Type(), 1, 0, true, false, blocks_ > 1);
  }

  static bool passGate(Operation* op, Value gate, OpBuilder& builder) {
    tgpu::AcquireOp::create(builder, op->getLoc(), gate);
    tgpu::CommitOp::create(builder, op->getLoc(), gate);
    return true;
  }

  static void openGate(Operation* op, Value gate) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    tgpu::ReleaseOp::create(builder, op->getLoc(), gate);
    tgpu::AwaitOp::create(builder, op->getLoc(), gate);
    tgpu::AdvanceOp::create(builder, op->getLoc(), gate);
  }

  // The producer has waited before it fills a slot, and consumers come after that through the slot's barrier: where a
  // token reaches nothing else, they need not wait as well.
  static void dropWaits(const Needed& needed, ArrayRef<Operation*> loads) {
    for (Operation* op : needed.ops) {
      auto wait = dyn_cast<dist::WaitOp>(op);
      if (!wait || wait.getToken().use_empty()) continue;
      auto reached = reachedBy(wait.getToken());
      if (!reached || !llvm::all_of(*reached, [&](Operation* access) { return llvm::is_contained(loads, access); }))
        continue;
      OpBuilder builder(wait);
      wait.getToken().replaceAllUsesWith(arith::ConstantIntOp::create(builder, wait.getLoc(), 0, 32));
      wait.erase();
    }
  }

  // If a ring's products only add to values that the loop carries, and nothing else uses them, they stay under way from
  // each iteration to the next.
  void consume(RingPlan& p) {
    if (!p.loop) return consumeOnce(p);
    OpBuilder builder(p.dots.front());
    tgpu::AwaitOp::create(builder, p.dots.front().getLoc(), p.ring);
    tile::DotOp last = p.dots.back();
    builder.setInsertionPointAfter(last);
    bool overlaps = isAlone(p) && onlyAccumulates(p);
    tgpu::AdvanceOp::create(builder, last.getLoc(), p.ring);
    if (overlaps) {
      for (tile::DotOp dot : p.dots) {
        pending_[dot] = kAnother;
        if (analysis::isZero(p.loop.getInitArgs()[carriedIndex(dot.getAcc(), p.loop)])) beginsAtZero_.insert(dot);
      }
      pending_[last] = startedTogether(p);
      Value later = arith::CmpIOp::create(builder, last.getLoc(), arith::CmpIPredicate::ne, p.loop.getInductionVar(),
                                          p.loop.getLowerBound());
      releaseIf(builder, last.getLoc(), later, p.ring);
      OpBuilder end = awaitSums(
          p.loop, llvm::map_to_vector(p.dots, [&](tile::DotOp dot) { return carriedIndex(dot.getAcc(), p.loop); }));
      tgpu::ReleaseOp::create(end, last.getLoc(), p.ring);
    } else {
      tgpu::ReleaseOp::create(builder, last.getLoc(), p.ring);
    }
  }

  // Returns the number of products that an iteration starts if each that can be part of the one before is.
  int startedTogether(const RingPlan& p) {
    int started = 0;
    int64_t columns = 0;
    tile::DotOp before;
    for (tile::DotOp dot : p.dots) {
      int64_t own = cast<RankedTensorType>(dot.getType()).getDimSize(1);
      bool joins = before && columns + own <= kMaxColumns && canJoin(before, dot, p.dots, numWarps_);
      if (joins && beginsAtZero_.contains(before) == beginsAtZero_.contains(dot)) {
        joinsPrevious_.insert(dot);
        columns += own;
      } else {
        ++started;
        columns = own;
      }
      before = dot;
    }
    return started;
  }

  // Returns true if no other ring is filled while the plan's loop runs.
  bool isAlone(const RingPlan& p) {
    return llvm::all_of(
        rings_, [&](const RingPlan& other) { return &other == &p || (other.loop && !isNested(other.loop, p.loop)); });
  }

  // The slot is read until the last loop with one of the products ends.
  static void consumeOnce(RingPlan& p) {
    Operation* last = p.dots.back()->getParentOp();
    OpBuilder builder(p.loads.back());
    tgpu::AwaitOp::create(builder, p.loads.back().getLoc(), p.ring);
    builder.setInsertionPointAfter(last);
    tgpu::AdvanceOp::create(builder, last->getLoc(), p.ring);
    tgpu::ReleaseOp::create(builder, last->getLoc(), p.ring);
  }

  // Another operand's buffer or registers are filled anew by the next iteration, while this one's product would still
  // read them.
  static bool readsOnly(const RingPlan& p, tile::DotOp dot) {
    auto isLoaded = [&](Value operand) {
      return llvm::is_contained(p.loads, blockLoadBehind(throughTranspose(operand).source));
    };
    return isLoaded(dot.getLhs()) && isLoaded(dot.getRhs());
  }

  static void releaseIf(OpBuilder& builder, Location loc, Value condition, Value ring) {
    auto branch = scf::IfOp::create(builder, loc, condition, false);
    OpBuilder then(branch.thenYield());
    tgpu::ReleaseOp::create(then, loc, ring);
  }

  // `dot` as wgmma. Operands that no ring holds come from registers, or through a buffer.
  void multiply(tile::DotOp dot) {
    OpBuilder builder(dot);
    Operand lhs = operandOf(dot, true, builder), rhs = operandOf(dot, false, builder);
    auto product = tgpu::WgmmaOp::create(builder, dot.getLoc(), dot.getType(), lhs.value, rhs.value, dot.getAcc(),
                                         lhs.ring, rhs.ring, lhs.transposed, rhs.transposed);
    if (beginsAtZero_.contains(dot)) product->setAttr("tgpu.begins_at_zero", builder.getUnitAttr());
    if (joinsPrevious_.contains(dot)) product->setAttr("tgpu.joins_previous", builder.getUnitAttr());
    Value result = product.getResult();
    if (int pending = pending_.lookup(dot); pending != kAnother)
      result = tgpu::WgmmaWaitOp::create(builder, dot.getLoc(), result, builder.getI32IntegerAttr(pending));
    dot.getResult().replaceAllUsesWith(result);
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
        if (load == blockLoadBehind(source.source)) return {buffer, p.ring, source.transposed};
    if (isLhs && staysInRegisters(dot)) return {value, nullptr, false};
    if (!readsFromShared(dot, isLhs, source)) source = {kMajorCopy(dot, isLhs, builder), !isLhs};
    return {stage(source.source), nullptr, source.transposed};
  }

  static bool staysInRegisters(tile::DotOp dot) {
    Value value = dot.getLhs();
    return value.getParentBlock() == dot->getBlock() &&
           !isa_and_nonnull<tile::LoadOp, tile::BlockLoadOp>(value.getDefiningOp());
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
      for (tile::BlockLoadOp load : p.loads) eraseWithUsers(load);
  }

  static void eraseWithUsers(Operation* op) {
    for (Operation* user : llvm::make_early_inc_range(op->getUsers())) eraseWithUsers(user);
    op->erase();
  }

  static constexpr int64_t kScratchBytes = 8 * 1024, kAlignment = 1024, kMaxSlots = 8, kSlotsBesideTiles = 3,
                           kMaxColumns = 256, kBytesBetweenBlocks = 1024;

  func::FuncOp kernel_;
  const target::TargetInfo& target_;
  int numWarps_;
  int64_t blocks_;
  SmallVector<tile::DotOp> dots_;
  SmallVector<RingPlan> rings_;
  std::optional<Signals> signals_;
  static constexpr int kAnother = -1;         // another product's wait is this one's as well
  llvm::DenseMap<Operation*, int> pending_;   // how many products a product's wait leaves under way; 0: none
  llvm::DenseSet<Operation*> beginsAtZero_;   // sums of loops that are only entered when they run
  llvm::DenseSet<Operation*> joinsPrevious_;  // products by the instructions of the one before
  llvm::DenseMap<Value, Value> staged_;
  llvm::MapVector<Operation*, remark::Reason> refused_;  // blocks that products read and TMA does not copy
};

struct SelectProducts : impl::SelectProductsBase<SelectProducts> {
  using Base::Base;
  void runOnOperation() override {
    if (const target::TargetInfo* gpu = targetOf(target)) ProductSelection(getOperation(), *gpu).run();
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
