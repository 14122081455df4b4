// Triton's scalar types: widths, names and MLIR's types. Knows no values.
#include "compiler/dialect/tile/tile.h"
#include "compiler/frontend/semantic/value.h"
#include "tandem/element_types.h"
#include <algorithm>
#include <iterator>
#include <mlir/IR/BuiltinTypes.h>

namespace tandem::frontend {
namespace {

struct Row {
  Scalar scalar;
  std::string_view name, word, tl;  // Triton's name: tl's of an integer, the word of a float
  int bits;
  int mantissa = 0, bias = 0;
};
constexpr Row rows[] = {{Scalar::Void, "void", "void", "void", 8},
                        {Scalar::Fp8E4B15, "fp8e4b15", "fp8e4b15", "float8e4b15", 8, 3, 15},
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  {Scalar::scalar, mantissa ? word : tl, word, tl, bits, mantissa, bias},
                        TANDEM_ELEMENT_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
};
static_assert(std::size(rows) == kScalars);

const Row& row(Scalar scalar) {
  return *std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.scalar == scalar; });
}

struct Word {
  std::string_view word;
  Scalar scalar;
};
constexpr Word synonyms[] = {
    {"u1", Scalar::Int1}, {"bool", Scalar::Int1}, {"f16", Scalar::Fp16}, {"f32", Scalar::Fp32}, {"f64", Scalar::Fp64}};

std::optional<Scalar> scalarOf(std::string_view word) {
  for (const Row& r : rows)
    if (word == r.word || word == r.tl) return r.scalar;
  for (const Word& synonym : synonyms)
    if (word == synonym.word) return synonym.scalar;
  return std::nullopt;
}

mlir::Type floatType(Scalar scalar, mlir::MLIRContext* context) {
  switch (scalar) {
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  case Scalar::scalar: return mlir::mlirType##Type::get(context);
    TANDEM_FLOAT_TYPES(TANDEM_ROW)
    TANDEM_FNUZ_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
    default: return {};
  }
}

}  // namespace

int DType::bitWidth() const { return isPointer() ? 64 : row(scalar).bits; }
int DType::mantissaBits() const { return isPointer() ? 0 : row(scalar).mantissa; }

int DType::exponentBias() const { return isPointer() ? 0 : row(scalar).bias; }

std::string DType::name() const {
  if (isPointer()) return (isConst ? "const_pointer<" : "pointer<") + pointee().name() + ">";
  return std::string(row(scalar).name);
}

std::optional<DType> DType::parse(std::string_view word) {
  uint8_t depth = 0;
  bool isConst = word.starts_with("*k");
  if (isConst) ++depth, word.remove_prefix(2);
  for (; depth < 8; ++depth) {
    if (word.starts_with("*"))
      word.remove_prefix(1);
    else if (word.starts_with("pointer<") && word.ends_with(">"))
      word = word.substr(8, word.size() - 9);
    else
      break;
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
