#include "compiler/transform/gpu/neighbour_rows.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Matchers.h>

namespace tandem::transform::gpu {
using namespace mlir;

std::optional<int64_t> constantOf(Value number) {
  llvm::APInt value;
  if (matchPattern(number, m_ConstantInt(&value))) return value.getSExtValue();
  return std::nullopt;
}

namespace {

// Makes rows of `count` times as many columns. The first pass asks only whether it can.
class Rows {
 public:
  Rows(OpBuilder* builder, Location at, int64_t count) : b_(builder), at_(at), count_(count) {}

  // A tile of numbers or addresses that grows by one from column to column: its numbers times `factor`, which is `count` in all, at every
  // `count`-th column.
  Value growing(Value tile, int64_t factor) {
    Operation* op = tile.getDefiningOp();
    if (!op) return nullptr;
    if (auto range = dyn_cast<tile::MakeRangeOp>(op)) {
      if (factor != count_ || int64_t(range.getEnd()) * count_ > INT32_MAX) return nullptr;
      return made<tile::MakeRangeOp>(tile, int32_t(range.getStart() * count_), int32_t(range.getEnd() * count_));
    }
    if (auto expanded = dyn_cast<tile::ExpandDimsOp>(op)) {
      bool isLast = int64_t(expanded.getAxis()) + 1 == cast<RankedTensorType>(tile.getType()).getRank();
      Value inner = isLast ? nullptr : growing(expanded.getSource(), factor);
      return inner ? made<tile::ExpandDimsOp>(tile, inner, expanded.getAxis()) : nullptr;
    }
    if (auto spread = dyn_cast<tile::BroadcastOp>(op)) {
      Value source = spread.getSource(), inner = columns(source) == columns(tile) ? growing(source, factor) : nullptr;
      return inner ? made<tile::BroadcastOp>(tile, inner) : nullptr;
    }
    if (auto wide = dyn_cast<arith::ExtSIOp>(op)) {
      Value inner = isRange(wide.getIn()) ? growing(wide.getIn(), factor) : nullptr;
      return inner ? made<arith::ExtSIOp>(tile, inner) : nullptr;
    }
    if (auto product = dyn_cast<arith::MulIOp>(op)) {
      bool isLeft = timesOf(product.getLhs()).has_value();
      std::optional<int64_t> times = timesOf(isLeft ? product.getLhs() : product.getRhs());
      if (!times || *times <= 0 || factor > count_ / *times) return nullptr;
      return growing(isLeft ? product.getRhs() : product.getLhs(), factor * *times);
    }
    if (auto sum = dyn_cast<arith::AddIOp>(op)) {
      Value left = sum.getLhs(), right = sum.getRhs(), same = equal(left);
      Value other = growing(same ? right : left, factor);
      if (!same) same = equal(right);
      if (!same || !other) return nullptr;
      if (factor != 1) same = made<arith::MulIOp>(tile, same, constant(same, factor));
      return made<arith::AddIOp>(tile, same, other);
    }
    if (auto sum = dyn_cast<tile::AddPtrOp>(op)) {
      Value base = equal(sum.getPointer()), offset = base ? growing(sum.getOffset(), factor) : nullptr;
      if (!base) {
        base = growing(sum.getPointer(), factor);
        offset = base ? equal(sum.getOffset()) : nullptr;
      }
      return base && offset ? made<tile::AddPtrOp>(tile, base, offset) : nullptr;
    }
    return nullptr;
  }

 private:
  static int64_t columns(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape().back(); }

  static std::optional<int64_t> timesOf(Value tile) {
    auto splat = tile.getDefiningOp<tile::SplatOp>();
    return constantOf(splat ? splat.getSource() : tile);
  }

  static bool isRange(Value tile) {
    while (Operation* op = tile.getDefiningOp()) {
      if (isa<tile::MakeRangeOp>(op)) return true;
      if (!isa<tile::ExpandDimsOp, tile::BroadcastOp>(op)) return false;
      tile = op->getOperand(0);
    }
    return false;
  }

  // A tile whose columns are all alike, with `count` times as many.
  Value equal(Value tile) {
    if (std::optional<int64_t> number = constantOf(tile)) return constant(tile, *number, true);
    Operation* op = tile.getDefiningOp();
    if (!op) return nullptr;
    if (auto splat = dyn_cast<tile::SplatOp>(op)) return made<tile::SplatOp>(tile, splat.getSource());
    if (auto spread = dyn_cast<tile::BroadcastOp>(op)) {
      Value source = spread.getSource();
      if (columns(source) != 1) source = equal(source);
      return source ? made<tile::BroadcastOp>(tile, source) : nullptr;
    }
    if (!isa<arith::AddIOp, arith::MulIOp, tile::AddPtrOp>(op)) return nullptr;
    Value left = equal(op->getOperand(0)), right = left ? equal(op->getOperand(1)) : nullptr;
    if (!right || !b_) return right;
    Operation* copy = b_->clone(*op);
    copy->setOperands({left, right});
    copy->getResult(0).setType(typeOf(tile));
    return copy->getResult(0);
  }

  RankedTensorType typeOf(Value tile) const {
    auto type = cast<RankedTensorType>(tile.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() *= count_;
    return RankedTensorType::get(shape, type.getElementType());
  }

  Value constant(Value like, int64_t number, bool widened = false) {
    if (!b_) return like;
    auto type = widened ? typeOf(like) : cast<RankedTensorType>(like.getType());
    return arith::ConstantOp::create(*b_, at_,
                                     SplatElementsAttr::get(type, b_->getIntegerAttr(type.getElementType(), number)));
  }

  template <class Op, class... Args>
  Value made(Value like, Args... args) {
    if (!b_) return like;
    return Op::create(*b_, at_, typeOf(like), args...);
  }

  OpBuilder* b_;
  Location at_;
  int64_t count_;
};

}  // namespace

Value rowWithNeighbours(OpBuilder& builder, Location at, Value pointer, int64_t count) {
  if (!Rows(nullptr, at, count).growing(pointer, 1)) return nullptr;
  return Rows(&builder, at, count).growing(pointer, 1);
}

}  // namespace tandem::transform::gpu
