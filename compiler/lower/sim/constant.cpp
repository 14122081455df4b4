// arith.constant: numbers, splats, whole tiles.
#include "compiler/lower/sim/function_lowering.h"

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;
namespace {

std::optional<int64_t> bitsOf(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) return integer.getValue().getZExtValue();
  if (auto real = dyn_cast<FloatAttr>(value)) return real.getValue().bitcastToAPInt().getZExtValue();
  return std::nullopt;
}

std::vector<int64_t> bitsOfAll(DenseElementsAttr values) {
  std::vector<int64_t> bits;
  bits.reserve(values.getNumElements());
  if (isa<FloatType>(values.getElementType()))
    for (const APFloat& v : values.getValues<APFloat>()) bits.push_back(v.bitcastToAPInt().getZExtValue());
  else
    for (const APInt& v : values.getValues<APInt>()) bits.push_back(v.getZExtValue());
  return bits;
}

}  // namespace

void FunctionLowering::lowerConstant(arith::ConstantOp op) {
  Register result = define(op.getResult());  // refuses types of more than 64 bits
  Elem elem = build_.type(result).elem;
  if (std::optional<int64_t> bits = bitsOf(op.getValue())) {
    build_.emit({Op::Constant, 0, elem}, {}, {result}, imm::Constant{.bits = *bits, .isOffset = 0});
    return;
  }
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense) failUnsupported(op);
  if (dense.isSplat())
    build_.emit(
        {Op::Constant, 0, elem}, {}, {result},
        imm::Constant{.bits = bitsOfAll(dense.resizeSplat(RankedTensorType::get({1}, dense.getElementType())))[0],
                      .isOffset = 0});
  else if (isa<VectorType>(op.getType()))
    lowerVectorConstant(op, dense);
  else
    lowerDenseConstant(op, dense);
}

void FunctionLowering::lowerDenseConstant(arith::ConstantOp op, DenseElementsAttr value) {
  Register result = use(op.getResult());
  Elem elem = build_.type(result).elem;
  std::vector<uint8_t>& bytes = program_.constantBytes;
  bytes.resize((bytes.size() + 7) / 8 * 8);
  int64_t offset = bytes.size();
  for (int64_t bits : bitsOfAll(value))
    for (uint32_t i = 0; i < byteSize(elem); ++i) bytes.push_back(bits >> (8 * i));
  build_.emit({Op::Constant, 0, elem}, {}, {result}, imm::Constant{.bits = offset, .isOffset = 1});
}

void FunctionLowering::lowerVectorConstant(arith::ConstantOp op, DenseElementsAttr value) {
  Register result = use(op.getResult());
  RegisterType element = build_.type(result);
  element.vectorLength = 1;
  Registers elements;
  for (int64_t bits : bitsOfAll(value)) elements.push_back(constant(element, bits));
  build_.emit({Op::Vector, 0, element.elem}, elements, {result});
}

}  // namespace tandem::lower
