// Registers the dialect `simt`.
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tile/inline_anywhere.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>

using namespace mlir;

#include "compiler/dialect/simt/simt_dialect.cpp.inc"
#include "compiler/dialect/simt/simt_enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/simt/simt_attrs.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/simt/simt_ops.cpp.inc"

void tandem::simt::SimtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialect/simt/simt_attrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/simt/simt_ops.cpp.inc"
      >();
  addInterfaces<tandem::tile::InlineAnywhere>();
}
