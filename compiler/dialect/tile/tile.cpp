// Registers the dialect `tile`.
#include "compiler/dialect/tile/tile.h"
#include "compiler/dialect/tile/inline_anywhere.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>

using namespace mlir;

#include "compiler/dialect/tile/tile_dialect.cpp.inc"
#include "compiler/dialect/tile/tile_enums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/tile/tile_types.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/tile/tile_attrs.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/tile/tile_ops.cpp.inc"

void tandem::tile::TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialect/tile/tile_attrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/dialect/tile/tile_types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/tile/tile_ops.cpp.inc"
      >();
  addInterfaces<tandem::tile::InlineAnywhere>();
}
