// GEMM + ReduceScatter.
#pragma once
#include "tandem/gemm_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class FewRows;
class GemmChooser;
class LibraryWay;

// out[rowsOfRank(m), n] = this rank's rows of the sum over ranks of A[m, k] · B[k, n], k being each rank's share. Types
// as AllGatherGemm's; partial products travel in the operator's type, of fp8 in bf16. The sum runs in fp32, in one
// order: the same bits in every run.
class TANDEM_API GemmReduceScatter : public Operator {
 public:
  GemmReduceScatter(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config = {});
  ~GemmReduceScatter() override;
  // a: [m, k], b: [k, n] (bTransposed: [n, k]), out: [rowsOfRank(m), n], all contiguous. Every rank calls with the same
  // m <= maxM. Queued on `stream`.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0) {
    call({{a, b, out}, {m, int64_t(out.dtype)}, stream});
  }
  TunedGemm tune(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0);  // as AllGatherGemm's

 private:
  void queue(const Call& call) override;
  std::string tune(const Call& call) override;
  std::vector<Operator*> parts() const override;
  void push(int64_t tiles, int64_t turn, uint64_t bytes, int stream);

  int64_t n_, k_;
  GemmConfig config_;
  bool isEven_ = true;  // the ranks' memories lie at one distance: on simulated ranks a team's may not
  std::unique_ptr<GemmChooser> chooser_;
  std::unique_ptr<FewRows> few_;         // where calls may be ones of few rows
  std::unique_ptr<LibraryWay> library_;  // where calls may go that way
  Tensor parts_, ready_, outgoing_, arrived_, brought_, begun_, epoch_, done_;
};

}  // namespace tandem::ops
