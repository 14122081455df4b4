// A role of its own for signals to other ranks and for the tiles before them: consumers go on while it waits until all
// is where it belongs.
#pragma once
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include <optional>

namespace tandem::transform::nvidia {

// The work that a signaller takes over from the program.
struct Signals {
  llvm::SmallVector<mlir::Operation*> notifies;
  llvm::SmallVector<mlir::Operation*>
      publications;  // what orders, behind the notifies, what others see; comes after they are sent
  llvm::SmallVector<tile::BlockStoreOp>
      stores;  // blocks that TMA stores, of one type of tile; nothing else touches their memory
  llvm::SmallVector<dist::WaitOp> waits;  // before the stores that add to memory, and before nothing else
  int pieces = 1;                         // a tile goes through shared memory in this many pieces of equal width

  void leaveAtomics();  // to the program: what tells of stores of its own
  void leaveStores();

  mlir::RankedTensorType tile() const;   // of the stores, without leading dimensions of size 1
  mlir::RankedTensorType piece() const;  // the tile that the buffer holds
  int64_t stagedBytes() const;           // 0 without stores
};

// Returns nothing if the program sends no signals, or if an op among them orders memory for others by itself.
std::optional<Signals> findSignals(mlir::Block& body);
// Returns true if the tiles can go in this many pieces.
bool canStage(mlir::RankedTensorType tile, int pieces, int numWarps);
// Moves the signals of the consumers into a signaller.
void delegateSignals(tgpu::WarpSpecializeOp roles, const Signals& signals);

}  // namespace tandem::transform::nvidia
