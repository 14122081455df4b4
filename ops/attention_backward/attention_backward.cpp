// Host side of the gradients of attention.
#include "ops/attention_backward/attention_backward.h"
#include "ops/attention/forms.h"
#include "ops/attention_backward/keys_plan.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include <algorithm>
#include <numbers>
#include <vector>

namespace tandem::ops {
namespace {

constexpr AttentionTile kSimulated = {16, 32, 2, 2}, kSimulatedAdding = {32, 32, 2, 2}, kPlain = {64, 64, 4, 2};
constexpr int64_t kSimulatedPrograms = 8;
constexpr int kDeltaRows = 32, kSinkRows = 1024, kWarps = 4;

// Of of_keys, whose tiles have a row for each key and two sums, and of of_queries.
AttentionTile keysTile(int64_t d, bool hasK) {
  if (d <= 64) return {64, 64, 4, 2};
  return d <= 128 || !hasK ? AttentionTile{64, 128, 8, 2} : AttentionTile{32, 128, 8, 2};
}
AttentionTile queriesTile(int64_t d) {
  if (d <= 64) return {64, 128, 4, 2};
  return d <= 192 ? AttentionTile{128, 64, 8, 2} : AttentionTile{128, 32, 8, 2};
}
// The tile of the kernel `of_keys` where it adds to the gradient of q; a loop over heads leaves no registers for 128 queries. Heads from
// kLeastTurned on, of whose keys and values each has a kernel, have fewer queries than a product's rows, and what is added is turned:
// rows are elements of a head. Between the two, one kernel with the sums of both has no registers for what is added.
constexpr int64_t kMostAdded = 128, kLeastTurned = 256;
// Elements of heads of keys and values together whose sums one kernel has registers for, and with what is added.
constexpr int64_t kMostSums = 320, kMostSumsAdding = 256;
constexpr AttentionTile kAddingTile = {64, 128, 8, 2}, kAddingTileOfHead = {128, 128, 8, 2},
                        kTurnedTile = {32, 128, 8, 2};
bool mayHaveSums(int64_t d) { return d <= kMostAdded || d >= kLeastTurned; }

// Rows of keys that programs that share blocks may keep for each multiprocessor.
constexpr int64_t kPartRows = 512;
constexpr int64_t kColumns = 16, kColumnRows = 128;  // as in columns.py
// The columns' rows: sequences begin with multiples, for which there is room if there are few.
int64_t columnRows(int64_t maxRows, bool varlen) { return maxRows + std::max(maxRows / (varlen ? 2 : 8), kColumnRows); }

}  // namespace

namespace tables {

const Table& attention_backward() {
  static const Table table = [] {
    using Config = AttentionBackwardConfig;
    auto gradient = [](const char* name, const char* rows, const char* heads, const char* elements, const char* by) {
      return Operand{.name = name, .shape = {rows, heads, elements}, .isOutput = true, .givenBy = by};
    };
    Table t{.name = "attention_backward",
            .className = "AttentionBackward",
            .what = "The gradients of q, k and v of `attention`, on one rank.",
            .sizes = attentionSizes(),
            .types = {DType::Float16, DType::BFloat16},
            .typeWords = "fp16 or bf16",
            .tensors = {{.name = "q", .shape = {"m", "hq", "d"}},
                        {.name = "k", .shape = {"n", "hkv", "d"}},
                        {.name = "v", .shape = {"n", "hkv", "dv"}},
                        {.name = "result", .shape = {"m", "hq", "dv"}},
                        {.name = "lse", .shape = {"hq", "m"}, .always = DType::Float32},
                        {.name = "grad", .shape = {"m", "hq", "dv"}},
                        cuOperand("cu_q"),
                        cuOperand("cu_kv"),
                        {.name = "sinks", .shape = {"hq"}, .always = DType::Float32, .givenBy = "wants_sinks"},
                        {.name = "of_sinks",
                         .shape = {"hq"},
                         .isOutput = true,
                         .always = DType::Float32,
                         .givenBy = "wants_sinks"},
                        gradient("of_q", "m", "hq", "d", "wants_q"),
                        gradient("of_k", "n", "hkv", "d", "wants_k"),
                        gradient("of_v", "n", "hkv", "dv", "")},
            .numbers = attentionNumbers(),
            .options = attentionOptions<Config>()};
    t.options.push_back(option<Config>("wants_q", &Config::wantsQ, "the gradient of q too", 0, 1));
    t.options.push_back(option<Config>("wants_k", &Config::wantsK, "the gradient of k too", 0, 1));
    t.options.push_back(option<Config>("wants_sinks", &Config::wantsSinks, "the gradient of the sinks too", 0, 1));
    t.options.push_back(option<Config>("any_order", &Config::anyOrder,
                                       "all gradients by one kernel where there is one, which adds that of q in any "
                                       "order: quicker, and other bits each time",
                                       0, 1));
    t.isLocal = true;
    t.make = maker<AttentionBackward, Config, 5>(attention_backward);
    return t;
  }();
  return table;
}

}  // namespace tables

AttentionBackward::AttentionBackward(Team& team, int64_t maxRows, int64_t hq, int64_t hkv, int64_t d, int64_t dv,
                                     DType dtype, const AttentionBackwardConfig& config)
    : Operator(tables::attention_backward(), team, {maxRows, hq, hkv, d, dv}, dtype, &config), hq_(hq), hkv_(hkv),
      d_(d), dv_(dv), config_(config) {
  checkHeads(table_, hq, hkv, d, dv, dtype);
  Heads heads = headsOf(d, dv, dtype);
  int64_t wide = heads.ofD.both();
  delta_ = memory_.localScratch({hq * maxRows}, DType::Float32, "delta");
  int64_t partRows = std::min(kMostSharing * hkv * columnRows(maxRows, true), kPartRows * team.residentPrograms());
  parts_ = memory_.localScratch({partRows * ((config.wantsK ? wide : 0) + heads.ofV.both())}, DType::Float32, "parts");
  if (config.softcap != 0) return;
  int64_t rows = hq * columnRows(maxRows, config.varlen);
  columns_ = memory_.localScratch({rows * kColumns}, dtype, "columns");
  if (config.anyOrder && mayHaveSums(wide)) sums_ = memory_.localScratch({rows * wide}, DType::Float32, "sums");
}

void AttentionBackward::queue(const Call& call) {
  checkLengths(table_, config_, call.numbers);
  const auto& t = call.tensors;
  const Tensor &q = t[0], &k = t[1], &v = t[2], &result = t[3], &lse = t[4], &grad = t[5], &sinks = t[8];
  const Tensor &ofSinks = t[9], &ofQ = t[10], &ofK = t[11], &ofV = t[12];
  const Tensor &cuQ = config_.varlen ? t[6] : q, &cuKv = config_.varlen ? t[7] : q;
  bool hasWgmma = team_.target().starts_with("sm_90"), simulated = team_.target() == "sim";
  int64_t m = call.numbers[0], window = config_.window;
  double scale = scaleOf(config_, d_), cap = capOf(config_);
  auto queue = [&](const char* file, const char* kernel, std::array<int, 3> grid, const AttentionTile& tile,
                   const std::vector<Argument>& arguments, const Constants& constants) {
    LaunchConfig launch{.grid = grid, .numWarps = tile.warps, .stream = call.stream, .numStages = tile.stages};
    team_.launch(kernelOf(std::string("ops/attention_backward/") + file, kernel), launch, arguments, constants);
  };
  auto tileOf = [&](const AttentionTile& tile) {
    return chosen(config_, hasWgmma ? tile : simulated ? kSimulated : kPlain);
  };

  Heads heads = headsOf(d_, dv_, dtype_);
  const Parts& ofD = heads.ofD;
  int64_t d = ofD.both(), dv = heads.ofV.both(), widest = std::max(d, dv);
  bool isTurned = d >= kLeastTurned;
  AttentionTile adding = simulated ? chosen(config_, kSimulatedAdding) : tileOf(isTurned ? kTurnedTile : kAddingTile);
  AttentionTile ofBlocks = tileOf(keysTile(widest, config_.wantsK));
  int64_t batch = call.numbers[2], longest = call.numbers[3];
  int64_t rows = (config_.varlen ? m / kColumnRows + batch : cdiv(m / batch, kColumnRows) * batch) * kColumnRows;
  // Above every product, as rows behind a sequence have it (columns.py): their weights must be 0.
  constexpr double kFar = 6e7, kFarEnough = 1e5;
  bool hasColumns = (hasWgmma || simulated) && config_.softcap == 0 && scale != 0 && kColumnRows % ofBlocks.m == 0 &&
                    rows * hq_ * kColumns <= columns_.shape[0] && (!config_.varlen || scale * kFar >= kFarEnough);
  // One kernel of keys, or two: the sums of keys and values of the widest heads together are more than a thread's registers.
  bool apart = (hasWgmma || simulated) && config_.wantsK && d + dv > kMostSums;
  constexpr int64_t kColumnsAdded = 8;            // of a warpgroup at least
  int64_t across = adding.warps * 16 / adding.m;  // warpgroups that share rows
  bool mayAdd = hasColumns && config_.anyOrder && config_.wantsQ && config_.wantsK && mayHaveSums(d) &&
                (apart || d + dv <= kMostSumsAdding) && kColumnRows % adding.m == 0 && adding.m % 16 == 0 &&
                (isTurned || (across * adding.m == adding.warps * 16 && ofD.first % (across * kColumnsAdded) == 0 &&
                              ofD.second % (across * kColumnsAdded) == 0));
  double count = double(batch), queries = double(m) / count, keys = double(call.numbers[1]) / count;
  GradientSizes sizes = {hq_,   hkv_,    d,    dv,
                         batch, queries, keys, simulated ? kSimulatedPrograms : team_.residentPrograms()};
  auto planOf = [&](const KeysKernel& kernel, const AttentionTile& tile) {
    AttentionCall a = attentionCall(config_, tile, call.numbers);
    int64_t blocks = hkv_ * blocksAlong(config_, a, a.n, a.keys, tile.n) * (config_.varlen ? 1 : batch);
    int64_t each = blocks * tile.n * ((config_.wantsK ? d : 0) + dv);
    bool isWhole = tile.warps * 16 == tile.n;  // each warp has whole rows of what is kept
    return planKeys(config_, sizes, kernel, tile, isWhole ? parts_.shape[0] / each : 1);
  };
  struct OfKeys {
    KeysKernel kernel;
    AttentionTile tile;
    KeysPlan plan;
  };
  auto kernelsOf = [&](bool add) {
    std::vector<OfKeys> out;
    auto push = [&](const KeysKernel& kernel) {
      AttentionTile tile = kernel.adds ? adding : tileOf(keysTile(widest, kernel.k));
      out.push_back({kernel, tile, planOf(kernel, tile)});
    };
    if (apart) push({false, true, false});
    push({config_.wantsK, !apart, add});
    return out;
  };
  auto timeOf = [](const std::vector<OfKeys>& kernels) {
    double time = 0;
    for (const OfKeys& kernel : kernels) time += kernel.plan.time;
    return time;
  };
  AttentionTile ofQueries = tileOf(queriesTile(widest));
  std::vector<OfKeys> ofKeys = kernelsOf(false);
  bool adds = false;
  if (mayAdd) {
    std::vector<OfKeys> adders = kernelsOf(true);
    adds = timeOf(adders) + addedTime(sizes) < timeOf(ofKeys) + queriesTime(config_, sizes, ofQueries);
    if (adds) ofKeys = std::move(adders);
    if (adds && hasWgmma && d == 64 && hq_ == hkv_ && ofKeys[0].plan.parts == 1)
      ofKeys[0].tile = tileOf(kAddingTileOfHead);
  }

  int64_t columns = heads.ofV.second ? heads.ofV.first * 2 : heads.ofV.first;
  if (hasColumns)
    queue("columns.py", "columns", {int(cdiv(longest, kColumnRows) * kColumnRows / kDeltaRows), int(hq_), int(batch)},
          {0, 0, kWarps, 1},
          {result, grad, lse, delta_, columns_, adds ? sums_ : delta_, cuQ, std::numbers::log2e / scale, m, longest,
           rows},
          {{"HQ", hq_},
           {"V", dv_},
           {"BLOCK_V", columns},
           {"VARLEN", config_.varlen},
           {"SUMS", adds ? d : 0},
           {"BLOCK", int64_t(kDeltaRows)}});
  else
    queue("of_sums.py", "delta", {int(cdiv(m, kDeltaRows)), int(hq_), 1}, {0, 0, kWarps, 1}, {result, grad, delta_, m},
          {{"HQ", hq_}, {"V", dv_}, {"BLOCK_V", columns}, {"BLOCK", int64_t(kDeltaRows)}});
  if (config_.wantsSinks)
    queue("of_sums.py", "of_sinks", {int(hq_), 1, 1}, {0, 0, kWarps, 1}, {sinks, lse, delta_, ofSinks, m},
          {{"BLOCK", int64_t(kSinkRows)}});

  for (const auto& [kernel, tile, plan] : ofKeys) {
    bool hasK = kernel.k;
    AttentionCall a = attentionCall(config_, tile, call.numbers);
    int64_t blocks = blocksAlong(config_, a, a.n, a.keys, tile.n), sequences = config_.varlen ? 1 : a.batch;
    auto constants = attentionConstants(config_, tile, a.isSquare, hq_, hkv_, heads);
    constants["OF_K"] = hasK;
    constants["OF_V"] = kernel.v;
    constants["COLUMNS"] = hasColumns;
    constants["ADD"] = kernel.adds;
    constants["TURNED"] = isTurned;
    constants["SPLIT"] = plan.parts > 1;
    int64_t lines = hkv_ * sequences * plan.parts;
    queue("of_keys.py", "of_keys", {int(plan.together), int(blocks), int(lines / plan.together)}, tile,
          {q,
           k,
           v,
           grad,
           lse,
           delta_,
           hasColumns ? columns_ : q,
           kernel.adds ? sums_ : delta_,
           plan.parts > 1 ? parts_ : delta_,
           cuQ,
           cuKv,
           hasK ? ofK : ofV,
           ofV,
           scale,
           cap,
           a.m,
           a.n,
           a.queries,
           a.keys,
           rows,
           window,
           plan.parts,
           plan.pieces},
          constants);
    if (plan.parts == 1) continue;
    int64_t keptD = hasK ? d : 0, keptV = kernel.v ? dv : 0;
    queue("added.py", "joined", {int(blocks), int((keptD + keptV) / kColumns), int(hkv_ * sequences)},
          {0, 0, kWarps, 1},
          {parts_, hasK ? ofK : ofV, ofV, cuKv, scale / std::numbers::log2e, a.n, a.keys, plan.together},
          {{"HKV", hkv_},
           {"D", d_},
           {"V", dv_},
           {"KEPT_D", keptD},
           {"KEPT_V", keptV},
           {"PARTS", plan.parts},
           {"VARLEN", config_.varlen},
           {"BLOCK_N", int64_t(tile.n)},
           {"WARPS", int64_t(tile.warps)}});
  }

  if (adds) {
    const AttentionTile& tile = ofKeys.back().tile;
    queue("added.py", "narrow", {int(cdiv(longest, tile.m)), int(hq_), int(batch)}, {0, 0, kWarps, 1},
          {sums_, ofQ, cuQ, scale / std::numbers::log2e, m, longest, rows},
          {{"HQ", hq_},
           {"D", d_},
           {"D0", ofD.first},
           {"D1", ofD.second},
           {"VARLEN", config_.varlen},
           {"TURNED", isTurned},
           {"BLOCK_M", int64_t(tile.m)},
           {"WARPS", int64_t(tile.warps)}});
  }
  if (!config_.wantsQ || adds) return;
  AttentionCall a = attentionCall(config_, ofQueries, call.numbers);
  constexpr int kWarpsAlone = 8;  // of a program that is alone on its multiprocessor
  constexpr double kEnds = 190;
  bool stays = simulated || (hasWgmma && ofQueries.warps >= kWarpsAlone);
  AttentionWork work{blocksAlong(config_, a, a.m, a.queries, ofQueries.m), hq_, a.batch, a.queries, a.keys,
                     a.n * hkv_ * (d_ + dv_) * byteSize(q.dtype)};
  AttentionGrid grid = attentionGrid(config_, {ofQueries, stays, 1, 1, kEnds}, multiprocessorsOf(team_), work);
  auto constants = attentionConstants(config_, ofQueries, a.isSquare, hq_, hkv_, heads);
  constants["SHARED"] = grid.shared;
  queue("of_queries.py", "of_queries", grid.programs, ofQueries,
        {q, k, v, grad, lse, delta_, cuQ, cuKv, ofQ, scale, cap, a.m, a.n, a.queries, a.keys, window}, constants);
}

}  // namespace tandem::ops
