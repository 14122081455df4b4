// This header chooses the tiles and slices of a product over ranks, from its sizes. It knows no team and queues
// nothing.
#pragma once
#include "model/machine.h"
#include "ops/cdiv.h"
#include "tandem/gemm_config.h"
#include "tandem/operator.h"
#include <algorithm>
#include <string>

namespace tandem::ops {

// Returns the type in which partial products travel: bf16 for fp8, else the operator's.
inline DType partType(DType dtype) { return byteSize(dtype) == 1 ? DType::BFloat16 : dtype; }

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

// Returns true if a product of these tensors copies blocks: their rows are whole numbers of 16 bytes and begin at such
// addresses, and the target has instructions that take operands so.
bool copiesBlocks(const std::vector<Tensor>& tensors, DType operands, bool bTransposed, const std::string& target);

// The way in which a shard travels: in `bands` of `bandRows` rows (the last ones may have fewer or none), each in
// `count` slices of `columns` columns (the last one may be narrower), counted by its receiver. `copies[d * bands + b]`
// says how many slices each copy of band b to the d-th peer takes.
struct Slices {
  int64_t count = 0, columns = 0, bands = 1, bandRows = 0;
  std::vector<std::vector<int>> copies = {};
  bool operator==(const Slices&) const = default;
};

enum class GemmOp : int { AllGather, ReduceScatter };

// One way to carry out a product: tiles, and for GemmOp::AllGather slices.
struct GemmChoice {
  GemmConfig config;
  Slices slices = {};
  double microseconds = 0;  // by the model
};

// For a resolved GemmOp::ReduceScatter with `tiles` in a shard, returns the number of tiles after which the next peer
// has its turn.
inline int64_t turnOf(const GemmConfig& config, int64_t tiles) { return cdiv(tiles, std::max(config.chunks, 1)); }

// Returns everything worth considering, with the fields that `given` leaves open filled in, the model's quickest first.
// The result is the same on all ranks for the same sizes and machine; count and width of slices also where ranks differ
// in copying blocks. Simulated ranks put first a choice that has copies of every kind.
std::vector<GemmChoice> choices(GemmOp op, const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place,
                                const model::Machine& machine);

// Throws Error unless `given.copies` is empty or says of every slice, band and peer how it travels.
void checkCopies(const GemmConfig& given, const GemmSizes& sizes, const GemmPlace& place, const model::Machine& machine);

// Returns the most tiles that can be left over for a round, in all their pieces together.
int64_t mostPieces(const GemmConfig& given, int64_t programs);

// The smallest and the largest tile of all choices for any sizes.
struct TileBounds {
  int leastM, leastN, mostM, mostN;
};
TileBounds tileBounds(const GemmConfig& given, const std::string& target);

}  // namespace tandem::ops
