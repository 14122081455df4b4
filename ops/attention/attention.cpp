// Host side of attention.
#include "ops/attention/attention.h"
#include "ops/attention/forms.h"
#include "ops/attention/shape.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr const char* kFile = "ops/attention/attention.py";
constexpr AttentionTile kTurn = {128, 64, 4, 2};

// The places of a row of transposed values. Sequences begin with multiples of kGroup, for which there is room if they are few; a multiple
// of kGroup, too, as rows that TMA copies are.
constexpr int64_t kGroup = 16;
int64_t turnedRows(int64_t maxRows, bool varlen) {
  return cdiv(maxRows + std::max<int64_t>(maxRows / (varlen ? 2 : 8), kTurn.m), kGroup) * kGroup;
}

}  // namespace

namespace tables {

const Table& attention() {
  static const Table table = [] {
    using Config = AttentionForwardConfig;
    Table t{
        .name = "attention",
        .className = "Attention",
        .what = "out = softmax(q k^T * scale) v of each sequence and head, on one rank.",
        .sizes = attentionSizes(),
        .types = {DType::Float16, DType::BFloat16, DType::Float8E4NV},
        .typeWords = "fp16, bf16 or fp8e4nv",
        .tensors =
            {{.name = "q", .shape = {"m", "hq", "d"}},
             {.name = "k", .shape = {"n", "hkv", "d"}},
             {.name = "v", .shape = {"n", "hkv", "dv"}},
             cuOperand("cu_q"),
             cuOperand("cu_kv"),
             {.name = "sinks", .shape = {"hq"}, .always = DType::Float32, .givenBy = "any"},
             {.name = "scales", .shape = {"3"}, .always = DType::Float32, .givenBy = "fp8"},
             {.name = "lse", .shape = {"hq", "m"}, .isOutput = true, .always = DType::Float32, .givenBy = "with_lse"},
             {.name = "out", .shape = {"m", "hq", "dv"}, .isOutput = true, .ofFp8 = DType::BFloat16}},
        .numbers = attentionNumbers(),
        .options = attentionOptions<Config>()};
    t.options.push_back(
        option<Config>("with_lse", &Config::withLse, "the logarithms of the sums are written too", 0, 1));
    t.isLocal = true;
    t.make = maker<Attention, Config, 5>(attention);
    return t;
  }();
  return table;
}

}  // namespace tables

Attention::Attention(Team& team, int64_t maxRows, int64_t hq, int64_t hkv, int64_t d, int64_t dv, DType dtype,
                     const AttentionForwardConfig& config)
    : Operator(tables::attention(), team, {maxRows, hq, hkv, d, dv}, dtype, &config), hq_(hq), hkv_(hkv), d_(d),
      dv_(dv), config_(config) {
  checkHeads(table_, hq, hkv, d, dv, dtype);
  Heads heads = headsOf(d, dv, dtype);
  int64_t multiprocessors = multiprocessorsOf(team), programs = 1, rows = 1;
  for (const AttentionForm& form : attentionForms(team.target(), heads, dtype)) {
    programs = std::max(programs, form.resident * multiprocessors);
    rows = std::max<int64_t>(rows, std::max(form.tile.m, config.blockM) * form.resident * multiprocessors);
  }
  parts_ = memory_.localScratch({rows, heads.ofV.both()}, DType::Float32, "parts");
  stats_ = memory_.localScratch({rows, 2}, DType::Float32, "sums of parts");
  counts_ = memory_.localZeros({programs}, DType::Int32, "parts that are there");
  if (isFp8(dtype)) turned_ = memory_.localScratch({hkv, dv, turnedRows(maxRows, config.varlen)}, dtype, "values");
}

