// Classes of (tile, dimension) pairs, one rule an op; then a choice among the classes, products first.
#include "compiler/transform/gpu/program_axes.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/transform/gpu/layout_rules.h"
#include <llvm/ADT/IntEqClasses.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }
ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }

// The least rows of a block's part of a product, and the least with which wgmma is still possible.
constexpr int64_t kLeastRows = 16, kWgmmaRows = 64;

class Axes {
 public:
  Axes(func::FuncOp kernel, int64_t blocks) : kernel_(kernel), blocks_(blocks) {}

  llvm::DenseMap<Value, unsigned> run() {
    kernel_.walk([&](Block* block) { addAll(block->getArguments()); });
    kernel_.walk([&](Operation* op) { addAll(op->getResults()); });
    classes_.grow(nodes_.size());
    kernel_.walk([&](Operation* op) { relate(op); });
    collectMembers();
    kernel_.walk([&](tile::DotOp dot) { divideProduct(dot); });
    kernel_.walk([&](Operation* op) {
      if (op->getNumResults() == 0 || isa<tile::AtomicRmwOp, tile::AtomicCasOp>(op)) divideFirst(op->getOperands());
    });
    kernel_.walk([&](Operation* op) { divideFirst(op->getResults()); });
    return std::move(divided_);
  }

 private:
  using Node = std::pair<Value, unsigned>;

  void addAll(ValueRange values) {
    for (Value v : values) {
      if (!isTile(v)) continue;
      first_[v] = nodes_.size();
      for (unsigned d = 0; d < shapeOf(v).size(); ++d) nodes_.push_back({v, d});
    }
  }

  //===- which dimensions are one axis --------------------------------------------------------------------------===//
  unsigned nodeOf(Value tile, unsigned dim) const { return first_.lookup(tile) + dim; }
  void tie(Value a, unsigned dimOfA, Value b, unsigned dimOfB) { classes_.join(nodeOf(a, dimOfA), nodeOf(b, dimOfB)); }
  void tieAll(Value a, Value b) {
    if (!isTile(a) || !isTile(b)) return;
    for (unsigned d = 0; d < shapeOf(a).size(); ++d) tie(a, d, b, d);
  }
  void tieEach(ValueRange a, ValueRange b) {
    for (auto [x, y] : llvm::zip_equal(a, b)) tieAll(x, y);
  }
  void keepWhole(Value tile, unsigned dim) { whole_.push_back(nodeOf(tile, dim)); }
  void keepWhole(ValueRange values) {
    for (Value v : values)
      for (unsigned d = 0; isTile(v) && d < shapeOf(v).size(); ++d) keepWhole(v, d);
  }
  static SmallVector<Value> tilesOf(Operation* op) {
    SmallVector<Value> tiles(op->getOperands());
    llvm::append_range(tiles, op->getResults());
    llvm::erase_if(tiles, [](Value v) { return !isTile(v); });
    return tiles;
  }

