// Finds the kernel's argument from which a pointer was made.
#pragma once
#include "interpreter/memory/access.h"

namespace tandem::interpreter {

// "; the pointer comes from argument `x_ptr`, which is `x` of rank 0": of the instruction that accesses memory. Empty
// when it is no single argument's, or nobody's instruction. A block's access also has the tensor's shape and strides.
std::string pointerOrigin(const Accessor& who, bool write);

}  // namespace tandem::interpreter
