// Tensor maps: what a tensor in global memory looks like, and how boxes of it are copied. NVIDIA's own form of the 128
// bytes is not documented; this one is the emulator's. Sources: PTX ISA, "Tensors" and "tensormap.replace";
// cuTensorMapEncodeTiled.
#pragma once
#include "emulator/types.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tandem::emulator {

// Thrown where a map is not one that a GPU takes.
class TensorMapError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The words that tensormap.replace has for its choices. All numbers of dimensions begin with the innermost one.
struct TensorMap {
  static constexpr unsigned kMaxRank = 5;
  static constexpr size_t kBytes = 128;
  enum Element : uint8_t { U8, U16, U32, S32, U64, S64, F16, F32, FlushedF32, F64, BF16, TF32, FlushedTF32 };
  enum Swizzle : uint8_t { NoSwizzle, Bytes32, Bytes64, Bytes128 };

  uint64_t address = 0;
  std::array<uint64_t, kMaxRank> sizes{};        // elements
  std::array<uint64_t, kMaxRank - 1> strides{};  // bytes; the innermost one is an element
  std::array<uint16_t, kMaxRank> box{};          // elements, those that `steps` leave out among them
  std::array<uint8_t, kMaxRank> steps{};         // a box takes each steps-th element
  uint8_t lastDimension = 0;                     // the rank less one
  Element element = U8;
  uint8_t interleave = 0;
  Swizzle swizzle = NoSwizzle;
  uint8_t fill = 0;  // 1: NaN outside of the tensor, else 0

  static TensorMap read(const std::byte* from);
  void write(std::byte* to) const;

  unsigned rank() const { return lastDimension + 1u; }
  unsigned elementBytes() const;
  Type type() const;                           // as reductions see it
  unsigned swizzleSpan() const;                // bytes; 16: none
  unsigned boxSize(unsigned dimension) const;  // elements that are copied
  uint32_t boxBytes() const;
  // Throws TensorMapError if a GPU would not take the map.
  void check() const;

  // tensormap.replace.tile.`field`, of a dimension where there are several. False: there is no such field or dimension.
  bool replace(std::string_view field, unsigned dimension, uint64_t value);
};
static_assert(sizeof(TensorMap) <= TensorMap::kBytes);

// Neighbours of a box, all in the tensor or all outside of it.
struct BoxPiece {
  uint32_t offset;  // in the box, whose elements lie side by side, the innermost dimension fastest
  uint32_t bytes;
  bool isInside;
  uint64_t address;  // in global memory, of an inside one
};

// The pieces of the box at an element of the tensor, which may be outside.
std::vector<BoxPiece> piecesOf(const TensorMap& map, std::span<const int32_t> at);

// Bytes that stand for elements outside of the tensor.
void fillOutside(const TensorMap& map, std::byte* to, uint32_t bytes);

}  // namespace tandem::emulator
