// Each scan is taken by itself: what it costs where its tiles lie, and where each thread has neighbours, with the ways there
// and back. Costs are in quarter cycles of a multiprocessor for each warp: the time of one instruction on 32 bits.
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/gpu/bring_into.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/Dialect/Math/IR/Math.h>

namespace tandem::transform::gpu {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
#define GEN_PASS_DEF_LAYOUTSCANS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

int64_t wordsOf(Type element) { return llvm::divideCeil(std::max(8u, element.getIntOrFloatBitWidth()), 32); }

// The cost of combining two elements.
int64_t combineCost(tile::ScanOp scan) {
  constexpr int64_t kFunction = 12, kCall = 24;
  int64_t cost = 0;
  for (Operation& op : scan.getCombine().front().without_terminator()) {
    bool isPlain = isa<arith::ArithDialect>(op.getDialect()) && op.getResult(0).getType().isIntOrFloat();
    cost += isPlain ? wordsOf(op.getResult(0).getType()) : isa<math::MathDialect>(op.getDialect()) ? kFunction : kCall;
  }
  return cost;
}

// Returns what the bits of the position along the axis count, the lowest first.
SmallVector<Dim> placesAlong(const LinearLayout& layout, unsigned axis) {
  SmallVector<Dim> out;
  for (uint64_t bit = uint64_t(1) << layout.axisShift(axis); bit & layout.axisMask(axis); bit <<= 1)
    for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp})
      if (llvm::is_contained(layout.bases(dim), bit)) out.push_back(dim);
  return out;
}

// The cost of a scan, as it is lowered (compiler/lower/gpu/scan.cpp): a thread's neighbours one after the other, then the
// sums of lanes, warps and a thread's other parts, which are put before each element.
int64_t scanCost(tile::ScanOp scan, const LinearLayout& layout) {
  constexpr int64_t kShuffle = 4, kBarrier = 128;
  int64_t words = 0, each = combineCost(scan);
  for (Value source : scan.getSources()) words += wordsOf(getElementTypeOrSelf(source.getType()));
  SmallVector<Dim> places = placesAlong(layout, scan.getAxis());
  ArrayRef<Dim> rest = places;
  while (!rest.empty() && rest[0] == Dim::Register) rest = rest.drop_front();
  int64_t inChunk = int64_t(1) << (places.size() - rest.size()), chunks = layout.numRegisters() / inChunk;
  int64_t cost = chunks * (inChunk - 1) * each;
  if (rest.empty()) return cost;
  for (size_t i = 0; i < rest.size();) {
    size_t run = 1;
    while (rest[i] != Dim::Register && i + run < rest.size() && rest[i + run] == rest[i]) ++run;
    if (rest[i] == Dim::Lane)
      cost += chunks * (run * (each + (1 + kShuffle) * words) + each + kShuffle * words);
    else if (rest[i] == Dim::Warp)
      cost += kBarrier + chunks * ((each + 2 * words) << run);
    else
      cost += chunks * (each + words);
    i += run;
  }
  return cost + layout.numRegisters() * (each + words);
}

// The same threads' shares of the axis as runs of neighbours: the lowest bits of the position count a thread's registers,
// the next ones lanes, then warps. Nothing where the tile lies so, or is held more than once.
std::optional<LinearLayout> inRuns(const LinearLayout& layout, unsigned axis) {
  uint64_t mask = layout.axisMask(axis), next = uint64_t(1) << layout.axisShift(axis);
  LinearLayout out = layout;
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp})
    for (uint64_t& basis : out.mutableBases(dim)) {
      if (!llvm::has_single_bit(basis)) return std::nullopt;
      if (!(basis & mask)) continue;
      basis = next;
      next <<= 1;
    }
  return out.isInjective() && out.isSurjective() && out != layout ? std::optional(out) : std::nullopt;
}

// The cost of a scan's result in another layout than now: it goes back, but what is wanted in a third layout goes there.
int64_t movingCost(Value result, const LinearLayout& now, const LinearLayout& then) {
  int64_t cost = 0;
  bool goesBack = false;
  for (Operation* user : result.getUsers()) {
    auto convert = dyn_cast<tgpu::ConvertLayoutOp>(user);
    goesBack |= !convert;
    if (!convert) continue;
    const LinearLayout& wanted = tgpu::layoutOf(convert.getResult());
    cost += conversionCost(result.getType(), then, wanted) - conversionCost(result.getType(), now, wanted);
  }
  return cost + (goesBack ? conversionCost(result.getType(), then, now) : 0);
}

void layOut(tile::ScanOp scan) {
  LinearLayout now = tgpu::layoutOf(scan.getSources()[0]);
  std::optional<LinearLayout> runs = inRuns(now, scan.getAxis());
  if (!runs) return;
  int64_t moving = 0;
  for (Value tile : scan.getSources()) moving += conversionCost(tile.getType(), now, *runs);
  for (Value tile : scan.getResults()) moving += movingCost(tile, now, *runs);
  if (scanCost(scan, *runs) + moving >= scanCost(scan, now)) return;
  OpBuilder builder(scan);
  auto converted = [&](Value tile, const LinearLayout& layout) -> Value {
    Value out = tgpu::ConvertLayoutOp::create(builder, scan.getLoc(), tile.getType(), tile);
    tgpu::setLayout(out, layout);
    return out;
  };
  for (OpOperand& source : scan->getOpOperands()) source.set(converted(source.get(), *runs));
  builder.setInsertionPointAfter(scan);
  for (Value result : scan.getResults()) {
    tgpu::setLayout(result, *runs);
    Value back = converted(result, now);
    // Uses in another layout convert the scan's own result, not what has come back.
    result.replaceUsesWithIf(back, [&](OpOperand& use) {
      return use.getOwner() != back.getDefiningOp() && !isa<tgpu::ConvertLayoutOp>(use.getOwner());
    });
    if (back.use_empty()) back.getDefiningOp()->erase();
  }
}

struct LayOutScans : impl::LayOutScansBase<LayOutScans> {
  void runOnOperation() override { getOperation().walk(layOut); }
};

}  // namespace
}  // namespace tandem::transform::gpu
