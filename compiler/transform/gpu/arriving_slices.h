// Waits for memory whose rows arrive in slices of columns, within the loop that goes through them.
#pragma once
#include "compiler/dialect/dist/dist.h"
#include "compiler/transform/gpu/travelling.h"

namespace tandem::transform::gpu {

// The value of a chunk's word when the slice of its column `last` is there.
mlir::Value reachedSlice(mlir::OpBuilder& builder, mlir::Location where, dist::ArrivingOp memory, mlir::Value last);

class ArrivingSlices {
 public:
  // A load that may wait for its slices one by one, as the loop around it comes to their columns. The chunks are those that it touches in
  // all iterations, known at `place`: one wait in front of it would serve them all.
  void add(dist::ArrivingOp memory, const TravellingAccess& load, mlir::Operation* place);
  // Puts the waits into the loops, which are made anew.
  void await();

 private:
  // The words of the chunks, from `first` on `count` of them.
  struct Words {
    mlir::Value first, count;
  };
  struct Sliced {
    dist::ArrivingOp memory;
    mlir::Operation* load;
    mlir::Value last;  // the last column that an iteration reads
    llvm::SmallVector<Words, 2> words;
  };

  std::vector<Sliced> all_;
};

}  // namespace tandem::transform::gpu
