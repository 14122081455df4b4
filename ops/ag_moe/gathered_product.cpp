// Rows are read where they are, or copied into the route's order first; both wait for the shards that they need.
#include "ops/ag_moe/gathered_product.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include "ops/machine_of_ranks.h"
#include <algorithm>
#include <utility>

namespace tandem::ops {
namespace {

bool isOrderedFirst(const AgMoeConfig& config, const RowSizes& sizes, Team& team) {
  if (config.ordered >= 0 || team.target() == "sim") return config.ordered == 1;
  return isQuickerOrdered(sizes, blockRows(sizes.m * sizes.topK, sizes.experts, config, team.target()),
                          machineOfRanks(team));
}

}  // namespace

GatheredProduct::GatheredProduct(const Table& table, Team& team, Memory& memory, int64_t maxM, int64_t n, int64_t k,
                                 int64_t experts, int64_t topK, DType dtype, const AgMoeConfig& config,
                                 const Tensor& findings, bool own)
    : team_(team),
      sizes_{maxM, n * (config.gated ? 2 : 1), k, experts, topK, team.size(), dtype, own ? 1.0 / team.size() : 1},
      machine_(machineOfRank(team)), findings_(findings), isOrdered_(isOrderedFirst(config, sizes_, team)),
      product_(table, team, team.size() == 1 || isOrdered_ ? &memory : nullptr, maxM, n, k, experts, topK, dtype,
               config, {.gated = config.gated, .gather = !isOrdered_, .quantise = config.quantised, .own = own},
               findings),
      channel_(team, memory) {
  memory.share(config.shared);
  if (isOrdered_) ordered_ = memory.localScratch({maxM * topK, k}, dtype, "ordered");
  if (isOrdered_ && isFp8(dtype))
    orderedScales_ = memory.localScratch({maxM * topK, cdiv(k, kScaled)}, DType::Float32, "ordered scales");
  int64_t rows = team.size() * shardRows(maxM, team.size());
  gathered_ = memory.symmetricScratch({rows, k}, dtype, "gathered");
  if (isFp8(dtype))
    gatheredScales_ = memory.symmetricScratch({rows, cdiv(k, kScaled)}, DType::Float32, "gathered scales");
}

// `x` is this rank's shard; the others come into `gathered_`, where this rank is not alone.
void GatheredProduct::order(const Tensor& x, const Tensor& scales, const Tensor& route, int64_t m, int stream) {
  bool simulated = team_.target() == "sim", isAwaited = team_.size() > 1, isScaled = isFp8(sizes_.dtype);
  int64_t shard = shardRows(m, team_.size()), apart = 0, apartScales = 0;
  if (isAwaited && x.size()) {
    apart =
        (int64_t(x.address) - int64_t(gathered_.address)) / byteSize(sizes_.dtype) - team_.rank() * shard * sizes_.k;
    if (isScaled)
      apartScales = (int64_t(scales.address) - int64_t(gatheredScales_.address)) / 4 -
                    team_.rank() * shard * cdiv(sizes_.k, kScaled);
  }
  int programs = simulated ? 4 : 8 * team_.residentPrograms();
  const Tensor &from = isAwaited ? gathered_ : x, &fromScales = isAwaited ? gatheredScales_ : scales;
  team_.launch(kernelOf("ops/ag_moe/ag_moe.py", "order_rows"),
               {.grid = {programs, 1, 1}, .numWarps = simulated ? 2 : 4, .stream = stream},
               {from, isScaled ? fromScales : route, ordered_, isScaled ? orderedScales_ : route, route,
                channel_.ready(), findings_, m, sizes_.k, shard, apart, apartScales},
               {{"PROGRAMS", int64_t(programs)},
                {"E", sizes_.experts},
                {"TOP_K", sizes_.topK},
                {"BLOCK_M", product_.tileRows(m)},
                {"ROWS", std::min<int64_t>(product_.tileRows(m), 16)},
                {"COLUMNS", int64_t(simulated ? 32 : 256)},
                {"SCALED", isScaled},
                {"AWAITED", isAwaited}});
}

void GatheredProduct::send(const Tensor& x, const Tensor& scales, int64_t m) {
  auto here = [&](const Tensor& gathered, const Tensor& own) {
    return rowsOf(gathered, team_.rank() * shardRows(m, team_.size()), own.shape[0], own.shape[1]);
  };
  for (int peer : channel_.peers()) {
    channel_.copy(peer, here(gathered_, x), x);
    if (scales.address) channel_.copy(peer, here(gatheredScales_, scales), scales);
    channel_.tell(peer, 1);
  }
}

void GatheredProduct::push(const Tensor& x, const Tensor& scales, int64_t m, int stream) {
  channel_.begin(stream);
  send(x, scales, m);
}

void GatheredProduct::launch(const Tensor& x, const Tensor& w, const Tensor& out, const Tensor& route, int64_t m,
                             int stream, const GroupedProduct::More& given, bool pushes) {
  GroupedProduct::More more = given;
  if (team_.size() == 1 && !isOrdered_) return product_.launch(x, w, out, route, m, stream, more);
  Tensor ownScales = std::exchange(more.xScales, isOrdered_ ? orderedScales_ : gatheredScales_);
  if (pushes) channel_.begin(stream);
  if (isOrdered_) {
    order(x, ownScales, route, m, stream);
    // Before the product, whose code may have to be loaded, for which a device may finish what it runs: peers wait for the shard.
    if (pushes) send(x, ownScales, m);
    product_.launch(ordered_, w, out, route, m, stream, more);
  } else {
    RowSizes sizes = sizes_;
    sizes.m = m;
    // On a simulator experts' blocks stand together behind the early ones, however long the shards take.
    int64_t early = team_.target() == "sim" && team_.size() == 2 ? 64 : earlyBlocks(sizes, machine_);
    GroupedProduct::Awaited awaited{x.size() ? x : gathered_, x.size() ? ownScales : gatheredScales_, channel_.ready(),
                                    shardRows(m, team_.size()), early};
    product_.launch(gathered_, w, out, route, m, stream, more, &awaited);
    if (pushes) send(x, ownScales, m);
  }
  channel_.end();
}

}  // namespace tandem::ops
