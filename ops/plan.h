// How a product over ranks is cut into tiles and chunks, from its sizes. Knows no team and queues nothing.
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

// A model of one AllGather + GEMM: the shards arrive in `chunks` pieces while own rows and pieces that are there are multiplied.
double gatheredMicroseconds(int chunks, double shardBytes, double gemmMicroseconds, int ranks);
double gemmMicroseconds(const GemmSizes& sizes);

// How a shard travels: `count` pieces of `blocks` row blocks, the last one maybe shorter.
struct Chunks {
  int64_t count, blocks;
};
// `asked` pieces, or with 0 as many as the model finds best.
Chunks chunksOf(const GemmSizes& sizes, int blockM, int asked);

}  // namespace tandem::ops
