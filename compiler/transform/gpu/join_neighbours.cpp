// The pass looks at runs of one block's loads, and of its stores, between which nothing may see in which order they are made.
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/gpu/neighbour_rows.h"
#include "compiler/transform/gpu/passes.h"
#include <map>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Matchers.h>
#include <vector>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_JOINNEIGHBOURS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

// An address, or a tile of them, as a sum.
struct Place {
  std::vector<const void*> terms;  // what is added, sorted
  int64_t elements = 0;            // and a constant number of elements
};

void add(Value number, Place& place) {
  while (true) {
    if (std::optional<int64_t> constant = constantOf(number)) {
      place.elements += *constant;
      return;
    }
    auto sum = number.getDefiningOp<arith::AddIOp>();
    std::optional<int64_t> left = sum ? constantOf(sum.getLhs()) : std::nullopt;
    std::optional<int64_t> right = sum ? constantOf(sum.getRhs()) : std::nullopt;
    if (auto splat = number.getDefiningOp<tile::SplatOp>()) {
      number = splat.getSource();
    } else if (left || right) {
      place.elements += right ? *right : *left;
      number = right ? sum.getLhs() : sum.getRhs();
    } else {
      place.terms.push_back(number.getAsOpaquePointer());
      return;
    }
  }
}

Place placeOf(Value pointer) {
  Place place;
  while (true) {
    if (auto sum = pointer.getDefiningOp<tile::AddPtrOp>()) {
      add(sum.getOffset(), place);
      pointer = sum.getPointer();
    } else if (auto splat = pointer.getDefiningOp<tile::SplatOp>()) {
      pointer = splat.getSource();
    } else {
      break;
    }
  }
  place.terms.push_back(pointer.getAsOpaquePointer());
  llvm::sort(place.terms);
  return place;
}

bool isTile(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && !type.getEncoding();
}

RankedTensorType withLast(RankedTensorType type, int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(size);
  return RankedTensorType::get(shape, type.getElementType());
}

// Repeats a tile along a new last dimension.
Value repeat(OpBuilder& b, Location at, Value tile, int64_t times) {
  auto type = cast<RankedTensorType>(tile.getType());
  Value column = tile::ExpandDimsOp::create(b, at, withLast(type, 1), tile, type.getRank());
  return tile::BroadcastOp::create(b, at, withLast(type, times), column);
}

// The same elements in another tile's shape.
Value inShape(OpBuilder& b, Location at, Value tile, RankedTensorType shape) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getShape() == shape.getShape()) return tile;
  return tile::ReshapeOp::create(b, at, shape.clone(type.getElementType()), tile, false);
}

bool isUniform(Value tile) {
  SplatElementsAttr constant;
  return tile.getDefiningOp<tile::SplatOp>() || matchPattern(tile, m_Constant(&constant));
}

// The one number of a tile in every place of another.
Value spread(OpBuilder& b, Location at, Value tile, RankedTensorType type) {
  if (auto splat = tile.getDefiningOp<tile::SplatOp>()) return tile::SplatOp::create(b, at, type, splat.getSource());
  SplatElementsAttr constant;
  matchPattern(tile, m_Constant(&constant));
  return arith::ConstantOp::create(b, at, constant.resizeSplat(type));
}

// The addresses of as many neighbours from each of a tile's on.
Value neighboursOf(OpBuilder& b, Location at, Value pointer, int64_t count) {
  auto type = cast<RankedTensorType>(pointer.getType());
  auto numbers = RankedTensorType::get({count}, b.getI32Type());
  Value steps = tile::MakeRangeOp::create(b, at, numbers, 0, count);
  for (int64_t rank = 1; rank <= type.getRank(); ++rank) {
    SmallVector<int64_t> shape(rank, 1);
    shape.push_back(count);
    steps = tile::ExpandDimsOp::create(b, at, RankedTensorType::get(shape, b.getI32Type()), steps, 0);
  }
  auto all = withLast(type, count);
  steps = tile::BroadcastOp::create(b, at, RankedTensorType::get(all.getShape(), b.getI32Type()), steps);
  return tile::AddPtrOp::create(b, at, all, repeat(b, at, pointer, count), steps);
}

