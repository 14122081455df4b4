// The dialect `tgpu`: one include for its attribute and ops.
#pragma once
#include "compiler/dialect/tile/tile.h"

#include "compiler/dialect/tgpu/tgpu_dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/tgpu/tgpu_attrs.h.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/tgpu/tgpu_ops.h.inc"
