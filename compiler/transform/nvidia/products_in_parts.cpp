// Products of two small parts are left out: they are smaller than what a float32 sum keeps.
#include "compiler/transform/nvidia/products_in_parts.h"
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/transform/nvidia/operands.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/PatternMatch.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

Value constant(OpBuilder& builder, Location loc, RankedTensorType type, Attribute number) {
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, number));
}

// Infinity less itself, and its product with a rest of zero, are no numbers; the product of the first parts is right.
Value numbersOr0(OpBuilder& builder, Location loc, Value sums) {
  Value isNumber = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ORD, sums, sums);
  Value zero = constant(builder, loc, cast<RankedTensorType>(sums.getType()), builder.getF32FloatAttr(0));
  return arith::SelectOp::create(builder, loc, isNumber, sums, zero);
}

class Parts {
 public:
  explicit Parts(tile::DotOp dot) : dot_(dot), builder_(dot), loc_(dot.getLoc()) {
    lhs_ = divided(dot.getLhs());
    rhs_ = divided(dot.getRhs());
  }

  // `acc` and the products of all parts but the first two, the smallest first.
  Value rests(Value acc) {
    for (size_t depth = lhs_.size() - 1; depth > 0; --depth)
      for (size_t i = depth + 1; i-- > 0;)
        acc = tile::DotOp::create(builder_, loc_, dot_.getType(), lhs_[i], rhs_[depth - i], acc);
    return acc;
  }

  // `sum` and the product of the first parts, which is added to `before` where its instructions add; not to `sum`, since tensor cores
  // round each addition down. Its precision says so to later passes.
  Value first(Value before, Value sum) {
    auto product = tile::DotOp::create(builder_, loc_, dot_.getType(), lhs_[0], rhs_[0], before);
    product.setPrecision(dot_.getPrecision());
    return analysis::isZero(sum) ? product.getResult()
                                 : arith::AddFOp::create(builder_, loc_, sum, product).getResult();
  }

  Value zero() { return constant(builder_, loc_, cast<RankedTensorType>(dot_.getType()), builder_.getF32FloatAttr(0)); }

  Value product() { return first(numbersOr0(builder_, loc_, rests(zero())), dot_.getAcc()); }

 private:
  // The number without the bits that the narrow type has no place for, then that of the rest, and so on.
  SmallVector<Value> divided(Value tile) {
    if (dot_.getPrecision() == tile::Precision::Tf32x3) {
      constexpr int32_t kBitsOfTf32 = ~0x1fff;
      auto type = cast<RankedTensorType>(tile.getType()), word = type.clone(builder_.getI32Type());
      Value bits = tile::BitcastOp::create(builder_, loc_, word, tile);
      Value mask = constant(builder_, loc_, word, builder_.getI32IntegerAttr(kBitsOfTf32));
      bits = arith::AndIOp::create(builder_, loc_, bits, mask);
      Value first = tile::BitcastOp::create(builder_, loc_, type, bits);
      return {first, arith::SubFOp::create(builder_, loc_, tile, first)};
    }
    auto type = cast<RankedTensorType>(tile.getType()), narrow = type.clone(builder_.getBF16Type());
    SmallVector<Value> parts;
    for (size_t left = dot_.getPrecision() == tile::Precision::Bf16x6 ? 3 : 2;;) {
      parts.push_back(tile::FpToFpOp::create(builder_, loc_, narrow, tile));
      if (--left == 0) return parts;
      Value wide = tile::FpToFpOp::create(builder_, loc_, type, parts.back());
      tile = arith::SubFOp::create(builder_, loc_, tile, wide);
    }
  }

  tile::DotOp dot_;
  OpBuilder builder_;
  Location loc_;
  SmallVector<Value> lhs_, rhs_;
};

bool asksForParts(tile::DotOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  tile::Precision precision = dot.getPrecision();
  if (!lhs.getElementType().isF32() || precision == tile::Precision::Tf32 || precision == tile::Precision::Ieee)
    return false;
  return lhs.getShape().back() >= target::kMmaSync.depth(precision == tile::Precision::Tf32x3 ? 32 : 16);
}

// Returns the sum that the product, or an addition of it, adds to and that only the loop's next iteration reads. Null: there is none.
Value carriedSum(tile::DotOp dot, scf::ForOp loop) {
  if (onlyAdds(dot.getAcc(), dot.getResult(), loop)) return dot.getAcc();
  auto add = dot->hasOneUse() ? dyn_cast<arith::AddFOp>(*dot->user_begin()) : arith::AddFOp();
  if (!add || add->getBlock() != loop.getBody() || !analysis::isZero(dot.getAcc())) return nullptr;
  Value sum = add.getLhs() == dot.getResult() ? add.getRhs() : add.getLhs();
  return onlyAdds(sum, add.getResult(), loop) ? sum : nullptr;
}

// The loop's sum, that of the rests and a product leave a thread registers for operands, and a multiprocessor's threads a quarter of all.
bool hasRoomForRests(tile::DotOp dot, int numWarps) {
  constexpr int64_t kMost = kRegistersOfThread / 4, kSums = 1 << 14;
  return sumsOfThread(dot, numWarps) <= kMost && cast<RankedTensorType>(dot.getType()).getNumElements() <= kSums;
}

// An infinite operand makes no numbers of the rests' sum where the other sum is infinite or no number, so that the first is left out as a
// whole there, behind the loop.
void carryRests(tile::DotOp dot, Value sum, scf::ForOp loop) {
  IRRewriter rewriter(loop);
  Location loc = dot.getLoc();
  auto type = cast<RankedTensorType>(dot.getType());
  unsigned index = carriedIndex(sum, loop);
  DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
  Value zero = constant(rewriter, loc, type, rewriter.getF32FloatAttr(0));
  auto carry = [&](OpBuilder&, Location, ArrayRef<BlockArgument> carried) -> SmallVector<Value> {
    Parts parts(dot);
    Value rests = parts.rests(carried[0]);
    dot.replaceAllUsesWith(parts.first(parts.zero(), dot.getAcc()));
    dot.erase();
    return {rests};
  };
  auto made = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(rewriter, zero, false, carry));
  made->setDiscardableAttrs(attributes);
  OpBuilder behind(made->getContext());
  behind.setInsertionPointAfter(made);
  Value total = made.getResult(index), rests = numbersOr0(behind, loc, made.getResults().back());
  auto all = arith::AddFOp::create(behind, loc, total, rests);
  total.replaceAllUsesExcept(all, all);
}

}  // namespace

bool multiplyInParts(func::FuncOp kernel) {
  SmallVector<tile::DotOp> dots;
  kernel.walk([&](tile::DotOp dot) {
    if (asksForParts(dot)) dots.push_back(dot);
  });
  for (tile::DotOp dot : dots) {
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    if (Value sum = loop && hasRoomForRests(dot, tile::numWarps(kernel)) ? carriedSum(dot, loop) : nullptr) {
      carryRests(dot, sum, loop);
      continue;
    }
    dot.replaceAllUsesWith(Parts(dot).product());
    dot.erase();
  }
  return !dots.empty();
}

}  // namespace tandem::transform::nvidia
