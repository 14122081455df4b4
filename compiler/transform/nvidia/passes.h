// The passes of passes.td: constructors, options, and registration for tools.
#pragma once
#include "compiler/transform/gpu/passes.h"

namespace tandem::transform::nvidia {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/transform/nvidia/passes.h.inc"

}  // namespace tandem::transform::nvidia
