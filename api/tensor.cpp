// Element types by number: size and word.
#include "tandem/error.h"
#include "tandem/tensor.h"
#include <iterator>

namespace tandem {
namespace {

struct Row {
  int64_t bytes;
  const char* word;
};
constexpr Row rows[] = {{1, "i1"},    {1, "i8"},   {2, "i16"},  {4, "i32"},  {8, "i64"},
                        {1, "u8"},    {2, "u16"},  {4, "u32"},  {8, "u64"},  {1, "fp8e4nv"},
                        {1, "fp8e5"}, {2, "fp16"}, {2, "bf16"}, {4, "fp32"}, {8, "fp64"}};
static_assert(std::size(rows) == size_t(DType::Float64) + 1);

const Row& rowOf(DType dtype) {
  if (size_t(dtype) >= std::size(rows))
    throw Error("element type number " + std::to_string(int(dtype)) + " is unknown");
  return rows[size_t(dtype)];
}

}  // namespace

int64_t byteSize(DType dtype) { return rowOf(dtype).bytes; }
const char* name(DType dtype) { return rowOf(dtype).word; }

}  // namespace tandem
