// GEMM + AllReduce.
#pragma once
#include "tandem/gemm_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class FewRows;
class GemmChooser;
class LibraryWay;
class Scattered;

using GemmAllReduceConfig = GemmConfig;

// out[m, n] = sum over ranks of A[m, k] · B[k, n] on every rank, k being each rank's share: made for few rows, where
// reading B takes the time. Types and order as GemmReduceScatter's, and the same bits on every rank.
class TANDEM_API GemmAllReduce : public Operator {
 public:
  GemmAllReduce(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmAllReduceConfig& config = {});
  ~GemmAllReduce() override;
  // a: [m, k], b: [k, n] (bTransposed: [n, k]), out: [m, n], all contiguous. Every rank calls with the same m <= maxM.
  // Queued on `stream`.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0) {
    call({{a, b, out}, {m, int64_t(out.dtype)}, stream});
  }
  // [collective, blocks] As AllGatherGemm's.
  TunedGemm tune(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0);

 private:
  void queue(const Call& call) override;
  std::string tune(const Call& call) override;
  std::vector<Operator*> parts() const override;

  bool bTransposed_;
  std::unique_ptr<GemmChooser> chooser_;
  std::unique_ptr<FewRows> product_;
  std::unique_ptr<LibraryWay> library_;   // where calls may go that way
  std::unique_ptr<Scattered> scattered_;  // of many rows; null on one rank, too
};

}  // namespace tandem::ops
