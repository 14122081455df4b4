// Layouts pass through operations that move no data: forwards (`inferX`: the result's layout from the source's) and
// backwards (`inferXSource`: a layout of the source from which each thread can make its part of the result alone).
// Lowering needs no case per operation: send the result's positions to the source's (`registersFor` below).
#pragma once
#include "compiler/layout/linear_layout.h"

namespace tandem::layout {

// The result of a reduction along `axis`: the axis is gone, threads that differed only along it hold copies (zero
// bases).
LinearLayout slice(const LinearLayout& source, unsigned axis);

// The same with the elements of a thread dealt out to those that would hold copies of them in its warp, the lowest
// register bit by the highest bit of lanes, as far as there are both.
LinearLayout dealtSlice(const LinearLayout& source, unsigned axis);

LinearLayout inferExpandDims(const LinearLayout& source, unsigned axis);
LinearLayout inferExpandDimsSource(const LinearLayout& result, unsigned axis);

// Result dimension `i` is source dimension `order[i]`.
LinearLayout inferPermute(const LinearLayout& source, llvm::ArrayRef<unsigned> order);
LinearLayout inferPermuteSource(const LinearLayout& result, llvm::ArrayRef<unsigned> order);

LinearLayout inferReshape(const LinearLayout& source, llvm::ArrayRef<int64_t> shape);
LinearLayout inferReshapeSource(const LinearLayout& result, llvm::ArrayRef<int64_t> shape);

// Dimensions of size 1 grow to those of `shape`; the new positions go to new registers, the lowest ones for the last
// dimension.
LinearLayout inferBroadcast(const LinearLayout& source, llvm::ArrayRef<int64_t> shape);
LinearLayout inferBroadcastSource(const LinearLayout& result, llvm::ArrayRef<int64_t> shape);

// join(a, b) is [..., 2]. The result's new dimension is register bit 0.
LinearLayout inferJoin(const LinearLayout& source);
LinearLayout inferJoinSource(const LinearLayout& result);
// split of [..., 2]. Nothing if a thread does not hold both elements of each pair: convert to `inferSplitSource` of
// some layout first.
std::optional<LinearLayout> inferSplit(const LinearLayout& source);
LinearLayout inferSplitSource(const LinearLayout& result);

// cat of two equal tensors along dimension 0, elements in order. The second half goes to the highest register bit.
LinearLayout inferCat(const LinearLayout& source);
LinearLayout inferCatSource(const LinearLayout& result);

// Returns for each register of `wanted` the register of `held` with the same position in the same thread; nothing if
// some thread lacks one. Both have the same shape. To lower, say, a broadcast: `wanted` is the result's layout with
// each basis sent to the source's position (`projectBroadcast`), and its registers are the result's.
std::optional<llvm::SmallVector<unsigned>> registersFor(const LinearLayout& wanted, const LinearLayout& held);

// The result's layout with positions of the source, register for register (zero bases kept).
LinearLayout projectBroadcast(const LinearLayout& result, llvm::ArrayRef<int64_t> sourceShape);
LinearLayout projectSlice(const LinearLayout& source, unsigned axis);
LinearLayout projectJoin(const LinearLayout& result);  // which operand: bit 0 of the result's position
LinearLayout projectCat(const LinearLayout& result);   // which operand: the highest bit of the result's position

}  // namespace tandem::layout
