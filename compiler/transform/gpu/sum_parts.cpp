// The same sums as those of a kernel behind the store: from zero on, in the order of ranks, of parts as they are stored.
#include "compiler/transform/gpu/sum_parts.h"
#include "compiler/dialect/dist/attributes.h"
#include "compiler/transform/gpu/counting.h"
#include "compiler/transform/gpu/part_of_tile.h"
#include "compiler/transform/gpu/pointer_form.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

bool isPointer(Type type) { return isa<tile::PtrType>(getElementTypeOrSelf(type)); }

Type withElement(Type type, Type element) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? Type(RankedTensorType::get(tile.getShape(), element)) : element;
}

Value valueOf(Operation* store) {
  return TypeSwitch<Operation*, Value>(store).Case<tile::StoreOp, tile::BlockStoreOp>(
      [](auto o) { return o.getValue(); });
}

Value pointerOf(Operation* store) {
  if (auto block = dyn_cast<tile::BlockStoreOp>(store)) return block.getBase();
  return cast<tile::StoreOp>(store).getPointer();
}

// Returns true if the other one's part of two ranks comes to where the sum is to be.
bool isInPlace(dist::LeavingOp memory) { return memory.getParts() == memory.getReady(); }

// Returns true if numbers alone decide which elements the store writes.
bool writesFixed(Operation* store) {
  SmallVector<Value> decide;
  for (Value operand : store->getOperands())
    if (operand != valueOf(store)) decide.push_back(operand);
  return areFixed(decide);
}

// The pointers of a store, computed again from another base.
class Rebased {
 public:
  Rebased(OpBuilder& builder, Value base, Value other) : builder_(builder), type_(other.getType()) {
    known_.map(base, other);
  }

  Value of(Value pointer) {
    if (Value known = known_.lookupOrNull(pointer)) return known;
    Operation* op = pointer.getDefiningOp();
    IRMapping operands;
    for (Value operand : op->getOperands())
      if (isPointer(operand.getType())) operands.map(operand, of(operand));
    Operation* made = builder_.clone(*op, operands);
    Value result = made->getResult(cast<OpResult>(pointer).getResultNumber());
    result.setType(withElement(result.getType(), type_));
    known_.map(pointer, result);
    return result;
  }

 private:
  OpBuilder& builder_;
  Type type_;
  IRMapping known_;
};

// Returns true if the pointer is computed from the base by ops that can be computed again.
bool canBeRebased(Value pointer, Value base) {
  if (pointer == base) return true;
  Operation* op = pointer.getDefiningOp();
  return op && isa<tile::AddPtrOp, tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp>(op) &&
         canBeRebased(op->getOperand(0), base);
}

class Sum {
 public:
  Sum(dist::LeavingOp memory, Operation* store)
      : memory_(memory), store_(store), where_(store->getLoc()), type_(valueOf(store).getType()) {}

  // With two ranks a store by pointers stores the sum itself. Other stores' results are loaded again behind them, piece by piece, from
  // where they just went: so the sums take few registers beside a product's, and beside the places of a block, which are no pointers yet.
  void add(const ElementRange& range) {
    OpBuilder builder(store_);
    rank_ = dist::RankOp::create(builder, where_, Value());
    ranks_ = dist::NumRanksOp::create(builder, where_, Value());
    share_ = arith::MulIOp::create(builder, where_, memory_.getBands(), memory_.getChunk());
    Value first = arith::MulIOp::create(builder, where_, wide(builder, rank_), share_);
    Value end = arith::AddIOp::create(builder, where_, first, share_);
    // A tile that goes beyond the share gets nothing added here: its program would wait for what the peers' programs of the same tile
    // send, and these for what it sends.
    Value all = arith::MulIOp::create(builder, where_, memory_.getChunks(), memory_.getChunk());
    Value last = arith::SubIOp::create(builder, where_, all, arith::ConstantIntOp::create(builder, where_, 1, 64));
    last = arith::MinSIOp::create(builder, where_, range.last, last);  // behind it is no rank's share
    Value begins = arith::CmpIOp::create(builder, where_, arith::CmpIPredicate::sge, range.first, first);
    Value ends = arith::CmpIOp::create(builder, where_, arith::CmpIPredicate::slt, last, end);
    Value isOwn = arith::AndIOp::create(builder, where_, begins, ends);
    if (isInPlace(memory_)) return addInPlace(builder, isOwn, range);
    isPair_ = arith::CmpIOp::create(builder, where_, arith::CmpIPredicate::eq, ranks_, number(builder, 2));
    if (!isa<tile::StoreOp>(store_)) {
      builder.setInsertionPointAfter(store_);
      return addBehind(builder, isOwn, range);
    }
    Value isOwnOfPair = arith::AndIOp::create(builder, where_, isOwn, isPair_);
    auto ofPair = scf::IfOp::create(builder, where_, isOwnOfPair, true);
    OpBuilder pair = ofPair.getThenBodyBuilder(), others = ofPair.getElseBodyBuilder();
    store_->moveBefore(others.getInsertionBlock()->getTerminator());
    addBehind(others, isOwn, range);
    auto [pointers, mask] = awaitedPlaces(pair, range);
    storeTotal(pair, pointers, sumOfPair(pair, valueOf(store_), pointers, mask), mask);
  }

