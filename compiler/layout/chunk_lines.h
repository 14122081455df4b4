// Which rows of a buffer have their 16-byte chunks in other places, where nothing but threads reaches it.
#pragma once
#include "compiler/layout/shared.h"

namespace tandem::layout {

// A read of all registers of a layout.
using Reads = llvm::ArrayRef<LinearLayout>;

// `offsets` as swizzledOffsets gives them for lines of 128 bytes. Returns them with each bit of a chunk's number XORed with the bit of
// the line's number that leaves `reads` the fewest passes through the banks: TMA and wgmma know the lowest bits only, and warps that
// read every fourth line, or one word of each, meet in the same banks.
LinearLayout withFewestPasses(const LinearLayout& offsets, Reads reads, unsigned elemBits);

}  // namespace tandem::layout
