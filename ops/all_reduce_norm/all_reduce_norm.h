// AllReduce + residual + RMSNorm.
#pragma once
#include "tandem/all_reduce_config.h"
#include "tandem/operator.h"
#include <map>

namespace tandem::ops {

class AllReduce;
class Packets;

struct AllReduceNormConfig : AllReduceConfig {
  double eps = 0;          // added to the mean of the squares; 0: 1e-6
  bool quantised = false;  // out is fp8e4nv, with a scale for each 128 elements of a row
  bool rowScales = false;  // with one scale for each row
};

// residual += the sum of every rank's x; out = residual / sqrt(mean of its row's squares + eps) * weight; fp16, bf16 or
// fp32. The residual has the bits of AllReduce and an addition in its type; the norm is in fp32. The same bits on every
// rank where residuals and weights are, in every run, and on every way but of rows that several programs have.
class TANDEM_API AllReduceNorm : public Operator {
 public:
  AllReduceNorm(Team& team, int64_t maxM, int64_t columns, DType dtype, const AllReduceNormConfig& config = {});
  ~AllReduceNorm() override;
  // Contiguous: x, residual, out [m, columns], weight [columns]; out may be x. outScales: with `quantised` [m,
  // cdiv(columns, 128)] fp32, with `rowScales` [m, 1]. Queued on `stream`.
  void run(const Tensor& x, const Tensor& residual, const Tensor& weight, const Tensor& out, int stream = 0,
           const Tensor& outScales = {}) {
    call({{x, residual, weight, outScales, out}, {x.shape.at(0)}, stream});
  }

 private:
  void queue(const Call& call) override;
  std::vector<Operator*> parts() const override;
  // How many programs each row of a call has, and the packets and warps of each program.
  struct Division {
    int64_t programs, packets;
    int warps;
  };
  Division divisionOf(int64_t m) const;
  void divideRows(int64_t mostRows);

  int64_t columns_, rowPackets_;
  double reach_ = 1;  // of the sizes at which the way changes, by the machine's profile
  AllReduceNormConfig config_;
  std::map<AllReduceWay, std::unique_ptr<Packets>> packets_;  // of each way in packets that may be taken
  std::unique_ptr<AllReduce> reduce_;
  Tensor sums_;
  std::unique_ptr<Packets> parted_;  // of long rows that have several programs each
  Tensor told_;                      // slots in which the programs of a row tell each other their sums
};

}  // namespace tandem::ops
