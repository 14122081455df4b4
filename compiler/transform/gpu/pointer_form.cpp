// Only a scalar moves from iteration to iteration, so that the tile's own part is computed once.
#include "compiler/transform/gpu/pointer_form.h"
#include "compiler/dialect/tile/attributes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Matchers.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

class PointerForm {
 public:
  PointerForm(tile::BlockLoadOp load, const analysis::AxisInfoAnalysis& axes)
      : load_(load), axes_(axes), b_(load), loc_(load.getLoc()),
        type_(cast<RankedTensorType>(load.getResult().getType())) {}

  tile::LoadOp build() {
    Value first = number(0), pointers;
    for (int64_t d = 0; d < type_.getRank(); ++d)
      first = arith::AddIOp::create(b_, loc_, first, arith::MulIOp::create(b_, loc_, offset(d), stride(d)));
    Type pointer = load_.getBase().getType();
    Value base = tile::AddPtrOp::create(b_, loc_, pointer, load_.getBase(), first);
    if (axes_.of(load_.getOffsets().back()).divisibility(0) % promised() == 0) promise(base, kAlignment);
    auto tile = RankedTensorType::get(type_.getShape(), pointer);
    pointers = tile::SplatOp::create(b_, loc_, tile, base);
    for (int64_t d = 0; d < type_.getRank(); ++d) {
      Value places = wide(places_[d] = rangeAlong(d));
      Value moved =
          arith::MulIOp::create(b_, loc_, places, tile::SplatOp::create(b_, loc_, places.getType(), stride(d)));
      if (d + 1 != type_.getRank()) promise(moved, promised());
      pointers = tile::AddPtrOp::create(b_, loc_, tile, pointers, spread(moved));
    }
    Value mask = inside(), other = mask ? padding() : Value();
    auto made = tile::LoadOp::create(b_, loc_, type_, pointers, mask, other, load_.getCache(), load_.getEvict(), false);
    load_.getResult().replaceAllUsesWith(made.getResult());
    load_.erase();
    return made;
  }

 private:
  static constexpr int64_t kAlignment = 16;  // bytes

  // A descriptor's base and its rows are aligned. Returns the elements of that many bytes.
  int64_t promised() const { return std::max<int64_t>(1, kAlignment * 8 / type_.getElementTypeBitWidth()); }
  void promise(Value value, int64_t divisor) {
    if (!load_.getDescriptor()) return;
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    SmallVector<int32_t> divisors(tile ? tile.getRank() : 1, divisor);
    tile::setPromise(value.getDefiningOp(), tile::Promise::Divisibility, divisors);
  }

  Value number(int64_t value) { return arith::ConstantIntOp::create(b_, loc_, value, 64); }
  Value offset(unsigned d) { return arith::ExtSIOp::create(b_, loc_, b_.getI64Type(), load_.getOffsets()[d]); }

  // A descriptor's last dimension is contiguous whatever its number says.
  Value stride(unsigned d) {
    return load_.getDescriptor() && d + 1 == type_.getRank() ? number(1) : Value(load_.getStrides()[d]);
  }

  Value rangeAlong(unsigned d) {
    int64_t size = type_.getDimSize(d);
    SmallVector<int64_t> shape{size};
    Value range = tile::MakeRangeOp::create(b_, loc_, RankedTensorType::get(shape, b_.getI32Type()), 0, size);
    for (int64_t other = 0; other < type_.getRank(); ++other) {
      if (other == d) continue;
      shape.insert(shape.begin() + other, 1);
      range = tile::ExpandDimsOp::create(b_, loc_, RankedTensorType::get(shape, b_.getI32Type()), range, other);
    }
    return range;
  }

  Value wide(Value places) {
    auto type = RankedTensorType::get(cast<RankedTensorType>(places.getType()).getShape(), b_.getI64Type());
    return arith::ExtSIOp::create(b_, loc_, type, places);
  }

  Value spread(Value places) {
    auto type = RankedTensorType::get(type_.getShape(), cast<RankedTensorType>(places.getType()).getElementType());
    return places.getType() == type ? places : tile::BroadcastOp::create(b_, loc_, type, places).getResult();
  }

  // A limit of places in the tile, all of which fit 32 bits. What stands for far away keeps the limit's divisors.
  Value narrow(Value limit) {
    constexpr int64_t kFar = int64_t(1) << 30;
    limit = arith::MinSIOp::create(b_, loc_, arith::MaxSIOp::create(b_, loc_, limit, number(0)), number(kFar));
    return arith::TruncIOp::create(b_, loc_, b_.getI32Type(), limit);
  }

  // Null: no dimension is checked.
  Value inside() {
    Value all;
    auto require = [&](arith::CmpIPredicate how, unsigned d, Value limit) {
      Value places = places_[d];
      Value limits = tile::SplatOp::create(b_, loc_, places.getType(), narrow(limit));
      Value is = arith::CmpIOp::create(b_, loc_, how, places, limits);
      is = spread(is);
      all = all ? arith::AndIOp::create(b_, loc_, all, is).getResult() : is;
    };
    for (int32_t d : load_.getBoundaryCheck()) {
      if (!endsBehind(d))
        require(arith::CmpIPredicate::slt, d, arith::SubIOp::create(b_, loc_, load_.getShape()[d], offset(d)));
      if (!axes_.of(load_.getOffsets()[d]).nonNegative)
        require(arith::CmpIPredicate::sge, d, arith::SubIOp::create(b_, loc_, number(0), offset(d)));
    }
    return all;
  }

  // Returns true if the tensor surely goes on behind the tile. One without an end has the extent of all that an index
  // can name.
  bool endsBehind(unsigned d) {
    constexpr int64_t kEndless = (int64_t(1) << 31) - 1;
    APInt extent, offset;
    if (!matchPattern(load_.getShape()[d], m_ConstantInt(&extent))) return false;
    if (extent.getSExtValue() >= kEndless) return true;
    return matchPattern(load_.getOffsets()[d], m_ConstantInt(&offset)) &&
           offset.getSExtValue() + type_.getDimSize(d) <= extent.getSExtValue();
  }

  Value padding() {
    Type element = type_.getElementType();
    auto real = dyn_cast<FloatType>(element);
    Attribute value = b_.getZeroAttr(element);
    if (load_.getPadding() == tile::Padding::Nan && real)
      value = b_.getFloatAttr(real, APFloat::getNaN(real.getFloatSemantics()));
    return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(type_, value));
  }

  tile::BlockLoadOp load_;
  const analysis::AxisInfoAnalysis& axes_;
  OpBuilder b_;
  Location loc_;
  RankedTensorType type_;
  llvm::DenseMap<unsigned, Value> places_;  // by dimension
};

}  // namespace

tile::LoadOp pointerForm(tile::BlockLoadOp load, const analysis::AxisInfoAnalysis& axes) {
  return PointerForm(load, axes).build();
}

}  // namespace tandem::transform::gpu
