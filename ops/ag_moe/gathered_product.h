// The grouped product of rows that come from the other ranks, by copy engines, while it multiplies.
#pragma once
#include "ops/ag_moe/ag_moe.h"
#include "ops/ag_moe/row_order.h"
#include "ops/gathering.h"
#include "ops/grouped_gemm/product.h"

namespace tandem::ops {

class GatheredProduct {
 public:
  // The product is of at most `maxM` tokens of all ranks. `own` is as in GroupedWay.
  GatheredProduct(const Table& table, Team& team, Memory& memory, int64_t maxM, int64_t n, int64_t k, int64_t experts,
                  int64_t topK, DType dtype, const AgMoeConfig& config, const Tensor& findings, bool own = false);
  // Brings this rank's shard of m tokens to the others, ahead of what is queued on `stream` after it.
  void push(const Tensor& x, const Tensor& scales, int64_t m, int stream);
  // The product of the shards of m tokens, of which x is this rank's. `pushes`: unless its owner has done so before.
  void launch(const Tensor& x, const Tensor& w, const Tensor& out, const Tensor& route, int64_t m, int stream,
              const GroupedProduct::More& more, bool pushes = true);
  const Tensor& gathered() const { return gathered_; }
  const Tensor& gatheredScales() const { return gatheredScales_; }

 private:
  void send(const Tensor& x, const Tensor& scales, int64_t m);
  void order(const Tensor& x, const Tensor& scales, const Tensor& route, int64_t m, int stream);

  Team& team_;
  RowSizes sizes_;
  model::Machine machine_;
  Tensor findings_;
  bool isOrdered_;
  GroupedProduct product_;
  Gathering channel_;
  Tensor gathered_, gatheredScales_, ordered_, orderedScales_;
};

}  // namespace tandem::ops
