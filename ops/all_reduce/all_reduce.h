// AllReduce.
#pragma once
#include "tandem/all_reduce_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class Packets;

// Returns the way that Auto takes on the machine of the default profile.
TANDEM_API AllReduceWay allReduceWay(int64_t bytes, int ranks);

// out = sum of every rank's x, on every rank; fp16, bf16 or fp32, summed in fp32 in rank order: the same bits on every
// rank, in every run, on every way.
class TANDEM_API AllReduce : public Operator {
 public:
  AllReduce(Team& team, int64_t maxElements, DType dtype, const AllReduceConfig& config = {});
  ~AllReduce() override;
  // Contiguous, of one size, the same on every rank; out may be x. `symmetricOut`: out is the same symmetric tensor on
  // every rank, so that two shots write there at once. Queued on `stream`.
  void run(const Tensor& x, const Tensor& out, int stream = 0, bool symmetricOut = false) {
    call({{x, out}, {x.size(), symmetricOut}, stream});
  }

 private:
  void queue(const Call& call) override;
  void runTwoShot(const Tensor& x, const Tensor& out, int stream, bool symmetricOut);

  int64_t mostChunks_ = 0;
  AllReduceWay way_;
  double reach_ = 1;  // of the sizes at which the way changes, by the machine's profile
  CollectiveConfig given_, config_;
  std::unique_ptr<Packets> packets_, sharedPackets_;  // of one shot, of two
  Tensor parts_, sums_, ready_, done_, epochs_;
};

}  // namespace tandem::ops
