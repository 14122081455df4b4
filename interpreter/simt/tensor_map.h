// Tensor maps: 128 bytes of memory that describe a strided tensor of up to five dimensions and a box in it.
#pragma once
#include "interpreter/simt/bulk_copy.h"

namespace tandem::interpreter {

// A tensor map as it lies in simulated memory. Dimension 0 is the innermost; strides are bytes, of dimensions 1 and up.
// The numbers of element types, swizzles and fills are PTX's `tensormap.replace`.
struct TensorMap {
  static constexpr unsigned kMaxRank = 5, kAlignment = 64;

  uint64_t globalAddress = 0;
  uint32_t rankMinusOne = 0, elemType = 0, interleave = 0, swizzle = 0, fill = 0, reserved = 0;
  uint32_t globalDim[kMaxRank] = {}, padding = 0;
  uint64_t globalStride[kMaxRank - 1] = {};
  uint32_t boxDim[kMaxRank] = {}, elementStride[kMaxRank] = {};

  unsigned rank() const { return rankMinusOne + 1; }
  unsigned elemBytes() const;  // 0: no such type
  uint64_t boxBytes() const;
  // Says why the map does not fit a copy with this many coordinates; empty if it does.
  std::string fault(size_t coordinateCount) const;
  // The pieces of a copy between the box at `coordinates` and shared memory.
  BulkCopy copyOf(const std::vector<int64_t>& coordinates, Address shared, bool isStore) const;
};
static_assert(sizeof(TensorMap) == 128);

// Reads and checks the map a copy names; says false after a report.
bool readTensorMap(Accessor& who, Address address, size_t coordinateCount, TensorMap& out);

}  // namespace tandem::interpreter
