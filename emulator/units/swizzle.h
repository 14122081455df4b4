// The swizzles of shared memory: within a pattern of 8 rows, each of `span` bytes, the 16-byte pieces of a row change
// places by the row's number. Source: PTX ISA, "Swizzling modes".
#pragma once
#include <cstdint>

namespace tandem::emulator {

// The address at which a byte is whose address would be `address` without the swizzle. `span`: 128, 64 or 32 bytes; 16
// stands for none.
inline uint32_t swizzled(uint32_t address, unsigned span) { return address ^ ((address >> 7 & (span / 16 - 1)) << 4); }

// The bytes after which a swizzle begins anew.
inline uint32_t swizzlePeriod(unsigned span) { return span == 16 ? 16 : span * 8; }

}  // namespace tandem::emulator
