// Host side of attention over ranks: keys and values travel by copy engines on the stream beside the caller's while one
// kernel goes along those that are there.
//
// The rank's own ones are copied beside its peers' first. The other stream waits for the caller's, then pushes band after
// band to one peer after the other, each followed by peer.ready[me] = how many there are now; where a band has no rows all
// are there. The kernel's last program waits until all of the call has arrived, puts `ready` back to 0 and meets its like
// on the other ranks, so nothing is pushed into what is still read, and no signal is set that has yet to be put back.
#include "ops/ag_attention/ag_attention.h"
#include "ops/attention/shape.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr int64_t kBandBytes = 4 << 20, kMostBands = 16;

Tensor rowsFrom(const Tensor& t, int64_t first, int64_t rows, int64_t columns) {
  return {t.address + uint64_t(first * columns * byteSize(t.dtype)), {rows, columns}, t.dtype};
}

}  // namespace

namespace tables {

const Table& ag_attention() {
  static const Table table = [] {
    using Config = GatherAttentionConfig;
    auto shape = [](const char* heads, const char* elements) {
      return std::vector<std::string>{"batch", "own(m)", heads, elements};
    };
    Table t{.name = "ag_attention",
            .className = "AllGatherAttention",
            .what = "out = softmax(q k^T * scale) v of each sequence and head, over the keys and values of all ranks.",
            .sizes = {{"max_m", "the most rows of a sequence over all ranks"}, {"batch", "sequences"}},
            .types = {DType::Float16, DType::BFloat16},
            .typeWords = "fp16 or bf16",
            .tensors = {{.name = "q", .shape = shape("hq", "d")},
                        {.name = "k", .shape = shape("hkv", "d")},
                        {.name = "v", .shape = shape("hkv", "dv")},
                        {.name = "sinks", .shape = {"hq"}, .always = DType::Float32, .givenBy = "any"},
                        {.name = "lse",
                         .shape = {"batch", "hq", "own(m)"},
                         .isOutput = true,
                         .always = DType::Float32,
                         .givenBy = "with_lse"},
                        {.name = "out", .shape = shape("hq", "dv"), .isOutput = true}},
            .numbers = {{"m", Number::Kind::Rows, "rows of a sequence over all ranks"}},
            .options = attentionOptions<Config>()};
    std::vector<Size> heads = attentionSizes();
    t.sizes.insert(t.sizes.end(), heads.begin() + 1, heads.end());
    std::erase_if(t.options,
                  [](const Option& o) { return o.name == "top_left" || o.name == "varlen" || o.name == "window"; });
    t.options.push_back(option<Config>("in_order", &Config::inOrder,
                                       "a rank's rows stand together in a sequence, else in two halves", 0, 1));
    t.options.push_back(
        option<Config>("with_lse", &Config::withLse, "the logarithms of the sums are written too", 0, 1));
    t.options.push_back(
        option<Config>("bands", &Config::bands, "of a rank's rows, each sent with a signal", 1, kMostBands));
    t.make = maker<AllGatherAttention, Config, 6>(ag_attention);
    return t;
  }();
  return table;
}

}  // namespace tables

AllGatherAttention::AllGatherAttention(Team& team, int64_t maxM, int64_t batch, int64_t hq, int64_t hkv, int64_t d,
                                       int64_t dv, DType dtype, const GatherAttentionConfig& config)
    : Operator(tables::ag_attention(), team, {maxM, batch, hq, hkv, d, dv}, dtype, &config), batch_(batch), hq_(hq),
      hkv_(hkv), d_(d), dv_(dv), config_(config) {
  checkHeads(table_, hq, hkv, d, dv);
  if (team.size() == 1) return;
  // Blocks of keys reach behind a rank's last row, into rows that are read and not used.
  pitch_ = batch * shardRows(maxM, team.size()) +
           chosen(config, attentionTile(team.target(), d, maxM, config.causal, dtype)).n;
  keys_ = memory_.symmetricZeros({team.size() * pitch_, hkv * d}, dtype, "keys");
  values_ = memory_.symmetricZeros({team.size() * pitch_, hkv * dv}, dtype, "values");
  ready_ = memory_.symmetricZeros({team.size()}, DType::Int64, "ready");
  done_ = memory_.symmetricZeros({team.size()}, DType::Int64, "done");
  ended_ = memory_.localZeros({1}, DType::Int32, "ended");
  epoch_ = memory_.localZeros({1}, DType::Int64, "epoch");
  nobodys_ = memory_.localZeros({hq * d}, dtype, "row of a rank without any");
}

