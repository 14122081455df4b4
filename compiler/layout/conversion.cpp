// Chooses the cheapest kind of conversion.
#include "compiler/layout/conversion.h"
#include "compiler/layout/gf2.h"
#include "compiler/layout/shape.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/Sequence.h>
#include <llvm/Support/MathExtras.h>
#include <limits>
#include <map>

namespace tandem::layout {
namespace {

// Costs are in the unit of `accessCost`: a shuffle takes one cycle, a select half of one, a barrier the time until the
// slowest warp is there. Narrow values are taken to be shuffled and selected packed in words.
constexpr int64_t kShuffleCost = 2, kSelectCost = 1, kBarrierCost = 32, kWarpBarrierCost = 8;

Vectors heldBy(const LinearLayout& layout, std::initializer_list<Dim> dims) {
  Vectors result;
  for (Dim dim : dims) result.append(layout.bases(dim).begin(), layout.bases(dim).end());
  return result;
}

bool sameSpan(llvm::ArrayRef<uint64_t> a, llvm::ArrayRef<uint64_t> b) {
  Span spanA(a), spanB(b);
  return spanA.dimension() == spanB.dimension() && llvm::all_of(b, [&](uint64_t v) { return spanA.contains(v); });
}

// Returns true if warps use different places of the buffer, which each round uses again. `placed` maps to offsets.
bool warpsKeepApart(const LinearLayout& placed, int64_t room) {
  auto inRoom = [&](uint64_t offset) { return offset & (room - 1); };
  Span used;
  for (uint64_t basis : heldBy(placed, {Dim::Register, Dim::Lane})) used.insert(inRoom(basis));
  return llvm::all_of(placed.bases(Dim::Warp), [&](uint64_t basis) { return used.insert(inRoom(basis)); });
}

bool staysInBlock(const LinearLayout& src, const LinearLayout& dst) {
  auto all = {Dim::Register, Dim::Lane, Dim::Warp};
  return src.bases(Dim::Block) == dst.bases(Dim::Block) && sameSpan(heldBy(src, all), heldBy(dst, all));
}

// 32-bit shuffles: values travel together when they come from the same lane.
int64_t wordsShuffled(const Shuffle& shuffle, unsigned elemBits) {
  std::map<unsigned, int64_t> stepsByLane;
  for (const Shuffle::Step& step : shuffle.steps) ++stepsByLane[step.lane];
  int64_t words = 0;
  for (auto [lane, steps] : stepsByLane) words += llvm::divideCeil(steps * elemBits, 32);
  return words;
}

int64_t shuffleCost(const Shuffle& shuffle, int64_t sourceRegisters, unsigned elemBits) {
  int64_t words = shuffle.movesLanes() ? wordsShuffled(shuffle, elemBits) : 0;
  return words * kShuffleCost + llvm::divideCeil(shuffle.numSelects(sourceRegisters) * elemBits, 32) * kSelectCost;
}

int64_t sharedCost(const ThroughShared& through, unsigned elemBits) {
  const Scratch& scratch = through.scratch;
  int64_t barrier = (through.withinWarp ? kWarpBarrierCost : kBarrierCost) * (2 * scratch.rounds - 1);
  return barrier + accessCost(through.store, scratch.store, scratch.storeVector, elemBits) +
         accessCost(through.load, scratch.load, scratch.loadVector, elemBits);
}

bool isIdentity(const RegisterPermute& permute, int64_t sourceRegisters) {
  return llvm::equal(permute.sources, llvm::seq<unsigned>(0, sourceRegisters));
}

}  // namespace

std::optional<RegisterPermute> permuteRegisters(const LinearLayout& src, const LinearLayout& dst) {
  std::optional<llvm::SmallVector<unsigned>> sources = registersFor(dst, src);
  if (!sources) return std::nullopt;
  return RegisterPermute{*sources};
}

ThroughShared throughShared(const LinearLayout& src, const LinearLayout& dst, unsigned elemBits, int64_t scratchBytes,
                            MatrixInstructions instructions) {
  ThroughShared result;
  result.scratch = conflictFree(src, dst, elemBits, scratchBytes, instructions);
  result.store = offsetsOf(src, result.scratch.offsets);
  result.load = offsetsOf(dst, result.scratch.offsets);
  auto inWarp = {Dim::Register, Dim::Lane};
  result.withinWarp = src.bases(Dim::Warp) == dst.bases(Dim::Warp) && src.freeMask(Dim::Warp) == 0 &&
                      sameSpan(heldBy(src, inWarp), heldBy(dst, inWarp)) &&
                      warpsKeepApart(result.store, result.scratch.offsets.size(Dim::Offset) / result.scratch.rounds);
  return result;
}

Conversion plan(const LinearLayout& src, const LinearLayout& dst, unsigned elemBits, int64_t scratchBytes,
                MatrixInstructions instructions) {
  if (src == dst) return NoOp{};
  if (std::optional<RegisterPermute> permute = permuteRegisters(src, dst)) {
    if (isIdentity(*permute, src.numRegisters())) return NoOp{};
    return *permute;
  }
  std::optional<Shuffle> shuffled = shuffle(src, dst);
  if (shuffled && !shuffled->movesLanes() && shuffled->numSelects(src.numRegisters()) == 0) {
    auto sources = llvm::map_range(shuffled->steps, [](const Shuffle::Step& step) { return step.source; });
    return RegisterPermute{llvm::to_vector(sources)};
  }
  if (!staysInBlock(src, dst)) return shuffled ? Conversion(*shuffled) : Conversion(AcrossBlocks{});
  ThroughShared through = throughShared(src, dst, elemBits, scratchBytes, instructions);
  if (shuffled && shuffleCost(*shuffled, src.numRegisters(), elemBits) <= sharedCost(through, elemBits))
    return *shuffled;
  return through;
}

int64_t cost(const Conversion& conversion, const LinearLayout& src, unsigned elemBits) {
  if (const auto* shuffled = std::get_if<Shuffle>(&conversion))
    return shuffleCost(*shuffled, src.numRegisters(), elemBits);
  if (const auto* through = std::get_if<ThroughShared>(&conversion)) return sharedCost(*through, elemBits);
  return std::holds_alternative<AcrossBlocks>(conversion) ? std::numeric_limits<int64_t>::max() : 0;
}

int64_t scratchBytes(const Conversion& conversion, unsigned elemBits) {
  const auto* through = std::get_if<ThroughShared>(&conversion);
  if (!through) return 0;
  return llvm::divideCeil(through->scratch.offsets.size(Dim::Offset) / through->scratch.rounds * elemBits, 8);
}

llvm::StringRef kindName(const Conversion& conversion) {
  static constexpr llvm::StringLiteral names[] = {"no_op", "register_permute", "shuffle", "through_shared",
                                                  "across_blocks"};
  return names[conversion.index()];
}

}  // namespace tandem::layout
