// Counts operations by the line of the text that they come from.
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
    size_t count = 0;
    getOperation().walk([&](Operation*) { ++count; });
    if (count <= most) return;
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
    signalPassFailure();
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
