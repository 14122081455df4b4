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

[[noreturn]] void fail(const Table& table, const std::string& what) { throw Error("`" + table.name + "`: " + what); }

}  // namespace

std::vector<Size> attentionSizes() {
  return {{"max_rows", "the most queries, keys or sequences of a call"},
          {"hq", "heads of queries"},
          {"hkv", "heads of keys and values, each for hq / hkv heads of queries"},
          {"d", "elements of a head of queries and keys: 64, 80, 96, 128, 192 or 256"},
          {"dv", "elements of a head of values: the same, or 128 for a d of 192"}};
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

void checkHeads(const Table& table, int64_t hq, int64_t hkv, int64_t d, int64_t dv) {
  if (hq % hkv)
    fail(table, "`hq` is " + std::to_string(hq) + ", a multiple of `hkv`, " + std::to_string(hkv) + ", is needed");
  if (d != 64 && d != 80 && d != 96 && d != 128 && d != 192 && d != 256)
    fail(table, "`d` is " + std::to_string(d) + ", 64, 80, 96, 128, 192 or 256 is needed");
  int64_t wanted = d == 192 ? 128 : d;
  if (dv != wanted)
    fail(table, "`dv` is " + std::to_string(dv) + ", " + std::to_string(wanted) + " is needed where `d` is " +
                    std::to_string(d));
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

Parts partsOf(int64_t elements) {
  auto first = int64_t(std::bit_floor(uint64_t(elements)));
  return {first, elements - first};
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
                             int64_t hkv, int64_t d, int64_t dv) {
  Parts ofD = partsOf(d), ofV = partsOf(dv);
  return {{"HQ", hq},
          {"HKV", hkv},
          {"D0", ofD.first},
          {"D1", ofD.second},
          {"V0", ofV.first},
          {"V1", ofV.second},
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
