#include "compiler/layout/chunk_lines.h"
#include <llvm/Support/MathExtras.h>

namespace tandem::layout {
namespace {

constexpr unsigned kChunkBits = 3;
using Lines = std::array<unsigned, kChunkBits>;  // bits of a line's number, by bits of a chunk's

LinearLayout withLines(const LinearLayout& offsets, unsigned elemBits, Lines lines) {
  Bases bases(offsets.bases(Dim::Offset));
  auto bit = [&](unsigned ofByte) { return ofByte + 3 - llvm::Log2_32(elemBits); };
  for (unsigned first : {0u, 1u})  // what is there goes, then the others come
    for (unsigned i = 0; i < kChunkBits; ++i)
      if (size_t line = bit(7 + (first ? lines[i] : i)); line < bases.size()) bases[line] ^= bases[bit(4 + i)];
  return LinearLayout::ofOffsets(offsets.shape(), bases);
}

int64_t costOf(const LinearLayout& read, const LinearLayout& offsets, unsigned elemBits) {
  LinearLayout placed = offsetsOf(read, offsets);
  for (bool transposed : {false, true})
    if (fitsMatrix(placed, elemBits, transposed))
      return accessCost(placed, transposed ? Access::MatrixTransposed : Access::Matrix, 1, elemBits);
  return accessCost(placed, Access::Vector, widestVector(placed, elemBits), elemBits);
}

}  // namespace

LinearLayout withFewestPasses(const LinearLayout& offsets, Reads reads, unsigned elemBits) {
  constexpr unsigned kFirstLines = 3;
  LinearLayout best = offsets;
  std::optional<int64_t> least;
  for (unsigned first = 0; first < kFirstLines; ++first)
    for (unsigned turn = 0; turn < kChunkBits; ++turn) {
      Lines lines;
      for (unsigned i = 0; i < kChunkBits; ++i) lines[i] = first + (i + kChunkBits - turn) % kChunkBits;
      LinearLayout now = withLines(offsets, elemBits, lines);
      int64_t cost = 0;
      for (const LinearLayout& read : reads) cost += costOf(read, now, elemBits);
      if (least && *least <= cost) continue;
      least = cost;
      best = now;
    }
  return best;
}

}  // namespace tandem::layout
