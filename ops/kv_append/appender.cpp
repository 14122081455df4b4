// Checks of what is appended, and its launches.
#include "ops/kv_append/appender.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include <algorithm>
#include <bit>

namespace tandem::ops {
namespace {

constexpr int64_t kTile = 4096;  // elements
constexpr int kProgramsEach = 3, kWarps = 8, kStages = 3, kSimulatedPrograms = 3, kSimulatedWarps = 1;

}  // namespace

std::vector<Option> appendOptions() {
  using Config = AppendConfig;
  return {option<Config>("programs", &Config::programs, "at most", 0),
          realOption<Config>("epsilon", &Config::epsilon, "of norms; else 1e-6"),
          option<Config>("interleaved", &Config::interleaved,
                         "neighbours are turned together, else the elements of both halves", 0, 1),
          option<Config>("fp8_cache", &Config::fp8Cache, "keys and values become fp8e4nv, with a scale a head", 0, 1)};
}

std::vector<Operand> placeOperands(const std::string& rope) {
  return {{.name = "sequence", .shape = {"m"}, .always = DType::Int32},
          {.name = "position", .shape = {"m"}, .always = DType::Int32},
          {.name = "table", .shape = {"seqs", "width"}, .always = DType::Int32},
          {.name = "cos_sin", .shape = {"turns", rope}, .always = DType::Float32}};
}

Operand weightOperand(const std::string& name, const std::string& elements) {
  return {.name = name, .shape = {elements}, .always = DType::Float32, .givenBy = "any"};
}

std::vector<Operand> appendMoreOperands(const std::string& kvHeads) {
  return {{.name = "scales", .shape = {"2", kvHeads}, .always = DType::Float32, .givenBy = "fp8_cache"},
          {.name = "status", .shape = {"2"}, .always = DType::Int32, .givenBy = "any", .isInPlace = true}};
}

Appender::Appender(const Table& table, Team& team, const AppendSizes& sizes, const CachePages& cache,
                   AppendConfig config)
    : team_(team), sizes_(sizes), cache_(cache), config_(config) {
  auto demand = [&](const char* name, int64_t value, int64_t least, int64_t most) {
    if (value < least || value > most || !std::has_single_bit(uint64_t(value)))
      throw Error("`" + table.name + "`: `" + name + "` is " + std::to_string(value) + ", a power of two from " +
                  std::to_string(least) + " to " + std::to_string(most) + " is needed");
  };
  demand(sizes.latent ? "turned" : "head_dim", sizes.dim, 16, 1024);
  if (sizes.latent) demand("latent", sizes.latent, 16, 1024);
  demand("page", cache.page, 1, 1 << 20);
  demand("rope", sizes.rope, 2, sizes.dim);
  bool simulated = team.target() == "sim";
  if (!config_.programs) config_.programs = simulated ? kSimulatedPrograms : team.residentPrograms() * kProgramsEach;
  if (config_.epsilon == 0) config_.epsilon = 1e-6;
}

void Appender::launch(const Given& given, const Norms& norms, const Tensor& scales, const Tensor& status, int64_t m,
                      int stream) const {
  const Tensor& none = given.sequence;
  auto orNone = [&](const Tensor& t) { return t.address ? t : none; };
  int64_t valueDim = sizes_.latent ? sizes_.latent : sizes_.dim;
  int64_t keyStride = sizes_.latent + sizes_.dim, valueStride = sizes_.latent ? keyStride : valueDim;
  int64_t padded = int64_t(std::bit_ceil(uint64_t(sizes_.heads))),
          kvPadded = int64_t(std::bit_ceil(uint64_t(sizes_.kvHeads)));
  auto tokens = [&](int64_t row) { return std::clamp<int64_t>(kTile / row, 1, kTile / 16); };
  int64_t all = cdiv(m, tokens(padded * sizes_.dim)) + cdiv(m, tokens(kvPadded * sizes_.dim)) +
                cdiv(m, tokens(kvPadded * valueDim));
  int64_t programs = std::min<int64_t>(all, config_.programs);
  team_.launch(
      kernelOf("ops/kv_append/kv_append.py", "kv_append"),
      {.grid = {int(programs), 1, 1}, .numWarps = team_.target() == "sim" ? kSimulatedWarps : kWarps, .stream = stream},
      {given.q,         given.k,         given.v,        given.sequence,
       given.position,  given.table,     given.cosSin,   orNone(norms.q),
       orNone(norms.k), orNone(norms.v), orNone(scales), orNone(status),
       given.out,       given.keys,      given.values,   m,
       sizes_.seqs,     cache_.width,    cache_.pages,   sizes_.turns,
       programs,        config_.epsilon},
      {{"HEADS", sizes_.heads},
       {"KV_HEADS", sizes_.kvHeads},
       {"D", sizes_.dim},
       {"VALUE_D", valueDim},
       {"KEY_STRIDE", keyStride},
       {"KEY_AT", sizes_.latent},
       {"VALUE_STRIDE", valueStride},
       {"PAGE", cache_.page},
       {"ROPE", sizes_.rope},
       {"INTERLEAVED", config_.interleaved},
       {"NORM_Q", norms.q.address != 0},
       {"NORM_K", norms.k.address != 0},
       {"NORM_V", norms.v.address != 0},
       {"SCALED", config_.fp8Cache},
       {"TOLD", status.address != 0},
       {"PADDED", padded},
       {"KV_PADDED", kvPadded},
       {"TOKENS", tokens(padded * sizes_.dim)},
       {"KEY_TOKENS", tokens(kvPadded * sizes_.dim)},
       {"VALUE_TOKENS", tokens(kvPadded * valueDim)},
       {"STAGES", int64_t(kStages)}});
}

}  // namespace tandem::ops
