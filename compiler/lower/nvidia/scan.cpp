// Not written yet.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
}  // namespace tandem::lower::nvidia
