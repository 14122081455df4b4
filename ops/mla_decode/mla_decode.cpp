// Host side of decoding with latent keys.
#include "ops/mla_decode/mla_decode.h"
#include "ops/flash_decode/decoder.h"
#include <nlohmann/json.hpp>

namespace tandem::ops {
namespace tables {

const Table& mla_decode() {
  static const Table table = [] {
    Table t{.name = "mla_decode",
            .className = "MlaDecode",
            .what = "Attention of q_len new queries a sequence over latent keys in pages, which all heads share.",
            .sizes = {{"max_m", "the most sequences"},
                      {"q_len", "queries of a sequence, 1 to 8"},
                      {"heads", "of queries"},
                      {"latent", "elements of a key that are its value too: 64, 128, 256 or 512"},
                      {"turned", "elements behind them: 32, 64 or 128"},
                      {"pages", "of the cache"},
                      {"page", "keys of a page, a power of two"},
                      {"width", "the most pages of a sequence"}},
            .types = {DType::Float16, DType::BFloat16},
            .typeWords = "fp16 or bf16",
            .tensors = {{.name = "q", .shape = {"m", "q_len", "heads", "latent"}},
                        {.name = "q_turned", .shape = {"m", "q_len", "heads", "turned"}},
                        {.name = "keys", .shape = {"pages", "page", "latent + turned"}, .quantisedBy = "fp8_cache"}},
            .numbers = {{"m", Number::Kind::Rows, "sequences"}},
            .options = decodeOptions()};
    for (const std::vector<Operand>& some : {pageOperands(), moreOperands("1")})
      t.tensors.insert(t.tensors.end(), some.begin(), some.end());
    t.tensors.push_back({.name = "out", .shape = {"m", "q_len", "heads", "latent"}, .isOutput = true});
    t.make = [](Team& team, const std::vector<int64_t>& s, DType dtype, const nlohmann::json& given) {
      return std::make_unique<MlaDecode>(team, s[0], s[1], s[2], s[3], s[4], CachePages{s[5], s[6], s[7]}, dtype,
                                         configOf<DecodeConfig>(mla_decode(), given));
    };
    return t;
  }();
  return table;
}

}  // namespace tables

MlaDecode::MlaDecode(Team& team, int64_t maxM, int64_t qLen, int64_t heads, int64_t latent, int64_t turned,
                     const CachePages& cache, DType dtype, const DecodeConfig& config)
    : Operator(tables::mla_decode(), team, {maxM, qLen, heads, latent, turned, cache.pages, cache.page, cache.width},
               dtype, &config) {
  decoder_ = std::make_unique<Decoder>(table_, team, memory_, DecodeSizes{maxM, qLen, heads, 1, latent, turned}, cache,
                                       dtype, config);
}

MlaDecode::~MlaDecode() = default;

void MlaDecode::queue(const Call& call) {
  const auto& t = call.tensors;
  decoder_->launch({t[0], t[1], t[2], t[2], t[3], t[4], t[9]}, {t[5], t[6], t[7], t[8]}, call.numbers[0], call.stream);
}

}  // namespace tandem::ops