  void relate(Operation* op) {
    llvm::TypeSwitch<Operation*>(op)
        .Case<scf::ForOp>([&](auto o) {
          tieEach(o.getInitArgs(), o.getRegionIterArgs());
          tieEach(o.getInitArgs(), o.getYieldedValues());
          tieEach(o.getInitArgs(), o.getResults());
        })
        .Case<scf::WhileOp>([&](auto o) {
          tieEach(o.getInits(), o.getBeforeArguments());
          tieEach(o.getInits(), o.getYieldOp().getOperands());
          tieEach(o.getConditionOp().getArgs(), o.getAfterArguments());
          tieEach(o.getConditionOp().getArgs(), o.getResults());
        })
        .Case<scf::IfOp>([&](auto o) {
          if (o.getNumResults() == 0) return;
          tieEach(o.getResults(), o.thenYield().getOperands());
          tieEach(o.getResults(), o.elseYield().getOperands());
        })
        .Case<scf::ExecuteRegionOp>(
            [&](auto o) { tieEach(o.getResults(), o.getRegion().front().getTerminator()->getOperands()); })
        .Case<tile::MakeRangeOp, tile::SplatOp, tile::BlockLoadOp, tile::BlockStoreOp>([](auto) {})
        .Case<arith::ConstantOp>([&](auto o) {
          auto elements = dyn_cast<DenseElementsAttr>(o.getValue());
          if (!elements || !elements.isSplat()) keepWhole(o->getResults());
        })
        .Case<tile::ExpandDimsOp>([&](auto o) {
          for (unsigned d = 0; d < shapeOf(o.getSource()).size(); ++d)
            tie(o.getSource(), d, o.getResult(), d < o.getAxis() ? d : d + 1);
        })
        .Case<tile::BroadcastOp>([&](auto o) {
          for (auto [d, size] : llvm::enumerate(shapeOf(o.getSource())))
            if (size == shapeOf(o.getResult())[d]) tie(o.getSource(), d, o.getResult(), d);
        })
        .Case<tile::PermuteOp>([&](auto o) {
          for (auto [d, from] : llvm::enumerate(o.getOrder())) tie(o.getResult(), d, o.getSource(), from);
        })
        .Case<tile::ReshapeOp>([&](auto o) { relateReshape(o); })
        .Case<tile::JoinOp>([&](auto o) { relatePairs({o.getLhs(), o.getRhs()}, o.getResult()); })
        .Case<tile::SplitOp>([&](auto o) { relatePairs({o.getLhs(), o.getRhs()}, o.getSource()); })
        .Case<tile::ReduceOp>([&](auto o) { relateReduce(o); })
        .Case<tile::ScanOp>([&](auto o) {
          tieSame(o);
          keepWhole(o.getSources()[0], o.getAxis());
        })
        .Case<tile::GatherOp>([&](auto o) {
          tieAll(o.getIndices(), o.getResult());
          for (unsigned d = 0; d < shapeOf(o.getSource()).size(); ++d)
            if (d != o.getAxis()) tie(o.getSource(), d, o.getResult(), d);
          keepWhole(o.getSource(), o.getAxis());
        })
        .Case<tile::DotOp>([&](auto o) { relateProduct(o); })
        .Case<tile::AssertOp>([&](auto o) { tieSame(o); })
        .Default([&](Operation* o) {
          if (o->hasTrait<OpTrait::IsTerminator>()) return;
          isSameLayout(o) ? tieSame(o) : keepWhole(tilesOf(o));
        });
  }

  void tieSame(Operation* op) {
    SmallVector<Value> tiles = tilesOf(op);
    for (Value v : tiles) tieAll(tiles[0], v);
  }

  // A dimension's upper bits follow the dimensions before it: where as many elements lie before, it is the same bits.
  void relateReshape(tile::ReshapeOp op) {
    ArrayRef<int64_t> from = shapeOf(op.getSource()), to = shapeOf(op.getResult());
    llvm::DenseMap<int64_t, unsigned> beginning;
    for (int64_t d = 0, before = 1; d < int64_t(from.size()); before *= from[d++])
      if (from[d] > 1) beginning[before] = d;
    for (int64_t d = 0, before = 1; d < int64_t(to.size()); before *= to[d++]) {
      if (to[d] == 1) continue;
      auto it = beginning.find(before);
      if (it == beginning.end()) {
        keepWhole(op.getResult(), d);
        continue;
      }
      tie(op.getSource(), it->second, op.getResult(), d);
      beginning.erase(it);
    }
    for (auto [before, d] : beginning) keepWhole(op.getSource(), d);
  }

  void relatePairs(ArrayRef<Value> halves, Value pairs) {
    unsigned last = shapeOf(pairs).size() - 1;
    keepWhole(pairs, last);
    for (Value half : halves)
      for (unsigned d = 0; isTile(half) && d < last; ++d) tie(half, d, pairs, d);
  }

