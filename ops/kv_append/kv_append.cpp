// Host side of writing new keys and values to their pages.
#include "ops/kv_append/kv_append.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include "ops/table.h"
#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace {

constexpr int64_t kTile = 2048;  // elements
constexpr int kProgramsEach = 8, kWarps = 4, kSimulatedPrograms = 3, kSimulatedWarps = 1;

}  // namespace
namespace tables {

const Table& kv_append() {
  static const Table table = [] {
    std::vector<std::string> cache = {"pages", "page", "kv_heads", "head_dim"}, heads = {"m", "kv_heads", "head_dim"};
    std::vector<std::string> weights = {"head_dim"};
    DType word = DType::Int32, single = DType::Float32;
    Table t{
        .name = "kv_append",
        .className = "KvAppend",
        .what =
            "Writes new keys and values to their pages, behind a norm and a turn by their positions; turns queries.",
        .sizes = {{"max_m", "the most tokens"},
                  {"heads", "of queries"},
                  {"kv_heads", "of keys and values"},
                  {"head_dim", "a power of two from 16"},
                  {"seqs", "rows of the table"},
                  {"pages", "of the cache"},
                  {"page", "keys of a page, a power of two"},
                  {"width", "the most pages of a sequence"},
                  {"turns", "positions that have angles"},
                  {"rope", "elements that are turned, a power of two up to head_dim"}},
        .types = {DType::Float16, DType::BFloat16},
        .typeWords = "fp16 or bf16",
        .tensors = {{.name = "q", .shape = {"m", "heads", "head_dim"}},
                    {.name = "k", .shape = heads},
                    {.name = "v", .shape = heads},
                    {.name = "sequence", .shape = {"m"}, .always = word},
                    {.name = "position", .shape = {"m"}, .always = word},
                    {.name = "table", .shape = {"seqs", "width"}, .always = word},
                    {.name = "cos_sin", .shape = {"turns", "rope"}, .always = single},
                    {.name = "keys", .shape = cache, .quantisedBy = "fp8_cache", .isInPlace = true},
                    {.name = "values", .shape = cache, .quantisedBy = "fp8_cache", .isInPlace = true},
                    {.name = "q_weight", .shape = weights, .always = single, .givenBy = "any"},
                    {.name = "k_weight", .shape = weights, .always = single, .givenBy = "any"},
                    {.name = "scales", .shape = {"2", "kv_heads"}, .always = single, .givenBy = "fp8_cache"},
                    {.name = "status", .shape = {"2"}, .always = word, .givenBy = "any", .isInPlace = true},
                    {.name = "out", .shape = {"m", "heads", "head_dim"}, .isOutput = true}},
        .numbers = {{"m", Number::Kind::Rows, "tokens"}}};
    using Config = AppendConfig;
    t.options = {
        option<Config>("programs", &Config::programs, "at most", 0),
        realOption<Config>("epsilon", &Config::epsilon, "of norms; else 1e-6"),
        option<Config>("interleaved", &Config::interleaved,
                       "neighbours are turned together, else the elements of both halves", 0, 1),
        option<Config>("fp8_cache", &Config::fp8Cache, "keys and values become fp8e4nv, with a scale a head", 0, 1)};
    t.make = [](Team& team, const std::vector<int64_t>& s, DType dtype, const nlohmann::json& given) {
      return std::make_unique<KvAppend>(team, s[0], s[1], s[2], s[3], s[4], CachePages{s[5], s[6], s[7]}, s[8], s[9],
                                        dtype, configOf<Config>(kv_append(), given));
    };
    return t;
  }();
  return table;
}

}  // namespace tables

KvAppend::KvAppend(Team& team, int64_t maxM, int64_t heads, int64_t kvHeads, int64_t headDim, int64_t seqs,
                   const CachePages& cache, int64_t turns, int64_t rope, DType dtype, const AppendConfig& config)
    : Operator(tables::kv_append(), team,
               {maxM, heads, kvHeads, headDim, seqs, cache.pages, cache.page, cache.width, turns, rope}, dtype,
               &config),
      heads_(heads), kvHeads_(kvHeads), headDim_(headDim), seqs_(seqs), turns_(turns), rope_(rope), cache_(cache),
      config_(config) {
  auto demand = [&](const char* name, int64_t value, int64_t least, int64_t most) {
    if (value < least || value > most || !std::has_single_bit(uint64_t(value)))
      throw Error("`kv_append`: `" + std::string(name) + "` is " + std::to_string(value) + ", a power of two from " +
                  std::to_string(least) + " to " + std::to_string(most) + " is needed");
  };
  demand("head_dim", headDim, 16, 1024);
  demand("page", cache.page, 1, 1 << 20);
  demand("rope", rope, 2, headDim);
  bool simulated = team.target() == "sim";
  if (!config_.programs) config_.programs = simulated ? kSimulatedPrograms : team.residentPrograms() * kProgramsEach;
  if (config_.epsilon == 0) config_.epsilon = 1e-6;
}

KvAppend::~KvAppend() = default;

void KvAppend::queue(const Call& call) {
  const auto& t = call.tensors;
  const Tensor &none = t[3], &qWeight = t[9], &kWeight = t[10], &scales = t[11], &status = t[12];
  auto orNone = [&](const Tensor& given) { return given.address ? given : none; };
  int64_t m = call.numbers[0], rows = kTile / headDim_;
  int64_t tiles = cdiv(m * heads_, rows) + 2 * cdiv(m * kvHeads_, rows);
  int64_t programs = std::min<int64_t>(tiles, config_.programs);
  team_.launch(
      kernelOf("ops/kv_append/kv_append.py", "kv_append"),
      {.grid = {int(programs), 1, 1},
       .numWarps = team_.target() == "sim" ? kSimulatedWarps : kWarps,
       .stream = call.stream},
      {t[0],         t[1],           t[2],           t[3],           t[4], t[5], t[6], orNone(qWeight), orNone(kWeight),
       none,         orNone(scales), orNone(status), t[13],          t[7], t[8], m,    seqs_,           cache_.width,
       cache_.pages, turns_,         programs,       config_.epsilon},
      {{"HEADS", heads_},
       {"KV_HEADS", kvHeads_},
       {"D", headDim_},
       {"VALUE_D", headDim_},
       {"KEY_STRIDE", headDim_},
       {"KEY_AT", int64_t(0)},
       {"VALUE_STRIDE", headDim_},
       {"PAGE", cache_.page},
       {"ROPE", rope_},
       {"INTERLEAVED", config_.interleaved},
       {"NORM_Q", qWeight.address != 0},
       {"NORM_K", kWeight.address != 0},
       {"NORM_V", false},
       {"SCALED", config_.fp8Cache},
       {"TOLD", status.address != 0},
       {"ROWS", rows},
       {"VALUE_ROWS", rows}});
}

}  // namespace tandem::ops
