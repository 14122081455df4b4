// Host side of decoding with heads of keys and values.
#include "ops/flash_decode/flash_decode.h"
#include "ops/flash_decode/decoder.h"
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace tables {

const Table& flash_decode() {
  static const Table table = [] {
    std::vector<std::string> cache = {"pages", "page", "kv_heads", "head_dim"};
    Table t{.name = "flash_decode",
            .className = "FlashDecode",
            .what = "Attention of q_len new queries a sequence over its keys and values in pages.",
            .sizes = {{"max_m", "the most sequences"},
                      {"q_len", "queries of a sequence, 1 to 8"},
                      {"heads", "of queries"},
                      {"kv_heads", "of keys and values"},
                      {"head_dim", "a multiple of 8 (with `fp8_cache` of 16) from 32 to 256"},
                      {"pages", "of the cache"},
                      {"page", "keys of a page, a power of two"},
                      {"width", "the most pages of a sequence"}},
            .types = {DType::Float16, DType::BFloat16},
            .typeWords = "fp16 or bf16",
            .tensors = {{.name = "q", .shape = {"m", "q_len", "heads", "head_dim"}},
                        {.name = "keys", .shape = cache, .quantisedBy = "fp8_cache"},
                        {.name = "values", .shape = cache, .quantisedBy = "fp8_cache"}},
            .numbers = {{"m", Number::Kind::Rows, "sequences"}},
            .options = decodeOptions()};
    for (const std::vector<Operand>& some : {pageOperands(), moreOperands("kv_heads")})
      t.tensors.insert(t.tensors.end(), some.begin(), some.end());
    t.tensors.push_back({.name = "out", .shape = {"m", "q_len", "heads", "head_dim"}, .isOutput = true});
    t.make = [](Team& team, const std::vector<int64_t>& s, DType dtype, const nlohmann::json& given) {
      return std::make_unique<FlashDecode>(team, s[0], s[1], s[2], s[3], s[4], CachePages{s[5], s[6], s[7]}, dtype,
                                           configOf<DecodeConfig>(flash_decode(), given));
    };
    return t;
  }();
  return table;
}

}  // namespace tables

FlashDecode::FlashDecode(Team& team, int64_t maxM, int64_t qLen, int64_t heads, int64_t kvHeads, int64_t headDim,
                         const CachePages& cache, DType dtype, const DecodeConfig& config)
    : Operator(tables::flash_decode(), team,
               {maxM, qLen, heads, kvHeads, headDim, cache.pages, cache.page, cache.width}, dtype, &config) {
  DecodeSizes sizes{maxM, qLen, heads, kvHeads, headDim, 0};
  decoder_ = std::make_unique<Decoder>(table_, team, memory_, sizes, cache, dtype, config);
}

FlashDecode::~FlashDecode() = default;

void FlashDecode::queue(const Call& call) {
  const auto& t = call.tensors;
  decoder_->launch({t[0], t[0], t[1], t[2], t[3], t[4], t[9]}, {t[5], t[6], t[7], t[8]}, call.numbers[0], call.stream);
}

}  // namespace tandem::ops