  void relateReduce(tile::ReduceOp op) {
    for (Value source : op.getSources()) tieAll(op.getSources()[0], source);
    keepWhole(op.getSources()[0], op.getAxis());
    for (Value result : op.getResults())
      for (unsigned d = 0; isTile(result) && d < shapeOf(result).size(); ++d)
        tie(result, d, op.getSources()[0], d < op.getAxis() ? d : d + 1);
  }

  void relateProduct(tile::DotOp op) {
    unsigned m = shapeOf(op.getAcc()).size() - 2, n = m + 1;
    tieAll(op.getAcc(), op.getResult());
    for (unsigned batch = 0; batch < m; ++batch)
      for (Value operand : {op.getLhs(), op.getRhs()}) tie(operand, batch, op.getAcc(), batch);
    tie(op.getLhs(), m, op.getAcc(), m);
    tie(op.getRhs(), n, op.getAcc(), n);
    keepWhole(op.getLhs(), n);
    keepWhole(op.getRhs(), m);
    for (unsigned d : {m, n})
      if (shapeOf(op.getAcc())[d] / blocks_ < kLeastRows) keepWhole(op.getAcc(), d);
  }

  //===- which axes are divided ---------------------------------------------------------------------------------===//
  // Parts of two dimensions of one tile would be less than all of it.
  void collectMembers() {
    classes_.compress();
    members_.resize(classes_.getNumClasses());
    dividable_.assign(members_.size(), true);
    for (auto [i, node] : llvm::enumerate(nodes_)) {
      auto& members = members_[classes_[i]];
      if (shapeOf(node.first)[node.second] < blocks_) dividable_[classes_[i]] = false;
      if (!members.empty() && members.back().first == node.first) dividable_[classes_[i]] = false;
      members.push_back(node);
    }
    for (unsigned node : whole_) dividable_[classes_[node]] = false;
  }

  bool divide(Value tile, unsigned dim) {
    unsigned axis = classes_[nodeOf(tile, dim)];
    auto isDivided = [&](const Node& node) { return divided_.contains(node.first); };
    if (!dividable_[axis] || llvm::any_of(members_[axis], isDivided)) return false;
    for (const Node& node : members_[axis]) divided_[node.first] = node.second;
    return true;
  }

  void divideFirst(ValueRange values) {
    for (Value v : values)
      for (unsigned d = 0; isTile(v) && !divided_.contains(v) && d < shapeOf(v).size(); ++d) divide(v, d);
  }

  // Rows, while a warpgroup has enough of them: wgmma likes broad tiles.
  void divideProduct(tile::DotOp op) {
    Value acc = op.getAcc();
    unsigned m = shapeOf(acc).size() - 2, n = m + 1;
    if (divided_.contains(acc)) return;
    bool rows = shapeOf(acc)[m] / blocks_ >= kWgmmaRows || shapeOf(acc)[n] / blocks_ < kWgmmaRows;
    if (!divide(acc, rows ? m : n)) divide(acc, rows ? n : m);
  }

  func::FuncOp kernel_;
  int64_t blocks_;
  std::vector<Node> nodes_;
  llvm::DenseMap<Value, unsigned> first_;  // the node of a tile's first dimension
  llvm::IntEqClasses classes_;
  std::vector<unsigned> whole_;  // nodes of axes that some op needs whole
  std::vector<std::vector<Node>> members_;
  std::vector<bool> dividable_;
  llvm::DenseMap<Value, unsigned> divided_;
};

}  // namespace

ProgramAxes::ProgramAxes(func::FuncOp kernel, int64_t blocks) : divided_(Axes(kernel, blocks).run()) {}

std::optional<unsigned> ProgramAxes::dividedDim(Value tile) const {
  auto it = divided_.find(tile);
  return it == divided_.end() ? std::nullopt : std::optional<unsigned>(it->second);
}

}  // namespace tandem::transform::gpu
