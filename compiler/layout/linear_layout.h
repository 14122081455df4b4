// A linear layout says which position of a tensor each register of each thread holds: a map that is linear over XOR
// from the bits of hardware indices to the bits of the position. It knows nothing of MLIR, of element types, or of a
// particular architecture.
#pragma once
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tandem::layout {

// The kinds of hardware index. Block: a CTA of the cluster. Offset: an element of a buffer in shared memory.
enum class Dim : uint8_t { Register, Lane, Warp, Block, Offset };
constexpr unsigned kDimCount = 5;
llvm::StringRef name(Dim dim);

using Bases = llvm::SmallVector<uint64_t, 8>;

// Every dimension of a tensor is a power of two (a scalar has rank 0), so a position is the row-major index,
// log2(numElements) bits, the last dimension lowest. Bit `i` of the index in `dim` contributes `bases(dim)[i]`;
// contributions are XORed.
class LinearLayout {
 public:
  LinearLayout() = default;  // of a scalar, held by one thread
  explicit LinearLayout(llvm::ArrayRef<int64_t> shape) : shape_(shape.begin(), shape.end()) {}
  LinearLayout(llvm::ArrayRef<int64_t> shape, Bases registers, Bases lanes, Bases warps, Bases blocks = {});
  static LinearLayout ofOffsets(llvm::ArrayRef<int64_t> shape, Bases offsets);

  llvm::ArrayRef<int64_t> shape() const { return shape_; }
  unsigned rank() const { return shape_.size(); }
  int64_t numElements() const;
  unsigned positionBits() const;  // log2(numElements)

  llvm::ArrayRef<uint64_t> bases(Dim dim) const { return bases_[static_cast<unsigned>(dim)]; }
  Bases& mutableBases(Dim dim) { return bases_[static_cast<unsigned>(dim)]; }
  int64_t size(Dim dim) const { return int64_t(1) << bases(dim).size(); }
  int64_t numRegisters() const { return size(Dim::Register); }
  int64_t numLanes() const { return size(Dim::Lane); }
  int64_t numWarps() const { return size(Dim::Warp); }

  // The position. Index bits beyond the bases contribute nothing.
  uint64_t apply(uint64_t register_, uint64_t lane, uint64_t warp, uint64_t block = 0) const;
  uint64_t apply(Dim dim, uint64_t index) const;
  llvm::SmallVector<int64_t> coordinates(uint64_t position) const;
  uint64_t position(llvm::ArrayRef<int64_t> coordinates) const;
  // The bits of a position that belong to one dimension.
  uint64_t axisMask(unsigned axis) const;
  unsigned axisShift(unsigned axis) const;

  bool isInjective() const;   // no position is held twice
  bool isSurjective() const;  // every position is held

  // The bits of the index in `dim` that add no position: their basis is a combination of those of earlier dimensions
  // (in the order of `Dim`) and of lower bits. The indices whose free bits are all zero, in all dimensions, hold every
  // held position exactly once: only they need to store, or to do an atomic.
  uint64_t freeMask(Dim dim) const;
  // Returns the layout without the bits whose basis is zero. For registers that removes copies; register numbers close
  // up.
  LinearLayout withoutZeroBases(Dim dim) const;
  // Same bases over another shape of as many elements.
  LinearLayout withShape(llvm::ArrayRef<int64_t> shape) const;
  // Each basis sent through `map`, into positions of `shape`.
  template <typename Map>
  LinearLayout mapBases(llvm::ArrayRef<int64_t> shape, Map map) const {
    LinearLayout result(shape);
    for (unsigned d = 0; d < kDimCount; ++d)
      for (uint64_t basis : bases_[d]) result.bases_[d].push_back(map(basis));
    return result;
  }

  bool operator==(const LinearLayout& other) const { return shape_ == other.shape_ && bases_ == other.bases_; }
  bool operator!=(const LinearLayout& other) const { return !(*this == other); }

  // `[64,128] register=[[0,1],[8,0]] lane=[[0,2],...] warp=[[16,0]]`: for each dimension with bits, the coordinates of
  // each basis.
  std::string str() const;
  // Reads what `str` writes. On failure returns nothing and sets `error`.
  static std::optional<LinearLayout> parse(llvm::StringRef text, std::string* error = nullptr);

 private:
  llvm::SmallVector<int64_t, 4> shape_;
  std::array<Bases, kDimCount> bases_;
};

}  // namespace tandem::layout