void AllGatherAttention::push(const Tensor& k, const Tensor& v, int64_t bands, int64_t bandRows, int stream) {
  int64_t rows = k.shape[0] * k.shape[1];
  Tensor mine{ready_.address + uint64_t(team_.rank() * byteSize(ready_.dtype)), {1}, ready_.dtype};
  for (int distance = 1; distance < team_.size(); ++distance) {
    int peer = (team_.rank() + distance) % team_.size();
    for (int64_t band = 0; band < bands; ++band) {
      int64_t first = band * bandRows, count = std::clamp<int64_t>(rows - first, 0, bandRows);
      auto send = [&](const Tensor& from, const Tensor& to, int64_t columns) {
        Tensor there = rowsFrom(to, team_.rank() * pitch_ + first, count, columns);
        team_.copy(team_.peer(there, peer), rowsFrom(from, first, count, columns), stream);
      };
      if (count) {
        send(k, keys_, hkv_ * d_);
        send(v, values_, hkv_ * dv_);
      }
      if (count || band + 1 == bands) team_.signalWrite(team_.peer(mine, peer), uint64_t(band + 1), stream);
    }
  }
}

void AllGatherAttention::queue(const Call& call) {
  const Tensor &q = call.tensors[0], &sinks = call.tensors[3], &lse = call.tensors[4], &out = call.tensors[5];
  Tensor k = call.tensors[1], v = call.tensors[2];
  int ranks = team_.size(), stream = call.stream, beside = stream;
  int64_t m = call.numbers[0], own = rowsOfRank(m, ranks, team_.rank()), shard = shardRows(m, ranks);
  AttentionTile tile = chosen(config_, attentionTile(team_.target(), d_, m, config_.causal, dtype_));
  auto low = [&](int64_t rows) { return config_.inOrder ? rows : cdiv(rows, 2); };
  bool isWhole = own && low(own) % tile.m == 0 && own % tile.m == 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int64_t rows = rowsOfRank(m, ranks, rank);
    isWhole &= rows % tile.n == 0 && (!config_.causal || low(rows) % tile.n == 0);
  }

  int64_t bytes = batch_ * shard * hkv_ * (d_ + dv_) * byteSize(dtype_);
  int64_t bands = config_.bands ? config_.bands : std::clamp<int64_t>(bytes / kBandBytes, 1, kMostBands);
  int64_t bandRows = cdiv(batch_ * shard, bands);
  if (ranks > 1) {
    beside = team_.streamBeside(stream);
    team_.waitEvent(team_.recordEvent(stream), beside);
    push(k, v, bands, bandRows, beside);
    if (own) {
      int64_t first = team_.rank() * pitch_;
      team_.copy(rowsFrom(keys_, first, batch_ * own, hkv_ * d_), rowsFrom(k, 0, batch_ * own, hkv_ * d_), stream);
      team_.copy(rowsFrom(values_, first, batch_ * own, hkv_ * dv_), rowsFrom(v, 0, batch_ * own, hkv_ * dv_), stream);
    }
    k = keys_;
    v = values_;
  }

  Parts ofD = partsOf(d_), ofV = partsOf(dv_);
  const Tensor& none = v;
  auto orNone = [&](const Tensor& t, const Tensor& other) { return t.address ? t : other; };
  Tensor from = own ? q : nobodys_, to = own ? out : nobodys_;
  LaunchConfig launch{
      .grid = {int(std::max<int64_t>(cdiv(low(own), tile.m) + cdiv(own - low(own), tile.m), 1)), int(hq_), int(batch_)},
      .numWarps = tile.warps,
      .stream = stream,
      .numStages = tile.stages};
  team_.launch(kernelOf("ops/ag_attention/ag_attention.py", "ag_attention"), launch,
               {from, k, v, orNone(sinks, none), orNone(lse, none), to, orNone(ready_, none), orNone(done_, none),
                orNone(ended_, none), orNone(epoch_, none), scaleOf(config_, d_), capOf(config_), m, own,
                std::max<int64_t>(own, 1), pitch_, ranks > 1 ? ranks * pitch_ : batch_ * own, bands, bandRows},
               {{"HQ", hq_},
                {"HKV", hkv_},
                {"D0", ofD.first},
                {"D1", ofD.second},
                {"V0", ofV.first},
                {"V1", ofV.second},
                {"BLOCK_M", int64_t(tile.m)},
                {"BLOCK_N", int64_t(tile.n)},
                {"CAUSAL", config_.causal},
                {"IN_ORDER", config_.inOrder},
                {"CAP", config_.softcap != 0},
                {"SINKS", sinks.address != 0},
                {"LSE", config_.withLse},
                {"WHOLE", isWhole},
                {"ARRIVES", ranks > 1}});
  if (ranks > 1) team_.waitEvent(team_.recordEvent(beside), stream);
}

}  // namespace tandem::ops
