// The dialect `dist`: one include for its enums and ops.
#pragma once
#include "compiler/dialect/tile/tile.h"

#include "compiler/dialect/dist/dist_enums.h.inc"
#include "compiler/dialect/dist/dist_dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/dist/dist_attrs.h.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/dist/dist_ops.h.inc"

namespace tandem::dist {

// The memory model's scope of a signal: ranks of one node and of others are equally far from a GPU.
inline tile::Scope memoryScope(CommScope scope) {
  return scope == CommScope::Gpu ? tile::Scope::Gpu : tile::Scope::Sys;
}

}  // namespace tandem::dist
