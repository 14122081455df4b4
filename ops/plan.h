// How a product over ranks is cut into tiles and slices, from its sizes. Knows no team and queues nothing.
#pragma once
#include "tandem/ops.h"
#include <string>

namespace tandem::ops {

struct GemmSizes {
  int64_t m, n, k;
  int ranks;
  DType dtype;
};

// Where the kernels run, and whether they copy blocks.
struct GemmPlace {
  std::string target;
  int residentPrograms;
  bool blocks;
};

// Whether a product of these tensors copies blocks: rows of whole numbers of 16 bytes, from such addresses, and instructions that take
// operands so.
bool copiesBlocks(const std::vector<Tensor>& tensors, DType operands, bool bTransposed, const std::string& target);

// `given` with every 0 replaced. The same on all ranks for the same sizes.
GemmConfig completed(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place);

// The smallest and the largest tile that `completed` can choose for any sizes.
struct TileBounds {
  int leastM, leastN, mostM, mostN;
};
TileBounds tileBounds(const GemmConfig& given, const std::string& target);

double gemmMicroseconds(const GemmSizes& sizes);
double linkMicroseconds(int64_t bytes);  // that each rank sends

// How a shard travels: in `count` slices of `columns` columns (the last one maybe narrower), each with a signal. `copies[d]` says how many
// slices each copy to the d-th peer takes.
struct Slices {
  int64_t count, columns;
  std::vector<std::vector<int>> copies;
};
// `asked` slices, each by a copy of its own, or with 0 what suits the sizes.
Slices slicesOf(const GemmSizes& sizes, int blockK, int asked);

}  // namespace tandem::ops
