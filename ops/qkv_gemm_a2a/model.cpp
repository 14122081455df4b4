// Tiles in the kernel's own order, and bands that peers take one after the other when all their tiles are there.
#include "ops/qkv_gemm_a2a/model.h"
#include "ops/device/channels.h"
#include "ops/heads.h"
#include "ops/product_time.h"

namespace tandem::ops {
namespace {

using model::Machine;

constexpr int kCopies = 3;  // queries, keys and values

// All ranks do the same, so what this rank takes is there when a peer would take it here.
double microseconds(const GemmSizes& sizes, const GemmChoice& choice, const ProductTime& tiles,
                    const Machine& machine) {
  double begin = machine.gemmFillUs + machine.launchUs, end = begin, link = 0, brought = 0;
  int64_t shard = shardRows(sizes.m, sizes.ranks), bandRows = rowsOfBand(choice.config, shard);
  int64_t turn = cdiv(bandRows, choice.config.blockM) * cdiv(sizes.n, choice.config.blockN);
  double rowBytes = double(sizes.n) * double(byteSize(sizes.dtype));
  std::vector<double> free(size_t(tiles.programs), begin);
  for (int64_t tile = 0; tile < tiles.count(); ++tile) {
    auto [nth, local] = channels::scattered_tile(tile, tiles.shards, tiles.ofShard, turn);
    double& now = free[size_t(tile % tiles.programs)];
    bool isOwn = nth + 1 == tiles.shards;
    now += tiles.microseconds(tile) / (sizes.ranks > 1 ? machine.gemmBesideCopiesRatio : 1);
    end = std::max(end, now);
    if (isOwn) continue;
    brought = local % turn ? std::max(brought, now) : now;
    if (local % turn + 1 < turn && local + 1 < tiles.ofShard) continue;
    double rows = double(std::min(bandRows, shard - local / turn * bandRows));
    link = std::max(link, brought + machine.tileFenceUs + machine.roundTripUs / 2) + kCopies * machine.signalWriteUs +
           rows * rowBytes / machine.copyBytes();
  }
  return std::max(end, link);
}

}  // namespace

const GemmModel& headsModel() {
  static const GemmModel model = bandsModel(microseconds);
  return model;
}

}  // namespace tandem::ops
