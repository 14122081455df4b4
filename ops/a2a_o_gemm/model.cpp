// Tiles of a rank's own rows, whose inner columns come from rank after rank, in bands of rows.
#include "ops/a2a_o_gemm/model.h"
#include "ops/device/tiles.h"
#include "ops/heads.h"
#include "ops/product_time.h"
#include <algorithm>

namespace tandem::ops {
namespace {

using model::Machine;

double microseconds(const GemmSizes& sizes, const GemmChoice& choice, const ProductTime& all, const Machine& machine) {
  ProductTime tiles = all;
  tiles.shards = 1;
  double begin = machine.gemmFillUs + machine.launchUs, end = begin, link = begin;
  int64_t shard = shardRows(sizes.m, sizes.ranks), bandRows = rowsOfBand(choice.config, shard);
  double rowBytes = double(sizes.k) / sizes.ranks * double(byteSize(sizes.dtype));
  std::vector<std::vector<double>> there;  // of each band, from each peer
  for (int64_t first = 0; first < shard; first += bandRows) {
    there.emplace_back();
    for (int nth = 1; nth < sizes.ranks; ++nth) {
      link += machine.copyUs + double(std::min(bandRows, shard - first)) * rowBytes / machine.copyBytes();
      there.back().push_back(link);
    }
  }
  int64_t columns = cdiv(sizes.n, choice.config.blockN), blocks = tiles.ofShard / columns;
  std::vector<double> free(size_t(tiles.programs), begin);
  for (int64_t tile = 0; tile < tiles.ofShard; ++tile) {
    auto [block, column] = kernels::place_in_shard(tile, blocks, columns, choice.config.group);
    double& now = free[size_t(tile % tiles.programs)];
    double share = tiles.microseconds(tile) / sizes.ranks;
    now += share;
    for (double arrival : there[size_t(block * choice.config.blockM / bandRows)]) now = std::max(now, arrival) + share;
    end = std::max(end, now);
  }
  return sizes.ranks == 1 ? end : std::max(end, link) + machine.gatheredEndUs + machine.roundTripUs;
}

}  // namespace

const GemmModel& rowsOfHeadsModel() {
  static const GemmModel model = bandsModel(microseconds);
  return model;
}

}  // namespace tandem::ops