// Puts tiles side by side along new last dimensions of size 2.
Value join(OpBuilder& b, Location at, ArrayRef<Value> tiles) {
  if (tiles.size() == 1) return tiles.front();
  SmallVector<Value> even, odd;
  for (auto [i, tile] : llvm::enumerate(tiles)) (i % 2 ? odd : even).push_back(tile);
  Value low = join(b, at, even), high = join(b, at, odd);
  return tile::JoinOp::create(b, at, withLast(cast<RankedTensorType>(low.getType()), 2), low, high);
}

// The inverse of `join`.
SmallVector<Value> split(OpBuilder& b, Location at, Value joined, size_t count) {
  if (count == 1) return {joined};
  auto type = cast<RankedTensorType>(joined.getType());
  auto part = RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  auto pair = tile::SplitOp::create(b, at, part, part, joined);
  SmallVector<Value> even = split(b, at, pair.getLhs(), count / 2), odd = split(b, at, pair.getRhs(), count / 2), all;
  for (auto [low, high] : llvm::zip_equal(even, odd)) all.append({low, high});
  return all;
}

// The shape of as many joined tiles of this one.
RankedTensorType pairsOf(RankedTensorType type, size_t count) {
  for (; count > 1; count /= 2) type = withLast(type, 2);
  return type;
}

// Accesses may become one if these are the same: the variable terms of their addresses, attributes, types, masks and what stands in for
// masked elements.
using Kind = std::tuple<std::vector<const void*>, const void*, const void*, const void*, const void*>;

Kind kindOf(Operation* op, const Place& place, Value mask, Value other) {
  return {place.terms, op->getAttrDictionary().getAsOpaquePointer(), op->getOperand(0).getType().getAsOpaquePointer(),
          mask.getAsOpaquePointer(), other.getAsOpaquePointer()};
}

template <class Op>
struct Member {
  Op op;
  int64_t elements;
};

class Joiner {
 public:
  explicit Joiner(func::FuncOp kernel) : axes_(kernel), threads_(32 * tile::numWarps(kernel)) {}

