// Lets the inliner move a dialect's ops into any region: none of ours depends on the function that holds it.
#pragma once
#include <mlir/Transforms/InliningUtils.h>

namespace tandem::tile {

struct InlineAnywhere : mlir::DialectInlinerInterface {
  using mlir::DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(mlir::Operation*, mlir::Region*, bool, mlir::IRMapping&) const override { return true; }
  bool isLegalToInline(mlir::Region*, mlir::Region*, bool, mlir::IRMapping&) const override { return true; }
};

}  // namespace tandem::tile
