// Element types by number: size and word.
#include "tandem/element_types.h"
#include "tandem/error.h"
#include "tandem/tensor.h"
#include <iterator>

namespace tandem {
namespace {

struct Row {
  DType dtype;
  int bits;
  const char* word;
};
constexpr Row rows[] = {
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  {DType::dtype, bits, word},
    TANDEM_ARRAY_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
};
consteval bool areInOrder() {
  for (size_t i = 0; i < std::size(rows); ++i)
    if (rows[i].dtype != DType(i)) return false;
  return std::size(rows) == size_t(DType::Float64) + 1;
}
static_assert(areInOrder(), "a row's number is its type's");

const Row& rowOf(DType dtype) {
  if (size_t(dtype) >= std::size(rows))
    throw Error("element type number " + std::to_string(int(dtype)) + " is unknown");
  return rows[size_t(dtype)];
}

}  // namespace

int64_t byteSize(DType dtype) { return (rowOf(dtype).bits + 7) / 8; }
const char* name(DType dtype) { return rowOf(dtype).word; }

}  // namespace tandem
