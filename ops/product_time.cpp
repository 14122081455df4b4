// Rates of a tile on all programs, and on few.
#include "ops/product_time.h"

namespace tandem::ops {

ProductTime productTime(const GemmSizes& sizes, const GemmConfig& c, double rate, int resident,
                        const model::Machine& machine) {
  int64_t shard = shardRows(sizes.m, sizes.ranks);
  double depth = double(cdiv(sizes.k, c.blockK) * c.blockK), total = machine.operations(byteSize(sizes.dtype)) * rate;
  return {cdiv(sizes.m, shard),
          cdiv(shard, c.blockM) * cdiv(sizes.n, c.blockN),
          c.programs,
          2.0 * c.blockM * c.blockN * depth,
          total,
          total / resident * machine.gemmAloneRatio,
          machine.gemmTileUs,
          c.pieces};
}

}  // namespace tandem::ops
