// Arrays in device memory.
#pragma once
#include "tandem/c_api.h"
#include "tandem/element_types.h"
#include <cstdint>
#include <vector>

namespace tandem {

// Bool, Int8 to Int64, UInt8 to UInt64, Float8E4NV, Float8E5, Float16, BFloat16, Float32, Float64.
enum class DType : uint8_t {
#define TANDEM_ROW(dtype, ...) dtype,
  TANDEM_ARRAY_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
};

TANDEM_API int64_t byteSize(DType dtype);
TANDEM_API const char* name(DType dtype);  // Triton's word: "fp16", "i32", "u8"

// A row-major array in the device memory of one rank: a view, which owns nothing. The memory lives until Team::release
// or the run's end.
struct Tensor {
  uint64_t address = 0;
  std::vector<int64_t> shape;
  DType dtype = DType::Float32;

  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
  int64_t bytes() const { return size() * byteSize(dtype); }
  // On the simulator device memory is host memory; look at it only when the rank's streams are idle
  // (Team::synchronize). Code that shall run on GPUs too uses Team::copyToHost.
  template <class T> T* data() const { return reinterpret_cast<T*>(address); }
};

}  // namespace tandem
