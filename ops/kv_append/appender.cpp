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
  auto demand = [&](const char* name, int64_t value, bool fits, const std::string& what, int64_t least, int64_t most) {
    if (value < least || value > most || !fits)
      throw Error("`" + table.name + "`: `" + name + "` is " + std::to_string(value) + ", " + what + " from " +
                  std::to_string(least) + " to " + std::to_string(most) + " is needed");
  };
  auto demandMultiple = [&](const char* name, int64_t value, int64_t of, int64_t least, int64_t most) {
    demand(name, value, value % of == 0, "a multiple of " + std::to_string(of), least, most);
  };
  demandMultiple(sizes.latent ? "turned" : "head_dim", sizes.dim, 16, 16, 1024);
  if (sizes.latent) demandMultiple("latent", sizes.latent, 16, 16, 1024);
  demand("page", cache.page, std::has_single_bit(uint64_t(cache.page)), "a power of two", 1, 1 << 20);
  demandMultiple("rope", sizes.rope, 2, 2, sizes.dim);
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
  auto asPower = [](int64_t n) { return int64_t(std::bit_ceil(uint64_t(n))); };
  int64_t padded = asPower(sizes_.heads), kvPadded = asPower(sizes_.kvHeads), wide = asPower(sizes_.dim),
          valueWide = asPower(valueDim);
  auto tokens = [&](int64_t row) { return std::clamp<int64_t>(kTile / row, 1, kTile / 16); };
  int64_t all =
      cdiv(m, tokens(padded * wide)) + cdiv(m, tokens(kvPadded * wide)) + cdiv(m, tokens(kvPadded * valueWide));
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
       {"WIDE", wide},
       {"VALUE_D", valueDim},
       {"VALUE_WIDE", valueWide},
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
       {"TOKENS", tokens(padded * wide)},
       {"KEY_TOKENS", tokens(kvPadded * wide)},
       {"VALUE_TOKENS", tokens(kvPadded * valueWide)},
       {"STAGES", int64_t(kStages)}});
}

}  // namespace tandem::ops
