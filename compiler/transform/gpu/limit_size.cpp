// Counts operations by the line of the text that they come from, and what a thread has of each tile.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/gpu/passes.h"
#include <algorithm>
#include <map>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_LIMITSIZE
#include "compiler/transform/gpu/passes.h.inc"
namespace {

using FileAndLine = std::pair<StringRef, unsigned>;

FileAndLine innermost(Location loc) {
  auto at = loc->findInstanceOf<FileLineColRange>();
  return at ? FileAndLine(at.getFilename().getValue(), at.getStartLine()) : FileAndLine();
}

struct LimitSize : impl::LimitSizeBase<LimitSize> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (!haveFewOperations() || !areTilesSmall()) signalPassFailure();
  }

  bool haveFewOperations() {
    size_t count = 0;
    getOperation().walk([&](Operation*) { ++count; });
    if (count <= most) return true;
    std::map<FileAndLine, std::pair<size_t, Operation*>> lines;
    getOperation().walk([&](Operation* op) {
      auto& [ofLine, first] = lines[innermost(op->getLoc())];
      if (!ofLine++) first = op;
    });
    auto isLess = [](auto& a, auto& b) { return a.second.first < b.second.first; };
    auto [ofLine, at] = std::max_element(lines.begin(), lines.end(), isLess)->second;
    at->emitError() << "the kernel is too large for a GPU: it has " << count
                    << " operations after unrolling and inlining, of which at most " << most.getValue()
                    << " are compiled, and " << ofLine
                    << " come from this line; loops by `range`, or tiles in place of single elements, make it shorter";
    return false;
  }

  bool areTilesSmall() {
    const int64_t warps = tile::numWarps(getOperation()), threads = warps * lanes * blocks;
    WalkResult end = getOperation().walk([&](Operation* op) {
      for (Type type : op->getResultTypes()) {
        auto tile = dyn_cast<RankedTensorType>(type);
        if (!tile || tile.getNumElements() <= threads * mostHeld) continue;
        op->emitError() << "a tile of " << tile.getNumElements() << " elements is too large for " << warps
                        << (warps == 1 ? " warp" : " warps") << " on a GPU: a thread would hold "
                        << tile.getNumElements() / threads << " of them, of which at most " << mostHeld.getValue()
                        << " are compiled; a loop over smaller tiles, or more `num_warps`, lets it hold fewer";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return !end.wasInterrupted();
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