void Attention::queue(const Call& call) {
  checkLengths(table_, config_, call.numbers);
  const auto& t = call.tensors;
  const Tensor &q = t[0], &k = t[1], &sinks = t[5], &scales = t[6], &lse = t[7], &out = t[8];
  Tensor v = t[2];
  int64_t keys = call.numbers[1] / call.numbers[2];
  Heads heads = headsOf(d_, dv_, dtype_);
  std::vector<AttentionForm> forms = attentionForms(team_.target(), heads, dtype_);
  auto gridOf = [&](const AttentionForm& form) {
    // Programs that wait for one another must all be resident, which is known of these tiles alone.
    bool isKnown = std::any_of(forms.begin(), forms.end(), [&](const auto& other) { return other.tile == form.tile; });
    AttentionCall of = attentionCall(config_, form.tile, call.numbers);
    AttentionWork work{blocksAlong(config_, of, of.m, of.queries, form.tile.m),
                       hq_,
                       of.batch,
                       of.queries,
                       keys,
                       of.n * hkv_ * (d_ + dv_) * byteSize(dtype_),
                       isKnown};
    return attentionGrid(config_, form, multiprocessorsOf(team_), work);
  };
  AttentionForm form = forms.front();
  for (const AttentionForm& other : forms)
    if (gridOf(other).time < gridOf(form).time) form = other;
  form.tile = chosen(config_, form.tile);
  // Of a tile that options choose, what is known of it, if anything is.
  for (const AttentionForm& other : forms)
    if (other.tile.m == form.tile.m && other.tile.n == form.tile.n && other.tile.warps == form.tile.warps)
      form.resident = other.resident;
  const AttentionTile& tile = form.tile;
  AttentionCall a = attentionCall(config_, tile, call.numbers);
  // Where sequences begin with whole groups of keys, their order is the one that needs no exchange between threads.
  bool dealt = false;
  int64_t stride = 0;
  if (turned_.address) {
    stride = turned_.shape[2];
    AttentionTile turn = team_.target() == "sim" ? tile : kTurn;
    // What a block of keys reads behind the last ones is multiplied by 0, and so has to be a number.
    turn.m = std::max(turn.m, tile.n);
    int64_t places = config_.varlen ? a.n + a.batch * kGroup : a.batch * cdiv(a.keys, kGroup) * kGroup;
    dealt = places + turn.m <= stride || (!config_.varlen && a.keys % turn.m == 0 && places <= stride);
    bool varlen = dealt && config_.varlen;
    int64_t each = dealt ? a.keys : a.n, sequences = dealt ? a.batch : 1;
    int64_t blocks = varlen ? a.n / turn.m + a.batch : cdiv(each, turn.m) * sequences;
    LaunchConfig launch{
        .grid = {int(blocks), int(cdiv(hkv_ * dv_, turn.n)), 1}, .numWarps = turn.warps, .stream = call.stream};
    team_.launch(kernelOf(kFile, "turn"), launch,
                 {v, turned_, varlen ? t[4] : q, a.n, hkv_ * dv_, stride, each, sequences},
                 {{"BLOCK_M", int64_t(turn.m)}, {"BLOCK_N", int64_t(turn.n)}, {"VARLEN", varlen}, {"DEALT", dealt}});
    v = turned_;
  }
  AttentionGrid grid = gridOf(form);
  auto constants = attentionConstants(config_, tile, a.isSquare, hq_, hkv_, heads);
  constants["SHARED"] = grid.shared;
  constants["SINKS"] = sinks.address != 0;
  constants["LSE"] = config_.withLse;
  constants["FP8"] = isFp8(dtype_);
  constants["DEALT"] = dealt;
  auto orQ = [&](const Tensor& x) { return x.address ? x : q; };
  LaunchConfig launch{.grid = grid.programs,
                      .numWarps = tile.warps,
                      .stream = call.stream,
                      .numStages = tile.stages,
                      .cooperative = grid.shared == kRuns,
                      .dependent = turned_.address != 0};
  team_.launch(kernelOf(kFile, "attention"), launch,
               {q,
                k,
                v,
                orQ(t[3]),
                orQ(t[4]),
                orQ(sinks),
                orQ(scales),
                orQ(lse),
                out,
                parts_,
                stats_,
                counts_,
                scaleOf(config_, d_),
                capOf(config_),
                a.m,
                a.n,
                a.queries,
                a.keys,
                int64_t(config_.window),
                stride},
               constants);
}

}  // namespace tandem::ops
