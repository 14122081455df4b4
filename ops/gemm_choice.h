// This header chooses the tiles and slices of a product over ranks, from its sizes. It knows no team and queues
// nothing.
#pragma once
#include "model/machine.h"
#include "ops/cdiv.h"
#include "tandem/gemm_config.h"
#include "tandem/operator.h"
#include <string>

namespace tandem::ops {

// Returns the type in which partial products travel: bf16 for fp8, else the operator's.
inline DType partType(DType dtype) { return byteSize(dtype) == 1 ? DType::BFloat16 : dtype; }

struct GemmSizes {
  int64_t m, n, k;
  int ranks;
  DType dtype;
};

// Where a matrix begins, and how many bytes a row has.
struct MatrixRows {
  MatrixRows(const Tensor& t) : address(t.address), bytes(t.shape.back() * byteSize(t.dtype)) {}
  uint64_t address;
  int64_t bytes;
};

// The same without the address, which other ranks do not know.
inline MatrixRows anywhere(MatrixRows rows) {
  rows.address = 0;
  return rows;
}

// The GPU on which the kernels run, and whether they copy blocks.
struct GemmPlace {
  std::string target;
  int residentPrograms;
  bool blocks;
  bool products = false;  // the vendor's library may multiply, on every rank
  bool isOwnType = true;  // the result has the type in which parts travel
};

// Returns true if a product of these matrices copies blocks: their rows are whole numbers of 16 bytes and begin at such
// addresses, and the target has instructions that take operands so.
bool copiesBlocks(std::initializer_list<MatrixRows> all, DType operands, bool bTransposed, const std::string& target);

// The way in which a shard travels: in `bands` of `bandRows` rows (the last ones may have fewer or none), each in
// `count` slices of `columns` columns (the last one may be narrower), counted by its receiver. `copies[d * bands + b]`
// says how many slices each copy of band b to the d-th peer takes.
struct Slices {
  int64_t count = 0, columns = 0, bands = 1, bandRows = 0;
  std::vector<std::vector<int>> copies = {};
  bool operator==(const Slices&) const = default;
};

// One way to carry out a product: tiles, and slices where shards of an operand travel.
struct GemmChoice {
  GemmConfig config;
  Slices slices = {};
  double microseconds = 0;  // by the model
};

int64_t tileCount(const GemmSizes& sizes, const GemmConfig& config);

struct ProductTime;

// An operator that multiplies tells by these functions what its calls take; its folder defines them. A config that they
// get is resolved but for what they are asked.
struct GemmModel {
  bool hasUnevenTiles = false;  // widths that are no power of two
  // Throws Error on options that fit no call of these sizes; may be null.
  void (*check)(const GemmConfig& given, const GemmSizes&, const GemmPlace&, const model::Machine&) = nullptr;
  // The ways to carry out the call as a product of few rows, where it may be one, with their times. Null: none.
  std::vector<GemmChoice> (*ofFewRows)(const GemmConfig& given, const GemmSizes&, const GemmPlace&,
                                       const model::Machine&) = nullptr;
  // The ways that are made of other operators and of the vendor's library, those that may be taken. Null: none.
  std::vector<GemmChoice> (*ofOperators)(const GemmConfig& given, const GemmSizes&, const GemmPlace&,
                                         const model::Machine&) = nullptr;
  // All that follows is null where every call is such a product. How shards may travel, in how many pieces along K
  // tiles left over may be multiplied, and in how many copies parts may travel. The first way is taken where the model
  // does not say.
  std::vector<Slices> (*waysToSlice)(const GemmSizes&, const GemmConfig& given, const GemmPlace&,
                                     const model::Machine&) = nullptr;
  std::vector<int> (*waysToCut)(const GemmConfig&, const GemmSizes&, const GemmPlace&) = nullptr;
  std::vector<int> (*waysToSend)(const GemmConfig&, const GemmSizes&, const GemmPlace&) = nullptr;
  // From the launch to the end of a call on the slowest rank.
  double (*microseconds)(const GemmSizes&, const GemmChoice&, const ProductTime&, const model::Machine&) = nullptr;
};

// Microseconds of a call. `rate`: of the largest tile's rate. `resident`: programs that a rank has at once.
double predicted(const GemmModel& model, const GemmSizes& sizes, const GemmChoice& choice, double rate, int resident,
                 const model::Machine& machine);

// Returns everything worth considering, with the fields that `given` leaves open filled in, the model's quickest first.
// The result is the same on all ranks for the same sizes and machine; count and width of slices also where ranks differ
// in copying blocks. Simulated ranks put first a choice that has copies of every kind.
std::vector<GemmChoice> choices(const GemmModel& model, const GemmConfig& given, const GemmSizes& sizes,
                                const GemmPlace& place, const model::Machine& machine);

}  // namespace tandem::ops