 private:
  // The other rank's part is there already. A sum from zero on has no negative zero.
  void addInPlace(OpBuilder& builder, Value isOwn, const ElementRange& range) {
    auto branch = scf::IfOp::create(builder, where_, isOwn, true);
    OpBuilder own = branch.getThenBodyBuilder(), others = branch.getElseBodyBuilder();
    store_->moveBefore(others.getInsertionBlock()->getTerminator());
    Value memory = memory_.getResult(), value = valueOf(store_);
    Value there = dist::ConsumeTokenOp::create(own, where_, memory, awaitParts(own, range));
    Value to = Rebased(own, memory, there).of(pointerOf(store_));
    Value sum = converted(own, added(own, zeroOf(own, sumType(type_)), value), type_);
    if (auto plain = dyn_cast<tile::StoreOp>(store_)) {
      tile::AtomicRmwOp::create(own, where_, type_, tile::Rmw::FAdd, to, sum, plain.getMask(), tile::Semantic::Relaxed,
                                tile::Scope::Gpu);
      return;
    }
    IRMapping operands;
    operands.map(value, sum);
    operands.map(pointerOf(store_), to);
    cast<tile::BlockStoreOp>(own.clone(*store_, operands)).setReduce(tile::Rmw::FAdd);
  }

  Value wide(OpBuilder& builder, Value number) {
    return arith::ExtSIOp::create(builder, where_, builder.getI64Type(), number);
  }
  Value number(OpBuilder& builder, int64_t value) { return arith::ConstantIntOp::create(builder, where_, value, 32); }

  // A block's places are pointers, too.
  std::pair<Value, Value> placesOf(OpBuilder& builder) {
    if (auto store = dyn_cast<tile::StoreOp>(store_)) return {store.getPointer(), store.getMask()};
    auto block = cast<tile::BlockStoreOp>(store_);
    auto load = tile::BlockLoadOp::create(builder, where_, type_, block.getBase(), block.getShape(), block.getStrides(),
                                          block.getOffsets(), block.getBoundaryCheck(), tile::Padding::Zero,
                                          tile::Cache::None, tile::Evict::Normal, block.getDescriptor());
    analysis::AxisInfoAnalysis axes(memory_->getParentOfType<func::FuncOp>());
    tile::LoadOp made = pointerForm(load, axes);
    std::pair<Value, Value> places = {made.getPointer(), made.getMask()};
    made.erase();
    return places;
  }

  Value awaitParts(OpBuilder& builder, const ElementRange& range) {
    auto loop = scf::ForOp::create(builder, where_, number(builder, 0), ranks_, number(builder, 1),
                                   ValueRange{number(builder, 0)});
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    Value source = loop.getInductionVar(), token = loop.getRegionIterArg(0);
    Value isPeer = arith::CmpIOp::create(inner, where_, arith::CmpIPredicate::ne, source, rank_);
    auto branch = scf::IfOp::create(inner, where_, TypeRange{token.getType()}, isPeer, true);
    OpBuilder peer = branch.getThenBodyBuilder(), own = branch.getElseBodyBuilder();
    Value apart = wide(peer, arith::SubIOp::create(peer, where_, source, rank_));
    Value words = arith::MulIOp::create(peer, where_, apart, memory_.getBands());
    words = tile::AddPtrOp::create(peer, where_, memory_.getReady(), words);
    Value all = eachChunk(peer, where_, range, {words, memory_.getChunk(), memory_.getChunks()}, token,
                          [&](OpBuilder& b, Value word, Value) { return awaitWord(b, word); });
    scf::YieldOp::create(peer, where_, all);
    scf::YieldOp::create(own, where_, token);
    scf::YieldOp::create(inner, where_, branch.getResult(0));
    return loop.getResult(0);
  }

  Value awaitWord(OpBuilder& builder, Value word) {
    Value there = arith::ConstantIntOp::create(builder, where_, 1, 64);
    auto wait = dist::WaitOp::create(builder, where_, word, number(builder, 1), there, tile::Scope::Sys,
                                     tile::Semantic::Acquire, dist::Compare::Ge);
    dist::setStays(wait);
    return wait;
  }

