// The ops of all dialects say in these words what they do to memory that others see and to the program's threads.
// docs/spec/memory_model.md has the rules M1 to M16.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <mlir/IR/OpDefinition.h>
#include <optional>

#include "compiler/dialect/tile/tile_enums.h.inc"

namespace tandem::tile {

enum class Memory {
  Global,  // wherever a pointer leads outside of shared memory
  Peer,    // memory of the rank, or the ranks, that the op names
  Shared,  // the program's shared memory
};

// An access is kept in order with other accesses of its program by one of these.
enum class AccessOrder {
  Program,  // its place in the program, whichever threads make it (M1)
  Thread,   // its place among its thread's own accesses (M1)
  Rule,     // the rule of its op alone (M5 to M12, M16)
};

struct MemoryAccess {
  mlir::Value address;  // a pointer, a tile of them or a shared-memory buffer; null: not known
  Memory memory = Memory::Global;
  AccessOrder order = AccessOrder::Program;
  bool reads = false, writes = false;
  bool strong = false;  // an atomic, a signal, a look at one, or another access that synchronises
};

// The threads of a program that all come to an op before any of their accesses behind it. Each value has those above it
// in it, but for `Callers`.
enum class Meeting {
  None,
  Some,     // the threads that the op names: a warp, lanes, or a part of the block
  Callers,  // the block, or all blocks, where the op acts for the program; a group where each group acts for itself
  Block,    // the block
  Program,  // all blocks of the program's cluster
};

struct Concurrency {
  llvm::SmallVector<MemoryAccess, 2> accesses;
  Meeting meets = Meeting::None;
  bool meetsAgain = false;   // after its accesses, as before
  bool meetsOthers = false;  // does not end before other programs or ranks have come to their part of it
  bool waits = false;        // does not end before a signal compares true (M6)
  bool repeats = false;      // acts for each group that comes to it, in a kernel with code of single threads
  bool completes = false;    // the program's stores by an asynchronous unit are done before those who meet go on
  std::optional<Scope> releases, acquires;  // for whom it orders accesses before it, and after it (M4)
};

// Returns true if the program's own memory and threads are all that the op has to do with, and no threads meet in it.
bool isPrivate(const Concurrency& concurrency);

// Returns what `op` does, of an op that has effects of its own; nothing if it is another dialect's.
std::optional<Concurrency> concurrencyOf(mlir::Operation* op);

// The op's results may differ from thread to thread though its operands do not.
template <class Op>
class VariesByThread : public mlir::OpTrait::TraitBase<Op, VariesByThread> {};

// Returns true if that is so of `op`, or if its inline assembly reads something that no two threads have in common.
bool variesByThread(mlir::Operation* op);

// A pointer in the result leads into the memory that the pointer in the first operand leads into.
template <class Op>
class DerivesPointer : public mlir::OpTrait::TraitBase<Op, DerivesPointer> {};

}  // namespace tandem::tile
