// A mixture of experts over ranks.
#pragma once
#include "tandem/moe_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class AgMoe;
class MoeRs;

struct MoeMlpConfig : GroupedConfig {
  bool gated = false;  // up has gate rows, then up rows; SwiGLU of both; else no activation
};

// A tensor without an address is left out. Biases: [experts, k], of twice the columns with `gated`, and [experts, n]; scales
// are those of fp8; all fp32.
struct MoeMlpMore {
  Tensor upBias, downBias, xScales, upScales, downScales;
};

// out = the sum over a token's experts e of weight · down[e] · act(up[e] · x): AgMoe, then MoeRs, by one route. x and out
// are sharded by rows, the experts' matrices by their inner columns. fp16, bf16, fp32 or
// fp8e4nv with scales (the inner rows are fp8e4nv, and out is bf16 then).
class TANDEM_API MoeMlp : public Operator {
 public:
  // `maxM`: tokens of all ranks; `n`: columns of x and out; `k`: this rank's inner columns.
  MoeMlp(Team& team, int64_t maxM, int64_t n, int64_t k, int64_t experts, int64_t topK, DType dtype,
         const MoeMlpConfig& config = {});
  ~MoeMlp() override;
  // x: [rowsOfRank(m), n]; up: [experts, k, n], of twice the rows with `gated` (gate rows, then up rows; else no
  // activation); down: [experts, n, k]; route: of all m tokens, made on this rank; out: [rowsOfRank(m), n]. Every rank
  // calls with the same m <= maxM. Queued on `stream`.
  void run(const Tensor& x, const Tensor& up, const Tensor& down, const Tensor& route, const Tensor& out, int64_t m,
           int stream = 0, const MoeMlpMore& more = {}) {
    call({{x, up, down, route, more.upBias, more.downBias, more.xScales, more.upScales, more.downScales, out},
          {m},
          stream});
  }

 private:
  void queue(const Call& call) override;
  std::vector<Operator*> parts() const override;

  int64_t k_, topK_;
  std::unique_ptr<AgMoe> up_;
  std::unique_ptr<MoeRs> down_;
  Tensor inner_, innerScales_;
};

}  // namespace tandem::ops
