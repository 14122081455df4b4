// These headers, one for each group, have the PTX instructions that LLVM has no good intrinsic for, as functions on an
// IRBuilder.
//
// Addresses in shared memory may be given as pointers to address space 3 or as 32-bit integers; global ones as pointers
// to address space 0 or 1 or as 64-bit integers. A null predicate means always. A call that all threads of a warp must
// execute together is convergent.
#pragma once
#include "compiler/codegen/nvidia/asm/async_copy.h"
#include "compiler/codegen/nvidia/asm/atomic.h"
#include "compiler/codegen/nvidia/asm/barrier.h"
#include "compiler/codegen/nvidia/asm/convert.h"
#include "compiler/codegen/nvidia/asm/divide.h"
#include "compiler/codegen/nvidia/asm/grid.h"
#include "compiler/codegen/nvidia/asm/math.h"
#include "compiler/codegen/nvidia/asm/matrix.h"
#include "compiler/codegen/nvidia/asm/memory.h"
#include "compiler/codegen/nvidia/asm/multimem.h"
#include "compiler/codegen/nvidia/asm/special.h"
#include "compiler/codegen/nvidia/asm/tma.h"
#include "compiler/codegen/nvidia/asm/warp.h"
#include "compiler/codegen/nvidia/asm/wgmma.h"
