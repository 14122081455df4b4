#include "ops/heads.h"
#include "ops/device/heads.h"
#include "ops/gemm_options.h"
#include <algorithm>

namespace tandem::ops {

RankHeads headsOfRank(int64_t hq, int64_t hkv, int ranks, int rank) {
  auto [first, end, firstKey, endKey, firstRank, endRank] = kernels::heads_of_rank(rank, ranks, hq, hkv);
  return {first, end - first, firstKey, endKey - firstKey};
}

MostHeads mostHeads(int64_t hq, int64_t hkv, int ranks) {
  MostHeads most = {0, 0};
  for (int rank = 0; rank < ranks; ++rank) {
    RankHeads heads = headsOfRank(hq, hkv, ranks, rank);
    most = {std::max(most.queries, heads.count), std::max(most.keys, heads.keyCount)};
  }
  return most;
}

void checkHeadsOfRanks(const Table& table, int64_t hq, int64_t hkv) {
  if (hq % hkv)
    throw Error("`" + table.name + "`: `hq` is " + std::to_string(hq) + ", a multiple of `hkv`, " +
                std::to_string(hkv) + ", is needed");
}

std::vector<Option> headsOptions() {
  std::vector<Option> options = gemmOptions<GemmConfig>({"group", "bands"});
  std::erase_if(options, [](const Option& o) { return o.name == "b_transposed"; });
  return options;
}

int64_t rowsOfBand(const GemmConfig& config, int64_t shard) {
  int64_t rows = int64_t(config.group) * config.blockM;
  return cdiv(cdiv(shard, rows), std::max(config.bands, 1)) * rows;
}

GemmModel bandsModel(decltype(GemmModel::microseconds) microseconds) {
  using model::Machine;
  return {.waysToSlice =
              [](const GemmSizes& sizes, const GemmConfig& given, const GemmPlace& place, const Machine&) {
                std::vector<int> ways = {8, 4, 2, 1};  // the first one where all are too many to look at
                if (place.target == "sim") ways = {3};
                if (sizes.ranks == 1) ways = {1};
                if (given.bands) ways = {given.bands};
                std::vector<Slices> all;
                for (int bands : ways) all.push_back({.count = 1, .bands = bands});
                return all;
              },
          .waysToCut = [](const GemmConfig&, const GemmSizes&, const GemmPlace&) { return std::vector<int>{0}; },
          .waysToSend = [](const GemmConfig& config, const GemmSizes&,
                           const GemmPlace&) { return std::vector<int>{config.chunks}; },
          .microseconds = microseconds};
}

}  // namespace tandem::ops
