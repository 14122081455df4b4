// Layouts of buffers in shared memory: Dim::Offset (element offset) to position. Bank model: 32 banks of 4 bytes, an
// access of 8 bytes a lane goes half a warp at a time, one of 16 bytes a quarter.
#pragma once
#include "compiler/layout/linear_layout.h"

namespace tandem::layout {

// Width of the XOR pattern, as TMA and the matrix descriptors have it.
enum class Swizzle : uint8_t { None, Bytes32, Bytes64, Bytes128 };
// Bytes of a row that the pattern permutes; 16 for None.
int64_t rowBytes(Swizzle swizzle);
Swizzle swizzleOfRow(int64_t bytes);  // the inverse; None for other widths
// The widest pattern that a row of `innerBytes` fills.
Swizzle widestSwizzle(int64_t innerBytes);

// Offsets in the order of positions; `order` lists the dimensions from the fastest, empty for row-major.
LinearLayout plainOffsets(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<unsigned> order = {});
// TMA writes, and wgmma reads, this arrangement box by box: boxes of rowBytes(swizzle) along the fastest dimension, one
// after the other; in a box all rows (the other dimensions, row-major or as `order` says); in a row the 16-byte chunk
// number is XORed with the row number (for narrower patterns, with the number of 128-byte lines). The buffer begins at
// a multiple of 1024 bytes. With None the boxes are 16 bytes wide: the core matrices of the descriptor without swizzle.
// The fastest dimension is at least rowBytes(swizzle) long.
LinearLayout swizzledOffsets(llvm::ArrayRef<int64_t> shape, unsigned elemBits, Swizzle swizzle,
                             llvm::ArrayRef<unsigned> order = {});

// `layout` with offsets for positions: a layout of shape [number of offsets] whose positions are where `offsets` puts
// them. Every position of `layout` has an offset.
LinearLayout offsetsOf(const LinearLayout& layout, const LinearLayout& offsets);
// Returns for each bit of a position the mask of the offset's bits; XOR over the set bits gives the offset. `offsets`
// is surjective.
Bases inverse(const LinearLayout& offsets);

// The ways in which the lanes of a warp reach shared memory in one instruction.
enum class Access : uint8_t {
  Vector,            // each lane its own elements, `vector` neighbours at a time
  Matrix,            // ldmatrix / stmatrix: rows of 16 bytes, whose addresses come from lanes
  MatrixTransposed,  // the same with .trans: 16-bit elements
};

// A buffer for moving a tensor from one layout to another without bank conflicts.
struct Scratch {
  LinearLayout offsets;  // all positions; with several rounds, the highest log2(rounds) bits of an offset are the round
  Access store = Access::Vector, load = Access::Vector;
  int64_t storeVector = 1, loadVector = 1;  // elements in one access; for matrices, those of a 16-byte row
  int64_t rounds = 1;                       // the buffer holds numElements / rounds elements, and is used again in each
  // In each round each thread has the same number of elements to store and to load; false: threads check the round of
  // each element.
  bool uniformRounds = true;
};
struct MatrixInstructions {
  bool load = false, store = false;  // ldmatrix, stmatrix
};
// Chooses among buffers with common or one-sided vectors and matrix instructions the one with the fewest passes through
// the banks. `scratchBytes` at least 16. `src` and `dst` hold the same positions in each CTA.
Scratch conflictFree(const LinearLayout& src, const LinearLayout& dst, unsigned elemBits, int64_t scratchBytes,
                     MatrixInstructions instructions = {});

// The widest access, up to 16 bytes, that every thread can make to its registers' places. `layout` is offsetsOf(...) of
// any buffer; for global memory, of the plain offsets of a row.
int64_t widestVector(const LinearLayout& layout, unsigned elemBits);
// Registers by access: each group lies at neighbouring offsets, in order, from the offset of its first. `layout` is
// offsetsOf(...). For matrices a group is one 32-bit word a lane, and its first register gives the matrix. Copies
// (equal offsets) appear once.
llvm::SmallVector<llvm::SmallVector<unsigned, 8>> vectorGroups(const LinearLayout& layout, int64_t vector);
llvm::SmallVector<llvm::SmallVector<unsigned, 8>> matrixWords(const LinearLayout& layout, unsigned elemBits,
                                                              bool transposed);
// Offset masks of the three bits of a row's number inside an 8x8 matrix: the row's address is the offset of the word's
// first register in lane 0 of the warp, XOR these.
std::array<uint64_t, 3> matrixRows(const LinearLayout& layout, bool transposed);
// Returns true if ldmatrix and stmatrix (`.trans` if transposed) move exactly these registers. `layout` is
// offsetsOf(...).
bool fitsMatrix(const LinearLayout& layout, unsigned elemBits, bool transposed);

// The most passes any one access of the warp takes beyond the fewest that its bytes need; 0 is free of conflicts.
int64_t bankConflicts(const LinearLayout& layout, unsigned elemBits, int64_t vector);
int64_t matrixBankConflicts(const LinearLayout& layout, unsigned elemBits, bool transposed);
// Returns a warp's cost of storing or loading all its registers, in half cycles of one SM: one for an instruction, two
// for a pass.
int64_t accessCost(const LinearLayout& layout, Access access, int64_t vector, unsigned elemBits);

}  // namespace tandem::layout
