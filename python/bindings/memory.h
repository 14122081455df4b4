// The memory behind an argument of a kernel, as far as its framework tells.
#pragma once
#include "gpu_launcher.h"

namespace tandem::bindings {

// Returns true if two arguments (tensors, objects around one, host descriptors) are known to be of memory apart: their
// storages, of which they may be any parts, do not overlap. No exception is set.
bool areApart(PyObject* a, PyObject* b);

}  // namespace tandem::bindings