  // The place that the store goes to, and the part of another rank that has arrived to be added there.
  std::pair<Value, Value> awaitedPlaces(OpBuilder& builder, const ElementRange& range) {
    std::pair<Value, Value> places = placesOf(builder);
    parts_ = dist::ConsumeTokenOp::create(builder, where_, memory_.getParts(), awaitParts(builder, range));
    return places;
  }

  void addBehind(OpBuilder& builder, Value isOwn, const ElementRange& range) {
    auto branch = scf::IfOp::create(builder, where_, isOwn, false);
    OpBuilder inner = branch.getThenBodyBuilder();
    auto [pointers, mask] = awaitedPlaces(inner, range);
    eachPiece(inner, pointers, mask);
  }

  void storeTotal(OpBuilder& builder, Value pointers, Value total, Value mask) {
    tile::StoreOp::create(builder, where_, pointers, total, mask, tile::Cache::None, tile::Evict::Normal);
  }

  void eachPiece(OpBuilder& builder, Value pointers, Value mask) {
    auto sum = [&](OpBuilder& b, Value places, Value inside) {
      storeTotal(b, places, sumOfStored(b, places, inside), inside);
    };
    auto tile = dyn_cast<RankedTensorType>(pointers.getType());
    int64_t pieces = tile ? std::max<int64_t>(tile.getNumElements() / kPiece, 1) : 1;
    PartOfTile part([](Operation* op) { return isMemoryEffectFree(op) && !op->getNumRegions(); });
    bool isDivided =
        pieces > 1 && tile.getDimSize(0) % pieces == 0 && part.take(pointers, 0) && (!mask || part.take(mask, 0));
    if (!isDivided) return sum(builder, pointers, mask);
    auto loop = scf::ForOp::create(builder, where_, number(builder, 0), number(builder, pieces), number(builder, 1));
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    auto ofPart = [&](tile::MakeRangeOp range, RankedTensorType type) -> Value {
      int64_t size = type.getDimSize(0);
      Value first = tile::MakeRangeOp::create(inner, where_, type, range.getStart(), range.getStart() + size);
      Value begin = arith::MulIOp::create(inner, where_, loop.getInductionVar(), number(inner, size));
      return arith::AddIOp::create(inner, where_, first, tile::SplatOp::create(inner, where_, type, begin));
    };
    IRMapping made;
    Value places = part.make(pointers, pieces, inner, ofPart, made);
    sum(inner, places, mask ? part.make(mask, pieces, inner, ofPart, made) : mask);
  }

  // Floats are added in fp32, float64 in float64; of integers the last bits stay, in whichever type they are added.
  static Type sumType(Type type) {
    Type element = getElementTypeOrSelf(type);
    bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 64;
    return isNarrow ? withElement(type, Float32Type::get(type.getContext())) : type;
  }

  Value converted(OpBuilder& builder, Value value, Type to) {
    return value.getType() == to ? value : tile::FpToFpOp::create(builder, where_, to, value).getResult();
  }

  Value added(OpBuilder& builder, Value total, Value part) {
    part = converted(builder, part, total.getType());
    if (isa<FloatType>(getElementTypeOrSelf(total.getType())))
      return arith::AddFOp::create(builder, where_, total, part);
    return arith::AddIOp::create(builder, where_, total, part);
  }

  Type typeOf(Value pointers) const { return withElement(pointers.getType(), getElementTypeOrSelf(type_)); }

  Value zeroOf(OpBuilder& builder, Type type) {
    return arith::ConstantOp::create(builder, where_, TypedAttr(builder.getZeroAttr(type)));
  }

  Value load(OpBuilder& builder, Value from, Value mask) {
    Type type = typeOf(from);
    return tile::LoadOp::create(builder, where_, type, from, mask, mask ? zeroOf(builder, type) : Value(),
                                tile::Cache::None, tile::Evict::Normal, false);
  }

  Value partOf(OpBuilder& builder, Value source, Value pointers, Value mask) {
    Value apart = wide(builder, arith::SubIOp::create(builder, where_, source, rank_));
    Value base = tile::AddPtrOp::create(builder, where_, parts_, arith::MulIOp::create(builder, where_, apart, share_));
    Value from = Rebased(builder, memory_.getResult(), base).of(pointers);
    return load(builder, from, mask);
  }

  // A sum of two ranks' parts is the same in either order.
  Value sumOfPair(OpBuilder& builder, Value own, Value pointers, Value mask) {
    Value zero = zeroOf(builder, sumType(own.getType()));
    Value peer = arith::SubIOp::create(builder, where_, number(builder, 1), rank_);
    Value part = partOf(builder, peer, pointers, mask);
    return converted(builder, added(builder, added(builder, zero, own), part), own.getType());
  }

