// No tensor core here knows these formats. As tiles of their own the numbers take every way that operands have: they are loaded ahead,
// decoded by the threads that load them, and multiplied by the best unit.
#include "compiler/transform/nvidia/scaled_products.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }

// The 8 bits of a bfloat16's significand may be too few for a number of the format times its scale; this says whether they hold it.
bool fitsBfloat16(tile::MicroScale format, Value scale) {
  bool scaleHasFraction = scale && !typeOf(scale).getElementType().isInteger();
  return format != tile::MicroScale::Fp16 && !(format == tile::MicroScale::Bf16 && scaleHasFraction);
}

class Decoding {
 public:
  Decoding(tile::DotScaledOp dot) : builder_(dot), loc_(dot.getLoc()), element_(builder_.getBF16Type()) {
    if (!fitsBfloat16(dot.getLhsFormat(), dot.getLhsScale()) || !fitsBfloat16(dot.getRhsFormat(), dot.getRhsScale()))
      element_ = builder_.getF32Type();
  }

  // `depth` is the dimension that is K, `pairs` the one along which numbers of four bits are packed.
  Value operand(Value tile, tile::MicroScale format, unsigned pairs, Value scale, unsigned depth) {
    Value numbers = format == tile::MicroScale::E2M1 ? pairsOf(tile, pairs) : asElement(tile);
    if (!scale) return numbers;
    return arith::MulFOp::create(builder_, loc_, numbers, factorsOf(scale, typeOf(numbers), depth));
  }

  Value product(tile::DotScaledOp dot, Value lhs, Value rhs) {
    return tile::DotOp::create(builder_, loc_, dot.getType(), lhs, rhs, dot.getAcc());
  }

 private:
  Value asElement(Value tile) {
    if (typeOf(tile).getElementType() == element_) return tile;
    return tile::FpToFpOp::create(builder_, loc_, typeOf(tile).clone(element_), tile);
  }

  // `value` & `mask`, moved to the left by `shift`.
  Value part(Value value, int mask, int shift) {
    Value masked = arith::AndIOp::create(builder_, loc_, value, constant(typeOf(value), mask));
    return arith::ShLIOp::create(builder_, loc_, masked, constant(typeOf(value), shift));
  }

  Value constant(RankedTensorType type, int number) {
    return arith::ConstantOp::create(
        builder_, loc_, DenseElementsAttr::get(type, builder_.getIntegerAttr(type.getElementType(), number)));
  }

  // Sign, exponent and fraction where a bfloat16 has its own: the number, but for what the exponents begin at.
  Value fourBits(Value wide, int magnitude, int toFraction, int sign, int toSign) {
    Value bits = arith::OrIOp::create(builder_, loc_, part(wide, magnitude, toFraction), part(wide, sign, toSign));
    auto type = typeOf(bits).clone(builder_.getBF16Type());
    Value number = tile::BitcastOp::create(builder_, loc_, type, bits);
    auto power = builder_.getFloatAttr(type.getElementType(), 0x1p126);
    Value factor = arith::ConstantOp::create(builder_, loc_, DenseElementsAttr::get(type, power));
    return arith::MulFOp::create(builder_, loc_, number, factor);
  }

  Value pairsOf(Value packed, unsigned axis) {
    RankedTensorType type = typeOf(packed);
    Value wide = arith::ExtUIOp::create(builder_, loc_, type.clone(builder_.getI16Type()), packed);
    Value first = fourBits(wide, 0x07, 6, 0x08, 12), second = fourBits(wide, 0x70, 2, 0x80, 8);
    int64_t rank = type.getRank();
    SmallVector<int64_t> shape(type.getShape());
    shape.push_back(2);
    auto joined = typeOf(first).clone(shape);
    Value both = tile::JoinOp::create(builder_, loc_, joined, first, second);
    SmallVector<int32_t> order = llvm::to_vector(llvm::seq<int32_t>(0, rank));
    order.insert(order.begin() + axis + 1, rank);
    shape.pop_back();
    if (axis + 1 != rank) {
      SmallVector<int64_t> turned(shape);
      turned.insert(turned.begin() + axis + 1, 2);
      both = tile::PermuteOp::create(builder_, loc_, joined.clone(turned), both, builder_.getDenseI32ArrayAttr(order));
    }
    shape[axis] *= 2;
    return asElement(tile::ReshapeOp::create(builder_, loc_, joined.clone(shape), both));
  }

  // A number of e4m3, or 2^(byte - 127), of which 255 is NaN and the least has no exponent in a bfloat16.
  Value decodeScale(Value scale) {
    if (!typeOf(scale).getElementType().isInteger()) return asElement(scale);
    auto type = typeOf(scale).clone(builder_.getI16Type());
    Value byte = arith::ExtUIOp::create(builder_, loc_, type, scale);
    Value bits = arith::ShLIOp::create(builder_, loc_, byte, constant(type, 7));
    for (auto [special, pattern] : {std::pair(0, 0x0040), std::pair(255, 0x7fc0)}) {
      Value is = arith::CmpIOp::create(builder_, loc_, arith::CmpIPredicate::eq, byte, constant(type, special));
      bits = arith::SelectOp::create(builder_, loc_, is, constant(type, pattern), bits);
    }
    return asElement(tile::BitcastOp::create(builder_, loc_, type.clone(builder_.getBF16Type()), bits));
  }

  // Scales are [.., M or N, K / elementsPerScale]: one for each element of an operand of this type.
  Value factorsOf(Value scale, RankedTensorType operand, unsigned depth) {
    int64_t rank = operand.getRank(), each = tile::elementsPerScale(scale);
    Value factors = decodeScale(scale);
    SmallVector<int64_t> shape(typeOf(factors).getShape());
    shape.push_back(1);
    factors = tile::ExpandDimsOp::create(builder_, loc_, operand.clone(shape), factors, rank);
    shape.back() = each;
    factors = tile::BroadcastOp::create(builder_, loc_, operand.clone(shape), factors);
    shape.pop_back();
    shape.back() *= each;
    factors = tile::ReshapeOp::create(builder_, loc_, operand.clone(shape), factors);
    if (depth + 1 == rank) return factors;
    SmallVector<int32_t> order = llvm::to_vector(llvm::seq<int32_t>(0, rank));
    std::swap(order[rank - 1], order[rank - 2]);
    return tile::PermuteOp::create(builder_, loc_, operand, factors, builder_.getDenseI32ArrayAttr(order));
  }

  OpBuilder builder_;
  Location loc_;
  Type element_;
};

}  // namespace

bool multiplyDecoded(func::FuncOp kernel) {
  bool changed = false;
  kernel.walk([&](tile::DotScaledOp dot) {
    unsigned n = cast<RankedTensorType>(dot.getType()).getRank() - 1, m = n - 1;
    Decoding decoding(dot);
    Value lhs = decoding.operand(dot.getLhs(), dot.getLhsFormat(), dot.getLhsKPack() ? n : m, dot.getLhsScale(), n);
    Value rhs = decoding.operand(dot.getRhs(), dot.getRhsFormat(), dot.getRhsKPack() ? m : n, dot.getRhsScale(), m);
    dot.replaceAllUsesWith(decoding.product(dot, lhs, rhs));
    dot.erase();
    changed = true;
  });
  return changed;
}

}  // namespace tandem::transform::nvidia
