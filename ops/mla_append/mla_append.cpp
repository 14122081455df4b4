// Host side of writing new latent keys to their pages.
#include "ops/mla_append/mla_append.h"
#include "ops/kv_append/appender.h"
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace tables {

const Table& mla_append() {
  static const Table table = [] {
    Table t{
        .name = "mla_append",
        .className = "MlaAppend",
        .what = "Writes new latent keys to their pages, behind a norm, their ends turned by position; turns queries.",
        .sizes = {{"max_m", "the most tokens"},
                  {"heads", "of queries"},
                  {"latent", "elements of a key that are its value too, a multiple of 16"},
                  {"turned", "elements behind them, which are turned, a multiple of 16"},
                  {"seqs", "rows of the table"},
                  {"pages", "of the cache"},
                  {"page", "keys of a page, a power of two"},
                  {"width", "the most pages of a sequence"},
                  {"turns", "positions that have angles"}},
        .types = {DType::Float16, DType::BFloat16},
        .typeWords = "fp16 or bf16",
        .tensors = {{.name = "q_turned", .shape = {"m", "heads", "turned"}},
                    {.name = "k_turned", .shape = {"m", "turned"}},
                    {.name = "k", .shape = {"m", "latent"}}},
        .numbers = {{"m", Number::Kind::Rows, "tokens"}},
        .options = appendOptions()};
    auto add = [&](const std::vector<Operand>& some) { t.tensors.insert(t.tensors.end(), some.begin(), some.end()); };
    add(placeOperands("turned"));
    add({{.name = "keys", .shape = {"pages", "page", "latent + turned"}, .quantisedBy = "fp8_cache", .isInPlace = true},
         weightOperand("weight", "latent")});
    add(appendMoreOperands("1"));
    add({{.name = "out", .shape = {"m", "heads", "turned"}, .isOutput = true}});
    t.isLocal = true;
    t.make = [](Team& team, const std::vector<int64_t>& s, DType dtype, const nlohmann::json& given) {
      return std::make_unique<MlaAppend>(team, s[0], s[1], s[2], s[3], s[4], CachePages{s[5], s[6], s[7]}, s[8], dtype,
                                         configOf<AppendConfig>(mla_append(), given));
    };
    return t;
  }();
  return table;
}

}  // namespace tables

MlaAppend::MlaAppend(Team& team, int64_t maxM, int64_t heads, int64_t latent, int64_t turned, int64_t seqs,
                     const CachePages& cache, int64_t turns, DType dtype, const AppendConfig& config)
    : Operator(tables::mla_append(), team,
               {maxM, heads, latent, turned, seqs, cache.pages, cache.page, cache.width, turns}, dtype, &config) {
  AppendSizes sizes{heads, 1, turned, latent, seqs, turns, turned};
  appender_ = std::make_unique<Appender>(table_, team, sizes, cache, config);
}

MlaAppend::~MlaAppend() = default;

void MlaAppend::queue(const Call& call) {
  const auto& t = call.tensors;
  appender_->launch({t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[7], t[11]}, {{}, {}, t[8]}, t[9], t[10],
                    call.numbers[0], call.stream);
}

}  // namespace tandem::ops
