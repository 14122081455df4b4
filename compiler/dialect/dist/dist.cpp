// Registers the dialect `dist`.
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tile/inline_anywhere.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>

using namespace mlir;

#include "compiler/dialect/dist/dist_dialect.cpp.inc"
#include "compiler/dialect/dist/dist_enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/dist/dist_attrs.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/dist/dist_ops.cpp.inc"

void tandem::dist::DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialect/dist/dist_attrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/dist/dist_ops.cpp.inc"
      >();
  addInterfaces<tandem::tile::InlineAnywhere>();
}

// What reads the number needs no op: only `check-signals`, which runs before any folding, asks whether it is one.
OpFoldResult tandem::dist::CallNumberOp::fold(FoldAdaptor) { return getNumber(); }
