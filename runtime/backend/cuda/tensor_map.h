// Tensor maps (TMA descriptors): a recipe and a launch's arguments give the 128 bytes a kernel takes.
#pragma once
#include "abi/kernel_image.h"
#include "runtime/backend/cuda/driver.h"
#include <array>
#include <mutex>
#include <span>

namespace tandem::runtime::cuda {

using Arguments = std::span<const uint64_t>;
using ParamTypes = std::span<const abi::ParamType>;

// The image's check has seen to it that the expression fits the parameters.
int64_t evaluate(const abi::HostExpr& expression, ParamTypes types, Arguments arguments);

// The values from which a map is made: a recipe's expressions for given arguments, outermost dimension first. Unused
// places are 0.
struct TensorMapValues {
  uint64_t base = 0;
  std::array<int64_t, 5> shape{}, strides{};  // elements
  bool operator==(const TensorMapValues&) const = default;
};
TensorMapValues evaluate(const abi::TensorMapRecipe& recipe, ParamTypes types, Arguments arguments);

// Asks the driver for the map. Throws with `who` ("tensor map 0 of kernel `k`") when the hardware cannot take the
// values.
TensorMap encode(const abi::TensorMapRecipe& recipe, const TensorMapValues& values, const std::string& who);

// The maps made last for one recipe: launches repeat themselves. Thread-safe.
class TensorMapCache {
 public:
  // Returns true if a map for `values` is known, and sets `map` to it.
  bool find(const TensorMapValues& values, TensorMap& map);
  void keep(const TensorMapValues& values, const TensorMap& map);

 private:
  static constexpr size_t kEntries = 8;
  struct Entry {
    TensorMapValues values;
    TensorMap map;
  };
  std::mutex mutex_;
  std::array<Entry, kEntries> entries_;
  size_t used_ = 0, next_ = 0;
};

}  // namespace tandem::runtime::cuda
