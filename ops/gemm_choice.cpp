// All ways of an operator's model, with all tiles, put in order by the model's time.
#include "ops/gemm_choice.h"
#include "compiler/target/target_info.h"
#include "ops/gemm_tiles.h"
#include "ops/product/library_time.h"
#include "ops/product_time.h"
#include <algorithm>

namespace tandem::ops {
namespace {

using model::Machine;

constexpr int kGroupInBands = 4;  // follows the rows as they come more closely
// With more tiles than these, slices gain nothing: how the first tiles begin and the last ones end no longer counts.
constexpr int64_t kTilesWorthSlicing = 3000;
// With pieces only the quickest ways without are tried.
constexpr size_t kWaysWorthCutting = 6;
// A copy more, where nobody waits for it: the link's and the host's.
constexpr double kSpareCopyUs = .3;

bool hasBlockCopies(const std::string& target) {
  const target::TargetInfo* known = target::TargetInfo::find(target);
  return known && known->hasTma();
}

int64_t tilesOfShard(const GemmSizes& sizes, const GemmConfig& config) {
  return cdiv(shardRows(sizes.m, sizes.ranks), config.blockM) * cdiv(sizes.n, config.blockN);
}

size_t copiesOf(const Slices& slices) {
  size_t count = 0;
  for (const std::vector<int>& copies : slices.copies) count += copies.size();
  return count;
}

std::vector<GemmChoice> inOrder(std::vector<GemmChoice> choices, bool keepsFirst) {
  std::vector<std::pair<double, size_t>> costs;
  for (const GemmChoice& c : choices)
    costs.emplace_back(c.microseconds + kSpareCopyUs * double(copiesOf(c.slices)), costs.size());
  std::sort(costs.begin() + keepsFirst, costs.end());
  std::vector<GemmChoice> out;
  for (auto [cost, at] : costs) out.push_back(std::move(choices[at]));
  return out;
}

}  // namespace

int64_t tileCount(const GemmSizes& sizes, const GemmConfig& config) {
  return cdiv(sizes.m, shardRows(sizes.m, sizes.ranks)) * tilesOfShard(sizes, config);
}

bool copiesBlocks(std::initializer_list<MatrixRows> all, DType operands, bool bTransposed, const std::string& target) {
  bool fits = std::ranges::all_of(all, [](const MatrixRows& m) { return m.address % 16 == 0 && m.bytes % 16 == 0; });
  if (!fits || target == "sim") return fits;
  return hasBlockCopies(target) && operands != DType::Float32 && (byteSize(operands) > 1 || bTransposed);
}

double predicted(const GemmModel& model, const GemmSizes& sizes, const GemmChoice& choice, double rate, int resident,
                 const Machine& machine) {
  return model.microseconds(sizes, choice, productTime(sizes, choice.config, rate, resident, machine), machine);
}

std::vector<GemmChoice> choices(const GemmModel& model, const GemmConfig& given, const GemmSizes& sizes,
                                const GemmPlace& place, const Machine& machine) {
  checkLibrary(given, sizes);
  if (model.check) model.check(given, sizes, place, machine);
  auto waysOf = [&](auto ways) { return ways ? ways(given, sizes, place, machine) : std::vector<GemmChoice>(); };
  std::vector<GemmChoice> out, few, ofOperators = waysOf(model.ofOperators);
  if (!ofOperators.empty() && (given.library > 0 || given.scattered > 0)) return inOrder(std::move(ofOperators), false);
  few = waysOf(model.ofFewRows);
  few.insert(few.end(), ofOperators.begin(), ofOperators.end());
  if (!model.microseconds || (given.fewRows > 0 && !few.empty())) return inOrder(std::move(few), false);
  std::vector<Slices> all = model.waysToSlice(sizes, given, place, machine);
  std::vector<std::pair<int, int>> seen;
  for (const Tile& tile : tilesFor(model.hasUnevenTiles, sizes.dtype, place)) {
    GemmConfig config = filled(given, tile, place);
    if (std::find(seen.begin(), seen.end(), std::pair(config.blockM, config.blockN)) != seen.end()) continue;
    seen.emplace_back(config.blockM, config.blockN);
    size_t sliced = tileCount(sizes, config) > kTilesWorthSlicing ? 1 : all.size();
    std::vector<int> cuts = model.waysToCut(config, sizes, place);
    auto consider = [&](int chunks, const Slices& way, int pieces) {
      GemmChoice& choice = out.emplace_back(config, way);
      choice.config.chunks = chunks;
      choice.config.fewRows = 0;
      if (way.count) choice.config.bands = int(way.bands);
      if (!given.group && way.bands > 1) choice.config.group = kGroupInBands;
      choice.config.pieces = pieces;
      choice.microseconds =
          predicted(model, sizes, choice, rateOf(config, sizes.dtype, place), place.residentPrograms, machine);
    };
    for (int chunks : model.waysToSend(config, sizes, place)) {
      size_t first = out.size();
      for (size_t i = 0; i < sliced; ++i) consider(chunks, all[i], cuts.front());
      std::vector<GemmChoice> best(out.begin() + int64_t(first), out.end());
      std::sort(best.begin(), best.end(),
                [](const GemmChoice& a, const GemmChoice& b) { return a.microseconds < b.microseconds; });
      best.resize(std::min(best.size(), kWaysWorthCutting));
      for (const GemmChoice& way : best)
        for (size_t i = 1; i < cuts.size(); ++i) consider(chunks, way.slices, cuts[i]);
    }
  }
  out.insert(out.end(), few.begin(), few.end());
  return inOrder(std::move(out), place.target == "sim");
}

}  // namespace tandem::ops
