// The dialect `tile`: one include for its types, enums and ops.
#pragma once
#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/IR/TypeUtilities.h>
#include <mlir/Interfaces/ControlFlowInterfaces.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "compiler/dialect/tile/concurrency.h"

#include "compiler/dialect/tile/tile_concurrency.h.inc"
#include "compiler/dialect/tile/tile_dialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/tile/tile_types.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/tile/tile_attrs.h.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/tile/tile_ops.h.inc"

namespace tandem::tile {
// Returns the number of elements of K that a scale of `dot_scaled` serves: 16 for an e4m3 number, 32 for an e8m0
// exponent.
int64_t elementsPerScale(mlir::Value scale);
}  // namespace tandem::tile
