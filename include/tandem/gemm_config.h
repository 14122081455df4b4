// A GemmConfig says how an operator that multiplies runs; a TunedGemm is the result of tuning one.
#pragma once
#include <cstdint>
#include <vector>

namespace tandem::ops {

// A value of 0 leaves the choice to the operator, which goes by sizes and target. All ranks must pass the same values.
// An operator refuses fields that its table does not list.
struct GemmConfig {
  // Tile sizes, powers of two from 16. AllGatherGemm: blockN may be the sum of three; the largest is taken where no
  // blocks are copied.
  int blockM = 0, blockN = 0, blockK = 0;
  int programs = 0;  // at most; never more than a rank has resident at once
  int numWarps = 0, numStages = 0;
  int group = 0;  // row blocks whose tiles follow one another, as they read the same columns (not products of few rows)
  int bands = 0;  // of a shard's rows, which travel one after the other
  int slices = 0;  // of K, in which a band travels (AllGatherGemm)
  // Of K, into which tiles left over for the last round are cut (AllGatherGemm); in a product of few rows at most so many.
  int pieces = 0;
  bool bTransposed = false;  // b is [n, k]
  // GemmReduceScatter: in how many copies parts travel to each peer; 0: programs store them there; -1: its choice.
  // AllGatherGemm and GemmAllReduce: the same of shards, with `library` only. With `library` at most 8.
  int chunks = -1;
  // AllGatherGemm and GemmReduceScatter: 1: as a product of few rows, gathered first or summed at the end; 0: not; -1:
  // its choice.
  int fewRows = -1;
  // 1: the vendor's library multiplies (fp16, bf16, fp32, fp8e4nv), with a collective before it or behind it; 0: not; -1: its choice.
  int library = -1;
  // GemmAllReduce: 1: as GEMM + ReduceScatter and an AllGather of the sums, for many rows; 0: not; -1: its choice.
  int scattered = -1;
  // GemmAllReduce: results up to this many bytes are summed by every rank for itself; up to so many, parts travel in
  // packets; -1: its choice.
  int64_t oneShotBytes = -1, packetsBytes = -1;
  // AllGatherGemm: how many slices each copy of a band takes, all bands of a peer, then the next peer's.
  std::vector<std::vector<int>> copies = {};
};

// The result of `tune`. Times are microseconds of one call on the slowest rank.
struct TunedGemm {
  GemmConfig config;
  double predicted = 0;  // by the model
  double measured = 0;   // 0 on simulated ranks, which have no time
  double untuned = 0;    // measured time of the model's choice
  int tried = 0;         // 0: it was known
};

}  // namespace tandem::ops