  Value sumOfStored(OpBuilder& builder, Value pointers, Value mask) {
    if (isa<tile::StoreOp>(store_)) return sumOfMore(builder, pointers, mask);
    auto branch = scf::IfOp::create(builder, where_, TypeRange{typeOf(pointers)}, isPair_, true);
    OpBuilder pair = branch.getThenBodyBuilder(), more = branch.getElseBodyBuilder();
    scf::YieldOp::create(pair, where_, sumOfPair(pair, load(pair, pointers, mask), pointers, mask));
    scf::YieldOp::create(more, where_, sumOfMore(more, pointers, mask));
    return branch.getResult(0);
  }

  Value sumOfMore(OpBuilder& builder, Value pointers, Value mask) {
    Type type = typeOf(pointers);
    auto ofRanks = [&](Value first, Value end, Value total) {
      auto loop = scf::ForOp::create(builder, where_, first, end, number(builder, 1), ValueRange{total});
      OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
      Value part = partOf(inner, loop.getInductionVar(), pointers, mask);
      scf::YieldOp::create(inner, where_, added(inner, loop.getRegionIterArg(0), part));
      return loop.getResult(0);
    };
    Value total = ofRanks(number(builder, 0), rank_, zeroOf(builder, sumType(type)));
    total = added(builder, total, load(builder, pointers, mask));
    total = ofRanks(arith::AddIOp::create(builder, where_, rank_, number(builder, 1)), ranks_, total);
    return converted(builder, total, type);
  }

  static constexpr int64_t kPiece = 16384;  // elements that are added at a time

  dist::LeavingOp memory_;
  Operation* store_;
  Location where_;
  Type type_;
  Value rank_, ranks_, isPair_, share_, parts_;
};

}  // namespace

LogicalResult checkSums(dist::LeavingOp memory, ArrayRef<TravellingAccess> accesses) {
  Block* block = nullptr;
  for (const TravellingAccess& access : accesses) {
    Operation* op = access.op;
    auto blockStore = dyn_cast<tile::BlockStoreOp>(op);
    bool isStore = isa<tile::StoreOp>(op) || (blockStore && !blockStore.getReduce());
    if (!isStore) return refuse(op, memory, "only stores can add the peers' parts");
    bool isAlone = !op->getParentOfType<LoopLikeOpInterface>() && (!block || block == op->getBlock());
    block = op->getBlock();
    if (!isAlone)
      return refuse(op, memory, "only stores that run at most once, and side by side, can add the peers' parts");
    Type element = getElementTypeOrSelf(valueOf(op).getType());
    bool canAdd = !element.isInteger(1) && canBeRebased(pointerOf(op), memory.getResult());
    // An element that two stores write would be added twice; stores that are counted write each once.
    bool canUpdate = (element.isF16() || element.isBF16() || element.isF32()) && writesFixed(op);
    if (!canAdd || (isInPlace(memory) && !canUpdate))
      return refuse(op, memory, "the peers' parts of what this store writes cannot be added here");
  }
  return success();
}

void addParts(dist::LeavingOp memory, Operation* store, const ElementRange& range) { Sum(memory, store).add(range); }

Operation* markWritten(dist::LeavingOp memory, Operation* store) {
  OpBuilder builder(store);
  Value value = valueOf(store), from = pointerOf(store);
  auto block = dyn_cast<tile::BlockStoreOp>(store);
  if ((block && block.getReduce()) || !canBeRebased(from, memory.getResult())) return nullptr;
  if (!writesFixed(store)) return nullptr;
  Type type = withElement(value.getType(), builder.getI32Type());
  Attribute one = builder.getI32IntegerAttr(1);
  if (auto tile = dyn_cast<RankedTensorType>(type)) one = DenseElementsAttr::get(tile, one);
  Value ones = arith::ConstantOp::create(builder, store->getLoc(), cast<TypedAttr>(one));
  Value to = Rebased(builder, memory.getResult(), memory.getParts()).of(from);
  if (auto plain = dyn_cast<tile::StoreOp>(store))
    return tile::AtomicRmwOp::create(builder, store->getLoc(), type, tile::Rmw::Add, to, ones, plain.getMask(),
                                     tile::Semantic::Relaxed, tile::Scope::Gpu);
  IRMapping operands;
  operands.map(value, ones);
  operands.map(from, to);
  auto made = cast<tile::BlockStoreOp>(builder.clone(*store, operands));
  made.setReduce(tile::Rmw::Add);
  made.setDescriptor(false);  // rows of the counts may not be aligned as those of the memory are
  return made;
}

}  // namespace tandem::transform::gpu
