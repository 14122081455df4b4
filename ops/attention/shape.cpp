// Sizes and options of attention and its gradients.
#include "ops/attention/shape.h"
#include "ops/cdiv.h"
#include "tandem/error.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace tandem::ops {
namespace {

constexpr int64_t kCopied = 16;     // bytes, of which rows that TMA copies are multiples
constexpr int64_t kStepBytes = 32;  // bytes of a row that one step of a product takes

[[noreturn]] void fail(const Table& table, const std::string& what) { throw Error("`" + table.name + "`: " + what); }

}  // namespace

std::vector<Size> attentionSizes() {
  return {{"max_rows", "the most queries, keys or sequences of a call"},
          {"hq", "heads of queries"},
          {"hkv", "heads of keys and values, each for hq / hkv heads of queries"},
          {"d", "elements of a head of queries and keys, a multiple of 8 (fp8: 16) up to 256"},
          {"dv", "elements of a head of values, as `d`"}};
}

std::vector<Number> attentionNumbers() {
  using Kind = Number::Kind;
  return {{"m", Kind::Rows, "queries of all sequences"},
          {"n", Kind::Rows, "keys of all sequences"},
          {"batch", Kind::Rows, "sequences"},
          {"longest", Kind::Rows, "queries of the longest sequence: m / batch where they are alike"}};
}

Operand cuOperand(const std::string& name) {
  return {.name = name, .shape = {"batch + 1"}, .always = DType::Int32, .givenBy = "varlen"};
}

void checkHeads(const Table& table, int64_t hq, int64_t hkv, int64_t d, int64_t dv, DType dtype) {
  constexpr int64_t kMost = 256;
  if (hq % hkv)
    fail(table, "`hq` is " + std::to_string(hq) + ", a multiple of `hkv`, " + std::to_string(hkv) + ", is needed");
  int64_t step = kCopied / byteSize(dtype);
  for (const auto& [name, elements] : {std::pair{"d", d}, std::pair{"dv", dv}})
    if (elements % step || elements > kMost)
      fail(table, "`" + std::string(name) + "` is " + std::to_string(elements) + ", a multiple of " +
                      std::to_string(step) + " up to " + std::to_string(kMost) + " is needed");
}

void checkLengths(const Table& table, const AttentionConfig& config, const std::vector<int64_t>& numbers) {
  int64_t m = numbers[0], n = numbers[1], batch = numbers[2], longest = numbers[3];
  auto each = " of each of " + std::to_string(batch) + " sequences are needed, or `varlen`";
  if (longest > m)
    fail(table, "`longest` is " + std::to_string(longest) + ", there are " + std::to_string(m) + " queries");
  if (config.varlen) return;
  if (m % batch) fail(table, "`m` is " + std::to_string(m) + ", as many queries" + each);
  if (n % batch) fail(table, "`n` is " + std::to_string(n) + ", as many keys" + each);
  if (longest != m / batch)
    fail(table,
         "`longest` is " + std::to_string(longest) + ", sequences have " + std::to_string(m / batch) + " queries");
}

namespace {

// `least`: elements of a second tile.
Parts partsOf(int64_t elements, int64_t least) {
  constexpr int64_t kLeastFirst = 64;
  int64_t first = std::max(int64_t(std::bit_floor(uint64_t(elements))), kLeastFirst);
  if (elements <= first) return {first, 0};
  int64_t second = std::max(int64_t(std::bit_ceil(uint64_t(elements - first))), least);
  return second == first ? Parts{2 * first, 0} : Parts{first, second};
}

}  // namespace

Heads headsOf(int64_t d, int64_t dv, DType dtype) {
  int64_t least = kStepBytes / byteSize(dtype);
  return {d, dv, partsOf(d, least), partsOf(dv, least)};
}

int64_t blocksAlong(const AttentionConfig& config, const AttentionCall& call, int64_t rows, int64_t each,
                    int64_t block) {
  return config.varlen ? rows / block + call.batch : cdiv(each, block);
}

AttentionTile chosen(const AttentionConfig& config, AttentionTile tile) {
  auto fill = [](int& value, int option) {
    if (option) value = option;
  };
  fill(tile.m, config.blockM);
  fill(tile.n, config.blockN);
  fill(tile.warps, config.numWarps);
  fill(tile.stages, config.numStages);
  return tile;
}

AttentionCall attentionCall(const AttentionConfig& config, const AttentionTile& tile,
                            const std::vector<int64_t>& numbers) {
  AttentionCall out{numbers[0], numbers[1], numbers[2], numbers[3], numbers[2], numbers[2], false};
  if (config.varlen) return out;
  out.queries = out.m / out.batch;
  out.keys = out.n / out.batch;
  out.isSquare = out.queries == out.keys && out.queries % tile.m == 0 && out.keys % tile.n == 0 && !config.window &&
                 (!config.causal || tile.m % tile.n == 0);
  return out;
}

Constants attentionConstants(const AttentionConfig& config, const AttentionTile& tile, bool isSquare, int64_t hq,
                             int64_t hkv, const Heads& heads) {
  return {{"HQ", hq},
          {"HKV", hkv},
          {"D", heads.d},
          {"V", heads.dv},
          {"D0", heads.ofD.first},
          {"D1", heads.ofD.second},
          {"V0", heads.ofV.first},
          {"V1", heads.ofV.second},
          {"BLOCK_M", int64_t(tile.m)},
          {"BLOCK_N", int64_t(tile.n)},
          {"VARLEN", config.varlen},
          {"CAUSAL", config.causal},
          {"TOP_LEFT", config.topLeft},
          {"WINDOW", config.window != 0},
          {"CAP", config.softcap != 0},
          {"SQUARE", isSquare}};
}

double scaleOf(const AttentionConfig& config, int64_t d) {
  return (config.scale != 0 ? config.scale : 1 / std::sqrt(double(d))) * std::numbers::log2e;
}

double capOf(const AttentionConfig& config) { return config.softcap * std::numbers::log2e; }

}  // namespace tandem::ops
