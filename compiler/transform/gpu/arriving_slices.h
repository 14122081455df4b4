// Waits within loops: for memory whose rows arrive in slices of columns, in the loop that goes through them, and for rows, in a loop that
// goes through these.
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
  // A load of which each iteration of the loop around it reads other rows: the chunks of `range`, made in front of it.
  void addRows(dist::ArrivingOp memory, mlir::Operation* load, const ElementRange& range);
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

  struct Rows {
    dist::ArrivingOp memory;
    mlir::Operation* load;
    ElementRange range;
  };
  void awaitSlices(Sliced& sliced);
  void awaitRows(Rows& rows);

  std::vector<Sliced> all_;
  std::vector<Rows> rows_;
};

}  // namespace tandem::transform::gpu
