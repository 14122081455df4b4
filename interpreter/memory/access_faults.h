// The faults that checked accesses find, as reports.
#pragma once
#include "interpreter/memory/access.h"

namespace tandem::interpreter {

// "`x` is 64 bytes of symmetric memory on rank 0, allocated at ...".
Diagnostic allocationNote(const Allocation& a);

// Each reports and returns false.
bool outOfBounds(Accessor& who, Address address, uint64_t bytes, bool write);
bool useAfterFree(Accessor& who, Allocation& a, Address address, uint64_t bytes, bool write);
// `first`: the first of the `bytes` that nothing has written.
bool uninitialised(Accessor& who, Allocation& a, Address address, uint64_t bytes, uint64_t first);

}  // namespace tandem::interpreter
