// Triton's scalar types: widths, names and MLIR's types. Knows no values.
#include "compiler/dialect/tile/tile.h"
#include "compiler/frontend/semantic/value.h"
#include <array>
#include <mlir/IR/BuiltinTypes.h>

namespace tandem::frontend {
namespace {

struct Row {
  const char* name;
  int bits;
  int mantissa = 0, bias = 0;
};
// The rows are in the order of `Scalar`.
constexpr std::array<Row, 19> rows{{{"void", 8},
                                    {"int1", 1},
                                    {"int8", 8},
                                    {"int16", 16},
                                    {"int32", 32},
                                    {"int64", 64},
                                    {"uint8", 8},
                                    {"uint16", 16},
                                    {"uint32", 32},
                                    {"uint64", 64},
                                    {"fp8e4nv", 8, 3, 7},
                                    {"fp8e4b8", 8, 3, 8},
                                    {"fp8e4b15", 8, 3, 15},
                                    {"fp8e5", 8, 2, 15},
                                    {"fp8e5b16", 8, 2, 16},
                                    {"fp16", 16, 10, 15},
                                    {"bf16", 16, 7, 127},
                                    {"fp32", 32, 23, 127},
                                    {"fp64", 64, 52, 1023}}};

const Row& row(Scalar scalar) { return rows[size_t(scalar)]; }

struct Word {
  std::string_view word;
  Scalar scalar;
};
constexpr Word synonyms[] = {{"i1", Scalar::Int1},
                             {"u1", Scalar::Int1},
                             {"bool", Scalar::Int1},
                             {"i8", Scalar::Int8},
                             {"i16", Scalar::Int16},
                             {"i32", Scalar::Int32},
                             {"i64", Scalar::Int64},
                             {"u8", Scalar::UInt8},
                             {"u16", Scalar::UInt16},
                             {"u32", Scalar::UInt32},
                             {"u64", Scalar::UInt64},
                             {"f16", Scalar::Fp16},
                             {"float16", Scalar::Fp16},
                             {"bfloat16", Scalar::Bf16},
                             {"f32", Scalar::Fp32},
                             {"float32", Scalar::Fp32},
                             {"f64", Scalar::Fp64},
                             {"float64", Scalar::Fp64},
                             {"float8e4nv", Scalar::Fp8E4NV},
                             {"float8e4b8", Scalar::Fp8E4B8},
                             {"float8e4b15", Scalar::Fp8E4B15},
                             {"float8e5", Scalar::Fp8E5},
                             {"float8e5b16", Scalar::Fp8E5B16}};

std::optional<Scalar> scalarOf(std::string_view word) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (word == rows[i].name) return Scalar(i);
  for (const Word& synonym : synonyms)
    if (word == synonym.word) return synonym.scalar;
  return std::nullopt;
}

mlir::Type floatType(Scalar scalar, mlir::MLIRContext* context) {
  switch (scalar) {
    case Scalar::Fp8E4NV: return mlir::Float8E4M3FNType::get(context);
    case Scalar::Fp8E4B8: return mlir::Float8E4M3FNUZType::get(context);
    case Scalar::Fp8E5: return mlir::Float8E5M2Type::get(context);
    case Scalar::Fp8E5B16: return mlir::Float8E5M2FNUZType::get(context);
    case Scalar::Fp16: return mlir::Float16Type::get(context);
    case Scalar::Bf16: return mlir::BFloat16Type::get(context);
    case Scalar::Fp32: return mlir::Float32Type::get(context);
    case Scalar::Fp64: return mlir::Float64Type::get(context);
    default: return {};
  }
}

}  // namespace

int DType::bitWidth() const { return isPointer() ? 64 : row(scalar).bits; }
int DType::mantissaBits() const { return isPointer() ? 0 : row(scalar).mantissa; }

int DType::exponentBias() const { return isPointer() ? 0 : row(scalar).bias; }

std::string DType::name() const {
  if (isPointer()) return (isConst ? "const_pointer<" : "pointer<") + pointee().name() + ">";
  return row(scalar).name;
}

std::optional<DType> DType::parse(std::string_view word) {
  uint8_t depth = 0;
  bool isConst = word.starts_with("*k");
  if (isConst) ++depth, word.remove_prefix(2);
  for (; depth < 8; ++depth) {
    if (word.starts_with("*")) word.remove_prefix(1);
    else if (word.starts_with("pointer<") && word.ends_with(">")) word = word.substr(8, word.size() - 9);
    else break;
  }
  std::optional<Scalar> scalar = scalarOf(word);
  if (!scalar) return std::nullopt;
  return DType{*scalar, depth, isConst};
}

// fp8e4b15 and void are only ever pointed to; memory holds them as bytes.
mlir::Type DType::toMLIR(mlir::MLIRContext* context) const {
  if (isPointer()) return tile::PtrType::get(context, pointee().toMLIR(context));
  if (mlir::Type type = floatType(scalar, context)) return type;
  return mlir::IntegerType::get(context, unsigned(row(scalar).bits));
}

}  // namespace tandem::frontend
