// Rates of a tile on all programs, and on few.
#include "ops/product_time.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr double kMemoryRate = .9;  // of the memory's, while tiles are multiplied

}  // namespace

ProductTime productTime(const GemmSizes& sizes, const GemmConfig& c, double rate, int resident,
                        const model::Machine& machine) {
  int64_t shard = shardRows(sizes.m, sizes.ranks), blocks = cdiv(shard, c.blockM);
  // Row blocks that follow one another read the same columns.
  double bytes = double(c.blockN * sizes.k * byteSize(sizes.dtype)) / double(std::min<int64_t>(blocks, c.group));
  double depth = double(cdiv(sizes.k, c.blockK) * c.blockK), total = machine.operations(byteSize(sizes.dtype)) * rate;
  return {cdiv(sizes.m, shard),
          blocks * cdiv(sizes.n, c.blockN),
          c.programs,
          2.0 * c.blockM * c.blockN * depth,
          total,
          total / resident * machine.gemmAloneRatio,
          machine.gemmTileUs,
          c.pieces,
          bytes / (machine.memoryGbps * kMemoryRate * kBytesOfGb)};
}

}  // namespace tandem::ops
