// A product of few rows over ranks, in one kernel: its memory and its launch (gemm_ar.py). GEMM + AllReduce is nothing else;
// AllGather + GEMM and GEMM + ReduceScatter take it for calls of few rows.
#pragma once
#include "ops/gemm_chooser.h"
#include "tandem/gemm_operator.h"

namespace tandem::ops {

class FewRows {
 public:
  using Kind = GemmKind;
  // [collective, blocks] For every choice of few rows that `chooser` may make for up to `maxM` rows.
  FewRows(Team& team, Memory& memory, Kind kind, const GemmChooser& chooser, int64_t maxM, int64_t n, int64_t k,
          DType dtype, const GemmConfig& given);
  // a: the rank's own rows of Kind::Gather, else all. `config`: resolved. Every rank calls with the same m; `config` may
  // differ but for Kind::Reduce without packets.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, const GemmConfig& config, int stream);

 private:
  int64_t chunk(int64_t m) const;

  Team& team_;
  Kind kind_;
  int64_t n_, k_;
  DType dtype_;
  int64_t oneShotBytes_, packetsBytes_;
  int64_t setElements_ = 1, setPackets_ = 1;
  Tensor rows_;
  std::vector<Argument> memory_;  // as the kernel takes it
};

}  // namespace tandem::ops
