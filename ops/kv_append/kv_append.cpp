// Host side of writing new keys and values to their pages.
#include "ops/kv_append/kv_append.h"
#include "ops/kv_append/appender.h"
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace tables {

const Table& kv_append() {
  static const Table table = [] {
    std::vector<std::string> cache = {"pages", "page", "kv_heads", "head_dim"}, heads = {"m", "kv_heads", "head_dim"};
    Table t{
        .name = "kv_append",
        .className = "KvAppend",
        .what =
            "Writes new keys and values to their pages, behind a norm and a turn by their positions; turns queries.",
        .sizes = {{"max_m", "the most tokens"},
                  {"heads", "of queries"},
                  {"kv_heads", "of keys and values"},
                  {"head_dim", "a multiple of 16"},
                  {"seqs", "rows of the table"},
                  {"pages", "of the cache"},
                  {"page", "keys of a page, a power of two"},
                  {"width", "the most pages of a sequence"},
                  {"turns", "positions that have angles"},
                  {"rope", "elements that are turned, an even number up to head_dim"}},
        .types = {DType::Float16, DType::BFloat16},
        .typeWords = "fp16 or bf16",
        .tensors = {{.name = "q", .shape = {"m", "heads", "head_dim"}},
                    {.name = "k", .shape = heads},
                    {.name = "v", .shape = heads}},
        .numbers = {{"m", Number::Kind::Rows, "tokens"}},
        .options = appendOptions()};
    auto add = [&](const std::vector<Operand>& some) { t.tensors.insert(t.tensors.end(), some.begin(), some.end()); };
    add(placeOperands("rope"));
    add({{.name = "keys", .shape = cache, .quantisedBy = "fp8_cache", .isInPlace = true},
         {.name = "values", .shape = cache, .quantisedBy = "fp8_cache", .isInPlace = true},
         weightOperand("q_weight", "head_dim"),
         weightOperand("k_weight", "head_dim")});
    add(appendMoreOperands("kv_heads"));
    add({{.name = "out", .shape = {"m", "heads", "head_dim"}, .isOutput = true}});
    t.isLocal = true;
    t.make = [](Team& team, const std::vector<int64_t>& s, DType dtype, const nlohmann::json& given) {
      return std::make_unique<KvAppend>(team, s[0], s[1], s[2], s[3], s[4], CachePages{s[5], s[6], s[7]}, s[8], s[9],
                                        dtype, configOf<AppendConfig>(kv_append(), given));
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
               &config) {
  AppendSizes sizes{heads, kvHeads, headDim, 0, seqs, turns, rope};
  appender_ = std::make_unique<Appender>(table_, team, sizes, cache, config);
}

KvAppend::~KvAppend() = default;

void KvAppend::queue(const Call& call) {
  const auto& t = call.tensors;
  appender_->launch({t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[13]}, {t[9], t[10], {}}, t[11], t[12],
                    call.numbers[0], call.stream);
}

}  // namespace tandem::ops
