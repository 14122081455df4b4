// The product's tiles, the sums of its multiprocessors and of those beside it, the link, and what memory carries for all of
// them. Which experts tokens go to is not known here: rows are as if all experts had as many.
#include "ops/moe_rs/plan.h"
#include "ops/cdiv.h"
#include "tandem/operator.h"
#include <algorithm>

namespace tandem::ops {
namespace {

// A multiprocessor's loads for sums, the sums behind the product's end beside their bytes, what a second stream costs, and what
// L2 keeps of a part from its store to its sum. From counts of instructions and from speeds of GEMM + ReduceScatter; not measured.
constexpr double kSumBytes = 40e3, kEndUs = 8, kBesideUs = 3;
constexpr double kKept = 30e6;

}  // namespace

double predictedSums(const SumsSizes& s, const SumsPlan& plan, int resident, const model::Machine& machine) {
  double slots = double(s.m * s.topK), bytes = double(byteSize(s.dtype)), partBytes = double(byteSize(s.partType));
  double blocks = std::min(slots, slots / double(s.tileRows) + double(s.experts) / 2);
  double tiles = blocks * double(cdiv(s.n, s.tileColumns)), programs = resident - plan.beside;
  double operations = 2.0 * double(s.tileRows * s.tileColumns * s.k);
  double ofTile = operations / (machine.operations(byteSize(s.dtype)) / resident) + machine.gemmTileUs;
  double product = std::max(1.0, tiles / programs) * ofTile;

  double shares = double(s.ranks - 1) / s.ranks, results = slots * double(s.n) * partBytes;
  double sums = results + double(s.m) * double(s.n) * partBytes * shares,
         sent = double(s.m) * double(s.n) * partBytes * shares;
  double last = 1.0 / double(plan.parts), link = sent / machine.storeBytes();
  double matrices = std::min(double(s.experts), slots) * double(s.n * s.k) * bytes;
  double moved = matrices + slots * double(s.k) * bytes * double(plan.parts) + results;
  if (plan.beside && results * last > kKept) moved += results * (1 - last);
  double body = std::max(product, moved / (machine.memoryGbps * 1e3)) + (plan.beside ? kBesideUs : 0);
  double behind = sums;
  if (plan.beside) {
    body = std::max(body, link * (1 - last));
    behind = sums * last + std::max(0.0, sums * (1 - last) - body * plan.beside * kSumBytes);
    link *= last;
  }
  double rate = std::min(resident * kSumBytes, machine.memoryGbps * 1e3);
  return body + machine.launchUs + kEndUs + std::max(link, behind / rate);
}

SumsPlan planOfSums(const SumsSizes& sizes, int64_t parts, int beside, int resident, const model::Machine& machine) {
  int64_t most = std::min(kMostParts, cdiv(sizes.n, sizes.tileColumns));
  SumsPlan best{std::min(std::max<int64_t>(parts, 1), most), std::max(beside, 0)};
  double least = 0;
  for (int64_t p = parts > 0 ? best.parts : 1; p <= (parts > 0 ? best.parts : most); ++p)
    for (int b = beside < 0 ? 0 : beside; b <= (beside < 0 ? resident / 4 : beside); ++b) {
      // All parts but the last are for programs beside the product; one rank has nothing to send meanwhile.
      if ((b > 0) != (p > 1 && sizes.ranks > 1) && (beside < 0 || parts <= 0)) continue;
      double time = predictedSums(sizes, {p, b}, resident, machine);
      if (least == 0 || time < least) best = {p, b}, least = time;
    }
  if (best.parts == 1 || sizes.ranks == 1 || best.beside >= resident) best.beside = 0;
  return best;
}

}  // namespace tandem::ops
