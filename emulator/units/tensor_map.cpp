#include "emulator/units/tensor_map.h"
#include <algorithm>
#include <cstring>
#include <string>

namespace tandem::emulator {

TensorMap TensorMap::read(const std::byte* from) {
  TensorMap map;
  std::memcpy(static_cast<void*>(&map), from, sizeof map);
  return map;
}

void TensorMap::write(std::byte* to) const {
  std::memset(to, 0, kBytes);
  std::memcpy(to, this, sizeof *this);
}

unsigned TensorMap::elementBytes() const {
  switch (element) {
    case U8: return 1;
    case U16:
    case F16:
    case BF16: return 2;
    case U64:
    case S64:
    case F64: return 8;
    default: return 4;
  }
}

Type TensorMap::type() const {
  static constexpr Type kTypes[] = {Type::U8,  Type::U16, Type::U32, Type::S32,  Type::U64,  Type::S64, Type::F16,
                                    Type::F32, Type::F32, Type::F64, Type::BF16, Type::TF32, Type::TF32};
  return kTypes[element];
}

unsigned TensorMap::swizzleSpan() const { return 16u << swizzle; }

unsigned TensorMap::boxSize(unsigned dimension) const {
  unsigned step = steps[dimension];
  return (box[dimension] + step - 1) / step;
}

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = elementBytes();
  for (unsigned d = 0; d < rank(); ++d) bytes *= boxSize(d);
  return bytes;
}

void TensorMap::check() const {
  auto need = [](bool holds, const std::string& what) {
    if (!holds) throw TensorMapError("a tensor map " + what);
  };
  need(lastDimension < kMaxRank, "of " + std::to_string(rank()) + " dimensions; there can be 1 to 5");
  need(element <= FlushedTF32 && swizzle <= Bytes128 && fill <= 1, "with choices that are none");
  need(interleave == 0, "of interleaved elements, which is not emulated");
  need(address % 16 == 0, "whose address is no multiple of 16");
  for (unsigned d = 0; d < rank(); ++d) {
    std::string which = " of dimension " + std::to_string(d);
    need(sizes[d] >= 1 && sizes[d] <= uint64_t(1) << 32, "with a size" + which + " that is not 1 to 2**32");
    need(box[d] >= 1 && box[d] <= 256, "with a box" + which + " that is not 1 to 256");
    need(steps[d] >= 1 && steps[d] <= 8, "with a step" + which + " that is not 1 to 8");
    need(d == 0 || (strides[d - 1] % 16 == 0 && strides[d - 1] < uint64_t(1) << 40),
         "with a stride" + which + " that is no multiple of 16 below 2**40");
  }
  unsigned row = boxSize(0) * elementBytes();
  need(row % 16 == 0, "whose box has rows of " + std::to_string(row) + " bytes, no multiple of 16");
  need(swizzle == NoSwizzle || row <= swizzleSpan(),
       "whose box has rows of " + std::to_string(row) + " bytes, more than its swizzle's");
}

bool TensorMap::replace(std::string_view field, unsigned dimension, uint64_t value) {
  bool isDimension = dimension < kMaxRank;
  if (field == "global_address") return address = value, true;
  if (field == "rank") return lastDimension = uint8_t(value), true;
  if (field == "elemtype") return element = Element(value), true;
  if (field == "interleave_layout") return interleave = uint8_t(value), true;
  if (field == "swizzle_mode") return swizzle = Swizzle(value), true;
  if (field == "fill_mode") return fill = uint8_t(value), true;
  if (field == "global_dim" && isDimension) return sizes[dimension] = value, true;
  if (field == "global_stride" && dimension < strides.size()) return strides[dimension] = value, true;
  if (field == "box_dim" && isDimension) return box[dimension] = uint16_t(value), true;
  if (field == "element_stride" && isDimension) return steps[dimension] = uint8_t(value), true;
  return false;
}

std::vector<BoxPiece> piecesOf(const TensorMap& map, std::span<const int32_t> at) {
  unsigned rank = map.rank(), bytes = map.elementBytes(), width = map.boxSize(0), step = map.steps[0];
  uint32_t rows = map.boxBytes() / (width * bytes);
  // Elements of a row are side by side in the tensor if they follow one another there.
  uint32_t run = step == 1 ? width : 1;
  std::vector<BoxPiece> pieces;
  auto add = [&](uint32_t offset, uint32_t count, bool isInside, uint64_t address) {
    if (count) pieces.push_back({offset * bytes, count * bytes, isInside, isInside ? address : 0});
  };
  for (uint32_t row = 0; row < rows; ++row) {
    bool isRowInside = true;
    uint64_t address = map.address;
    uint32_t rest = row;
    for (unsigned d = 1; d < rank; ++d) {
      int64_t index = at[d] + int64_t(rest % map.boxSize(d)) * map.steps[d];
      rest /= map.boxSize(d);
      isRowInside &= index >= 0 && uint64_t(index) < map.sizes[d];
      address += uint64_t(index) * map.strides[d - 1];
    }
    for (uint32_t i = 0; i < width; i += run) {
      int64_t first = at[0] + int64_t(i) * step, size = int64_t(map.sizes[0]);
      uint32_t before = isRowInside ? uint32_t(std::clamp<int64_t>(-first, 0, run)) : run;
      uint32_t inside = uint32_t(std::clamp<int64_t>(size - first, before, run)) - before;
      uint32_t offset = row * width + i;
      add(offset, before, false, 0);
      add(offset + before, inside, true, address + uint64_t(first + before) * bytes);
      add(offset + before + inside, run - before - inside, false, 0);
    }
  }
  return pieces;
}

void fillOutside(const TensorMap& map, std::byte* to, uint32_t bytes) {
  std::memset(to, 0, bytes);
  if (!map.fill) return;
  // The NaN whose bits are all set but for the sign.
  unsigned width = map.elementBytes();
  std::memset(to, 0xff, bytes);
  for (uint32_t last = width - 1; last < bytes; last += width) to[last] = std::byte{0x7f};
}

}  // namespace tandem::emulator
