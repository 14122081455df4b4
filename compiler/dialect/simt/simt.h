// The dialect `simt`: one include for its enums and ops.
#pragma once
#include "compiler/dialect/tile/tile.h"

#include "compiler/dialect/simt/simt_enums.h.inc"
#include "compiler/dialect/simt/simt_dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/simt/simt_attrs.h.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/simt/simt_ops.h.inc"
