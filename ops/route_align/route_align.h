// RouteAlign.
#pragma once
#include "tandem/operator.h"

namespace tandem::ops {

// 0 leaves the choice to the operator.
struct RouteAlignConfig {
  int programs = 0;  // at most
};

// Pads each expert's rows of a route to whole blocks of `align` rows, as servers' kernels take them. Local to the rank. The
// type is i32.
class TANDEM_API RouteAlign : public Operator {
 public:
  RouteAlign(Team& team, int64_t maxM, int64_t experts, int64_t topK, int64_t align, DType dtype,
             const RouteAlignConfig& config = {});
  // route: of m tokens, made on this rank; rows: [1], the padded rows; blockExperts: [m * topK + experts], the expert of each
  // block of them, then -1; slots: [m * topK + experts * align], the slot of each, m * topK where there is none. Queued on
  // `stream`.
  void run(const Tensor& route, const Tensor& rows, const Tensor& blockExperts, const Tensor& slots, int64_t m,
           int stream = 0) {
    call({{route, rows, blockExperts, slots}, {m}, stream});
  }

 private:
  void queue(const Call& call) override;

  int64_t experts_, topK_, align_;
  RouteAlignConfig config_;
};

}  // namespace tandem::ops