  bool visit(Block& block) {
    for (Operation& op : llvm::make_early_inc_range(block)) {
      if (auto load = dyn_cast<tile::LoadOp>(op)) {
        joinStores();
        if (mayJoin(load.getPointer()) && !load.getIsVolatile() && (!load.getOther() || isUniform(load.getOther())))
          loads_[kindOf(load, placeOf(load.getPointer()), load.getMask(), load.getOther())].push_back(
              {load, placeOf(load.getPointer()).elements});
      } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
        joinLoads();
        Place place = placeOf(store.getPointer());
        Kind kind = kindOf(store, place, store.getMask(), nullptr);
        if (kind != kind_ || !mayJoin(store.getPointer())) joinStores();
        kind_ = kind;
        if (mayJoin(store.getPointer())) stores_.push_back({store, place.elements});
      } else if (!isMemoryEffectFree(&op) || op.getNumRegions()) {
        joinLoads();
        joinStores();
      }
    }
    joinLoads();
    joinStores();
    return changed_;
  }

 private:
  // Every thread has an element, so that none gets its neighbours from another one.
  bool mayJoin(Value pointer) const {
    return isTile(pointer) && cast<RankedTensorType>(pointer.getType()).getNumElements() >= threads_;
  }

  // Returns true if `bytes` divide each address.
  bool divides(int64_t bytes, Value pointer) const {
    return llvm::any_of(axes_.of(pointer).dims, [&](const analysis::DimInfo& dim) {
      return dim.contiguity == 1 && dim.divisibility % bytes == 0;
    });
  }

  // Calls `make` with runs of neighbours, as long as one access of a thread can be, among members that follow each other.
  template <class Op, class Make>
  void forRuns(MutableArrayRef<Member<Op>> all, Make make) {
    constexpr int64_t kMostBytes = 16;
    for (size_t i = 0; i < all.size(); ++i) {
      int64_t bytes = analysis::pointeeBytes(all[i].op.getPointer().getType());
      for (size_t count = kMostBytes / bytes; count > 1; count /= 2) {
        if (i + count > all.size()) continue;
        SmallVector<Member<Op>> run(all.slice(i, count));
        llvm::stable_sort(run, [](auto& a, auto& b) { return a.elements < b.elements; });
        auto isNext = [&](size_t k) { return run[k].elements == run[0].elements + int64_t(k); };
        if (!llvm::all_of(llvm::seq<size_t>(1, count), isNext) || !divides(count * bytes, run[0].op.getPointer()))
          continue;
        make(MutableArrayRef(run));
        i += count - 1;
        break;
      }
    }
  }

  void joinLoads() {
    for (auto& [kind, members] : loads_) {
      llvm::stable_sort(members, [](auto& a, auto& b) { return a.elements < b.elements; });
      forRuns<tile::LoadOp>(members, [&](MutableArrayRef<Member<tile::LoadOp>> run) {
        tile::LoadOp first = llvm::min_element(run, [](auto& a, auto& b) { return a.op->isBeforeInBlock(b.op); })->op;
        Value pointer = run.front().op.getPointer();
        if (Operation* op = pointer.getDefiningOp();
            op && op->getBlock() == first->getBlock() && first->isBeforeInBlock(op))
          return;
        OpBuilder b(first);
        Location at = first.getLoc();
        int64_t count = run.size();
        auto type = cast<RankedTensorType>(first.getType());
        Value all = rowWithNeighbours(b, at, pointer, count), mask, other;
        if (!all) all = neighboursOf(b, at, pointer, count);
        auto rows = cast<RankedTensorType>(all.getType()).clone(type.getElementType());
        if (first.getMask()) mask = inShape(b, at, repeat(b, at, first.getMask(), count), rows);
        if (first.getOther()) other = spread(b, at, first.getOther(), rows);
        Value joined = tile::LoadOp::create(b, at, rows, all, mask, other, first.getCache(), first.getEvict(), false);
        joined = inShape(b, at, joined, pairsOf(type, count));
        for (auto [member, part] : llvm::zip_equal(run, split(b, at, joined, count))) {
          member.op.getResult().replaceAllUsesWith(part);
          erased_.push_back(member.op);
        }
      });
    }
    loads_.clear();
    eraseAll();
  }

  void joinStores() {
    forRuns<tile::StoreOp>(stores_, [&](MutableArrayRef<Member<tile::StoreOp>> run) {
      tile::StoreOp last = llvm::max_element(run, [](auto& a, auto& b) { return a.op->isBeforeInBlock(b.op); })->op;
      OpBuilder b(last);
      Location at = last.getLoc();
      int64_t count = run.size();
      SmallVector<Value> values = llvm::map_to_vector(run, [](auto member) { return Value(member.op.getValue()); });
      Value joined = join(b, at, values), mask;
      Value pointer = run.front().op.getPointer(), all = rowWithNeighbours(b, at, pointer, count);
      if (!all) all = neighboursOf(b, at, pointer, count);
      auto rows = cast<RankedTensorType>(all.getType());
      joined = inShape(b, at, joined, rows);
      if (last.getMask()) mask = inShape(b, at, repeat(b, at, last.getMask(), count), rows);
      tile::StoreOp::create(b, at, all, joined, mask, last.getCache(), last.getEvict());
      for (auto member : run) erased_.push_back(member.op);
    });
    stores_.clear();
    eraseAll();
  }

  void eraseAll() {
    changed_ |= !erased_.empty();
    for (Operation* op : erased_) op->erase();
    erased_.clear();
  }

  analysis::AxisInfoAnalysis axes_;
  int64_t threads_;
  std::map<Kind, SmallVector<Member<tile::LoadOp>, 2>> loads_;
  SmallVector<Member<tile::StoreOp>> stores_;
  Kind kind_;  // of the stores
  SmallVector<Operation*> erased_;
  bool changed_ = false;
};

struct JoinNeighbours : impl::JoinNeighboursBase<JoinNeighbours> {
  using Base::Base;
  void runOnOperation() override {
    Joiner joiner(getOperation());
    bool changed = false;
    getOperation().walk([&](Block* block) {
      if (isa<func::FuncOp, LoopLikeOpInterface, scf::IfOp>(block->getParentOp())) changed = joiner.visit(*block);
    });
    cleanUp(changed);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
