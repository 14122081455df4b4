// Three products are enough: the fourth, of the two operands' rests, is smaller than what a float32 sum keeps.
#include "compiler/transform/nvidia/products_in_parts.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/target/nvidia_units.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

class Parts {
 public:
  explicit Parts(tile::DotOp dot) : dot_(dot), builder_(dot), loc_(dot.getLoc()) {}

  Value product() {
    auto [lhs, lhsRest] = divided(dot_.getLhs());
    auto [rhs, rhsRest] = divided(dot_.getRhs());
    Value zero = constant(cast<RankedTensorType>(dot_.getType()), builder_.getF32FloatAttr(0));
    Value rests = multiplied(lhs, rhsRest, multiplied(lhsRest, rhs, zero));
    // Infinity less itself, and its product with a rest of zero, are no numbers; the product of the first parts is right.
    Value isNumber = arith::CmpFOp::create(builder_, loc_, arith::CmpFPredicate::ORD, rests, rests);
    rests = arith::SelectOp::create(builder_, loc_, isNumber, rests, zero);
    return multiplied(lhs, rhs, arith::AddFOp::create(builder_, loc_, dot_.getAcc(), rests));
  }

 private:
  Value constant(RankedTensorType type, Attribute number) {
    return arith::ConstantOp::create(builder_, loc_, DenseElementsAttr::get(type, number));
  }

  // The number without the bits that tf32 has no place for, and the rest.
  std::pair<Value, Value> divided(Value tile) {
    constexpr int32_t kBitsOfTf32 = ~0x1fff;
    auto type = cast<RankedTensorType>(tile.getType()), word = type.clone(builder_.getI32Type());
    Value bits = tile::BitcastOp::create(builder_, loc_, word, tile);
    bits = arith::AndIOp::create(builder_, loc_, bits, constant(word, builder_.getI32IntegerAttr(kBitsOfTf32)));
    Value first = tile::BitcastOp::create(builder_, loc_, type, bits);
    return {first, arith::SubFOp::create(builder_, loc_, tile, first)};
  }

  Value multiplied(Value lhs, Value rhs, Value acc) {
    return tile::DotOp::create(builder_, loc_, dot_.getType(), lhs, rhs, acc);  // tf32 unless it says otherwise
  }

  tile::DotOp dot_;
  OpBuilder builder_;
  Location loc_;
};

bool asksForParts(tile::DotOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  return dot.getPrecision() == tile::Precision::Tf32x3 && lhs.getElementType().isF32() &&
         lhs.getShape().back() >= target::kMmaSync.depth(lhs.getElementTypeBitWidth());
}

}  // namespace

bool multiplyInParts(func::FuncOp kernel) {
  bool changed = false;
  kernel.walk([&](tile::DotOp dot) {
    if (!asksForParts(dot)) return;
    dot.replaceAllUsesWith(Parts(dot).product());
    dot.erase();
    changed = true;
  });
  return changed;
}

}  // namespace tandem::transform::nvidia
