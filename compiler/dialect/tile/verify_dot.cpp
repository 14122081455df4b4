// Verifiers of the products.
#include "compiler/dialect/tile/type_rules.h"

using namespace mlir;

namespace tandem::tile {
namespace {

/// Sizes of one operand's matrix, as elements and not as the bytes that hold packed ones.
struct Matrix {
  int64_t rows;
  int64_t columns;
};

Matrix matrixOf(RankedTensorType type) { return {type.getShape().take_back(2).front(), type.getShape().back()}; }

}  // namespace

static LogicalResult verifyRanks(Operation* op, RankedTensorType lhs, RankedTensorType rhs, RankedTensorType acc) {
  if (lhs.getRank() != rhs.getRank() || lhs.getRank() != acc.getRank() || lhs.getRank() < 2 || lhs.getRank() > 3)
    return fault(op) << "operands have ranks " << lhs.getRank() << ", " << rhs.getRank() << " and " << acc.getRank()
                     << ", not all 2 or all 3";
  if (lhs.getRank() == 3 && (lhs.getDimSize(0) != rhs.getDimSize(0) || lhs.getDimSize(0) != acc.getDimSize(0)))
    return fault(op) << "operands have batch dimensions " << lhs.getDimSize(0) << ", " << rhs.getDimSize(0) << " and "
                     << acc.getDimSize(0);
  return success();
}

static LogicalResult verifyProduct(Operation* op, Matrix lhs, Matrix rhs, Matrix acc) {
  if (lhs.columns != rhs.rows)
    return fault(op) << "operands have inner dimensions " << lhs.columns << " and " << rhs.rows;
  if (lhs.rows != acc.rows || rhs.columns != acc.columns)
    return fault(op) << "operands give " << lhs.rows << "x" << rhs.columns << " but the accumulator is " << acc.rows
                     << "x" << acc.columns;
  return success();
}

static bool isFloat8(Type element) { return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8; }

static bool accumulates(Type operand, Type acc) {
  if (operand.isInteger(8)) return acc.isInteger(32);
  if (operand.isF16() || isFloat8(operand)) return acc.isF16() || acc.isF32();
  if (operand.isBF16() || operand.isF32()) return acc.isF32();
  return operand.isF64() && acc.isF64();
}

LogicalResult DotOp::verify() {
  auto lhs = cast<RankedTensorType>(getLhs().getType()), rhs = cast<RankedTensorType>(getRhs().getType()),
       acc = cast<RankedTensorType>(getAcc().getType());
  if (failed(verifyRanks(*this, lhs, rhs, acc)) ||
      failed(verifyProduct(*this, matrixOf(lhs), matrixOf(rhs), matrixOf(acc))))
    return failure();
  Type left = lhs.getElementType(), right = rhs.getElementType();
  if (left != right && !(isFloat8(left) && isFloat8(right)))
    return fault(*this) << "operands have elements of type " << left << " and " << right;
  if (!accumulates(left, acc.getElementType()))
    return fault(*this) << "cannot accumulate products of " << left << " in " << acc.getElementType();
  return success();
}

static bool holds(MicroScale format, Type element) {
  switch (format) {
    case MicroScale::E2M1: return element.isInteger(8);
    case MicroScale::E4M3: return element.isInteger(8) || isa<Float8E4M3FNType>(element);
    case MicroScale::E5M2: return element.isInteger(8) || isa<Float8E5M2Type>(element);
    case MicroScale::Bf16: return element.isBF16();
    case MicroScale::Fp16: return element.isF16();
  }
  return false;
}

static LogicalResult verifyFormat(Operation* op, MicroScale format, Type element, bool kPack, StringRef which) {
  if (!holds(format, element))
    return fault(op) << which << " has elements of type " << element << ", which do not hold `"
                     << stringifyMicroScale(format) << "`";
  if (!kPack && format != MicroScale::E2M1)
    return fault(op) << which << " has format `" << stringifyMicroScale(format)
                     << "`; only `e2m1` is packed along another dimension than K";
  return success();
}

int64_t elementsPerScale(Value scale) { return isa<Float8E4M3FNType>(getElementTypeOrSelf(scale.getType())) ? 16 : 32; }

/// Verifies one scale; `rows` is its number of rows: M or N.
static LogicalResult verifyScale(Operation* op, Value scale, int64_t rows, int64_t inner, StringRef which) {
  if (!scale) return success();
  auto type = cast<RankedTensorType>(scale.getType());
  Matrix seen = type.getRank() < 2 ? Matrix{0, 0} : matrixOf(type);
  if (!type.getElementType().isInteger(8) && !isa<Float8E4M3FNType>(type.getElementType()))
    return fault(op) << which << " scale has elements of type " << type.getElementType() << ", neither i8 nor f8E4M3FN";
  int64_t block = elementsPerScale(scale);
  if (inner % block != 0) return fault(op) << "inner dimension " << inner << " is not a multiple of " << block;
  if (seen.rows == rows && seen.columns == inner / block) return success();
  return fault(op) << which << " scale has shape " << shapeText(type.getShape()) << ", not " << rows << "x"
                   << inner / block;
}

LogicalResult DotScaledOp::verify() {
  auto lhs = cast<RankedTensorType>(getLhs().getType()), rhs = cast<RankedTensorType>(getRhs().getType()),
       acc = cast<RankedTensorType>(getAcc().getType());
  if (failed(verifyRanks(*this, lhs, rhs, acc)) ||
      failed(verifyFormat(*this, getLhsFormat(), lhs.getElementType(), getLhsKPack(), "left operand")) ||
      failed(verifyFormat(*this, getRhsFormat(), rhs.getElementType(), getRhsKPack(), "right operand")))
    return failure();
  Matrix left = matrixOf(lhs), right = matrixOf(rhs);
  if (getLhsFormat() == MicroScale::E2M1) (getLhsKPack() ? left.columns : left.rows) *= 2;
  if (getRhsFormat() == MicroScale::E2M1) (getRhsKPack() ? right.rows : right.columns) *= 2;
  if (failed(verifyProduct(*this, left, right, matrixOf(acc))) ||
      failed(verifyScale(*this, getLhsScale(), left.rows, left.columns, "left")) ||
      failed(verifyScale(*this, getRhsScale(), right.columns, right.rows, "right")))
    return failure();
  if (!acc.getElementType().isF32())
    return fault(*this) << "accumulator has elements of type " << acc.getElementType() << ", not f32";
  return success();
}

}  // namespace tandem::tile
