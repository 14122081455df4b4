// AllGather + GEMM.
#pragma once
#include "tandem/gemm_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class FewRows;
class Gathering;
class GemmChooser;
class LibraryWay;

// out[m, n] = gather(A)[m, k] · B[k, n]; A is sharded by rows, B and out belong to the rank. fp16, bf16, fp32 or fp8
// (both operands of one type); out is fp16, bf16 or fp32.
class TANDEM_API AllGatherGemm : public Operator {
 public:
  AllGatherGemm(Team& team, int64_t maxM, int64_t n, int64_t k, DType dtype, const GemmConfig& config = {});
  ~AllGatherGemm() override;
  // a: [rowsOfRank(m), k], b: [k, n] (bTransposed: [n, k]), out: [m, n], all contiguous. Every rank calls with the same
  // m <= maxM. Queued on `stream`; work queued behind it may overwrite a.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0) {
    call({{a, b, out}, {m, int64_t(out.dtype)}, stream});
  }
  // [collective, blocks] Calls the model's quickest choices a few times on all ranks and keeps the best for calls of
  // this m, in the cache directory too: operators of these sizes find it there. Arguments as run's; out holds the
  // result.
  TunedGemm tune(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0);

 private:
  struct Plan;
  void queue(const Call& call) override;
  std::string tune(const Call& call) override;
  std::vector<Operator*> parts() const override;
  bool fits(const Tensor& b) const;
  Plan planned(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m) const;
  void multiply(const Plan& plan, const Tensor& a, const Tensor& b, const Tensor& out, int stream);
  void push(const Plan& plan, const Tensor& a);

  int64_t n_, k_;
  GemmConfig config_;
  std::unique_ptr<GemmChooser> chooser_;
  std::unique_ptr<FewRows> few_;         // where calls may be ones of few rows
  std::unique_ptr<LibraryWay> library_;  // where calls may go that way
  int64_t pitch_;                        // rows from one shard to the next in gathered_
  std::unique_ptr<Gathering> channel_;
  Tensor gathered_, pieces_, brought_;
};

}  // namespace tandem::ops
