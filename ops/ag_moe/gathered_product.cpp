// Rows are read where they are, or copied into the route's order first; both wait for the shards that they need.
#include "ops/ag_moe/gathered_product.h"
#include "ops/ag_moe/row_order.h"
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
    : team_(team), k_(k), experts_(experts), topK_(topK), dtype_(dtype), findings_(findings),
      isOrdered_(isOrderedFirst(
          config, {maxM, n * (config.gated ? 2 : 1), k, experts, topK, team.size(), dtype, own ? 1.0 / team.size() : 1},
          team)),
      product_(table, team, n, k, experts, topK, dtype, config,
               {.gated = config.gated, .gather = !isOrdered_, .quantise = config.quantised, .own = own}, findings) {
  memory.share(config.shared);
  if (isOrdered_) ordered_ = memory.localScratch({maxM * topK, k}, dtype, "ordered");
  if (isOrdered_ && isFp8(dtype))
    orderedScales_ = memory.localScratch({maxM * topK, cdiv(k, kScaled)}, DType::Float32, "ordered scales");
  int64_t rows = team.size() * shardRows(maxM, team.size());
  gathered_ = memory.symmetricScratch({rows, k}, dtype, "gathered");
  if (isFp8(dtype))
    gatheredScales_ = memory.symmetricScratch({rows, cdiv(k, kScaled)}, DType::Float32, "gathered scales");
  ready_ = memory.symmetricZeros({team.size()}, DType::Int64, "ready");
  done_ = memory.symmetricZeros({team.size()}, DType::Int64, "done");
  ended_ = memory.localZeros({1}, DType::Int32, "ended");
  epoch_ = memory.localZeros({1}, DType::Int64, "epoch");
}

// `x` is this rank's shard; the others come into `gathered_`, where this rank is not alone.
void GatheredProduct::order(const Tensor& x, const Tensor& scales, const Tensor& route, int64_t m, int stream) const {
  bool simulated = team_.target() == "sim", isAwaited = team_.size() > 1, isScaled = isFp8(dtype_);
  int64_t shard = shardRows(m, team_.size()), apart = 0, apartScales = 0;
  if (isAwaited && x.size()) {
    apart = (int64_t(x.address) - int64_t(gathered_.address)) / byteSize(dtype_) - team_.rank() * shard * k_;
    if (isScaled)
      apartScales =
          (int64_t(scales.address) - int64_t(gatheredScales_.address)) / 4 - team_.rank() * shard * cdiv(k_, kScaled);
  }
  int programs = simulated ? 4 : 8 * team_.residentPrograms();
  const Tensor &from = isAwaited ? gathered_ : x, &fromScales = isAwaited ? gatheredScales_ : scales;
  team_.launch(kernelOf("ops/ag_moe/ag_moe.py", "order_rows"),
               {.grid = {programs, 1, 1}, .numWarps = simulated ? 2 : 4, .stream = stream},
               {from, isScaled ? fromScales : route, ordered_, isScaled ? orderedScales_ : route, route, ready_, done_,
                ended_, epoch_, findings_, m, k_, shard, apart, apartScales},
               {{"PROGRAMS", int64_t(programs)},
                {"E", experts_},
                {"TOP_K", topK_},
                {"BLOCK_M", product_.tileRows(m)},
                {"ROWS", std::min<int64_t>(product_.tileRows(m), 16)},
                {"COLUMNS", int64_t(simulated ? 32 : 256)},
                {"SCALED", isScaled},
                {"AWAITED", isAwaited}});
}

// The stream waits for the call's, then pushes the shard to the nearest rank after this one, sets its ready[me] to 1, and
// goes on with the next rank.
void GatheredProduct::push(const Tensor& x, const Tensor& scales, int64_t m, int stream) const {
  auto behind = [&](const Tensor& gathered, const Tensor& own) {
    int64_t first = team_.rank() * shardRows(m, team_.size()) * gathered.shape[1];
    return Tensor{gathered.address + uint64_t(first * byteSize(own.dtype)), own.shape, own.dtype};
  };
  Tensor ready{ready_.address + uint64_t(team_.rank()) * 8, {1}, DType::Int64};
  for (int distance = 1; distance < team_.size(); ++distance) {
    int peer = (team_.rank() + distance) % team_.size();
    if (x.size()) team_.copy(team_.peer(behind(gathered_, x), peer), x, stream);
    if (x.size() && scales.address) team_.copy(team_.peer(behind(gatheredScales_, scales), peer), scales, stream);
    team_.signalWrite(team_.peer(ready, peer), 1, stream);
  }
}

void GatheredProduct::launch(const Tensor& x, const Tensor& w, const Tensor& out, const Tensor& route, int64_t m,
                             int stream, const GroupedProduct::More& given, bool pushes) const {
  GroupedProduct::More more = given;
  if (team_.size() == 1 && !isOrdered_) return product_.launch(x, w, out, route, m, stream, more);
  Tensor ownScales = std::exchange(more.xScales, isOrdered_ ? orderedScales_ : gatheredScales_);
  int beside = stream;
  if (team_.size() > 1) beside = team_.streamBeside(stream);
  if (team_.size() > 1 && pushes) team_.waitEvent(team_.recordEvent(stream), beside);
  if (isOrdered_) {
    order(x, ownScales, route, m, stream);
    // Before the product, whose code may have to be loaded, for which a device may finish what it runs: peers wait for the shard.
    if (pushes) push(x, ownScales, m, beside);
    product_.launch(ordered_, w, out, route, m, stream, more);
  } else {
    GroupedProduct::Awaited awaited{
        x.size() ? x : gathered_,  x.size() ? ownScales : gatheredScales_, ready_, done_, ended_, epoch_,
        shardRows(m, team_.size())};
    product_.launch(gathered_, w, out, route, m, stream, more, &awaited);
    if (pushes) push(x, ownScales, m, beside);
  }
  if (team_.size() > 1) team_.waitEvent(team_.recordEvent(beside), stream);
}

}  // namespace tandem::ops
