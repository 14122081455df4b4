// Memory that arrives or leaves while a kernel runs: what `await-arrivals` and `tell-departures` have in common.
#pragma once
#include "compiler/transform/gpu/footprint.h"

namespace tandem::transform::gpu {

// A load or a store of it, and its footprint.
struct TravellingAccess {
  mlir::Operation* op;
  analysis::StridedAccess access;
};

// What errors say: of memory whose address decides what the kernel does, of an op that may not use it, and of an access whose place the
// compiler cannot tell.
struct TravellingErrors {
  llvm::StringRef decides, forbidden, noBox;
};

// Returns the accesses through the pointer that `memory`, an op of the dialect `dist`, gives. Otherwise there is an error at the line of
// the first that `mayUse` refuses, or that is no strided access of this memory, and nothing is returned.
std::optional<std::vector<TravellingAccess>> accessesOf(mlir::Operation* memory, const TravellingErrors& errors,
                                                        llvm::function_ref<bool(mlir::Operation*)> mayUse);

// Makes a `for` of each `while` that counts, so that loops which deal tiles out are known as such. Returns whether there was one.
bool countLoops(mlir::func::FuncOp kernel);

// Atomic updates of which no program learns the old value: nobody waits by them.
llvm::SetVector<mlir::Operation*> unreadUpdates(mlir::func::FuncOp kernel);

// An error at the line of an access, with a note at the memory.
mlir::InFlightDiagnostic refuse(mlir::Operation* access, mlir::Operation* memory, llvm::StringRef why);

// The words of the memory's chunks, of which each has `chunk` elements.
struct Chunks {
  mlir::Value words, chunk, count;
};

// The first chunk that the range touches, and the one behind its last.
std::pair<mlir::Value, mlir::Value> chunksIn(mlir::OpBuilder& builder, mlir::Location where, const ElementRange& range,
                                             const Chunks& chunks);

// A loop over the words of the chunks that the range touches. `body` makes what is done for each, from the word and the value that the
// loop carries, and returns its next value; `first` and both of these may be null: it carries nothing. Returns the last.
mlir::Value eachChunk(mlir::OpBuilder& builder, mlir::Location where, const ElementRange& range, const Chunks& chunks,
                      mlir::Value first,
                      llvm::function_ref<mlir::Value(mlir::OpBuilder&, mlir::Value, mlir::Value)> body);
// The same over the words of the chunks from `begin` to the one before `end`.
mlir::Value eachChunk(mlir::OpBuilder& builder, mlir::Location where, mlir::Value begin, mlir::Value end,
                      mlir::Value words, mlir::Value first,
                      llvm::function_ref<mlir::Value(mlir::OpBuilder&, mlir::Value, mlir::Value)> body);

// The word behind those of all chunks.
template <class Op>
mlir::Value wordBehind(Op memory) {
  mlir::OpBuilder builder(memory);
  return tile::AddPtrOp::create(builder, memory.getLoc(), memory.getWords(), memory.getChunks());
}

// The ops of one kind in a kernel.
template <class Op>
llvm::SmallVector<Op> opsOf(mlir::func::FuncOp kernel) {
  llvm::SmallVector<Op> ops;
  kernel.walk([&](Op op) { ops.push_back(op); });
  return ops;
}

}  // namespace tandem::transform::gpu
