// A ring plan holds the loads that select-products makes through one ring; the functions compare plans.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include "compiler/remark/remark.h"
#include "compiler/transform/nvidia/copied_loads.h"
#include <llvm/ADT/MapVector.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::nvidia {

// Loads that one ring serves: they are in one block and the same products read them.
struct RingPlan {
  llvm::SmallVector<tile::BlockLoadOp> loads;
  llvm::SmallVector<tile::DotOp> dots;  // in the order of the program
  // of the loads and products. Null: the products are in loops behind the loads, and there is one slot, or two where these repeat
  mlir::scf::ForOp loop;
  int64_t bytes = 0, slots = 1;
  int owner = -1;  // the plan whose ring and buffers these are; another loop's, which has ended, or its own
  llvm::SmallVector<unsigned> places;  // of the loads among the owner's, whose buffers they fill
  mlir::Value ring;
  llvm::SmallVector<mlir::Value, 2> buffers;  // one a load
  llvm::SmallVector<CopiedLoad, 0>
      gathered;  // that the producer's threads copy to the same slots, 16 bytes each at once
  llvm::SmallVector<mlir::Value, 1> gatheredBuffers;

  bool gathers(mlir::Operation* load) const {
    return llvm::any_of(gathered, [&](const CopiedLoad& c) { return tile::LoadOp(c.load).getOperation() == load; });
  }
};

// All plans of a kernel.
struct RingPlans {
  llvm::SmallVector<RingPlan, 0> rings;
  llvm::MapVector<mlir::Operation*, remark::Reason> refused;  // blocks that products read and TMA does not copy

  bool haveLoop() const {
    return llvm::any_of(rings, [](const RingPlan& p) { return p.loop != nullptr; });
  }
  bool haveGathered() const {
    return llvm::any_of(rings, [](const RingPlan& p) { return !p.gathered.empty(); });
  }
  // Leaves the gathered loads to the threads that multiply; returns true if there were any.
  bool leaveGathered();
  // Gives up all rings.
  void drop(const remark::Reason& why);
};

// or the same
inline bool isNested(mlir::scf::ForOp a, mlir::scf::ForOp b) { return a->isAncestor(b) || b->isAncestor(a); }

// Returns true if one plan's last read of a slot comes before the other's first fill.
bool areInTurn(const RingPlan& a, const RingPlan& b);

// Gives `into` the loads and products of `other` too; both are of one loop.
void join(RingPlan& into, const RingPlan& other);

// Finds a place for each of the plan's loads, in their order, among those of `owner` that bring tiles of its type; both
// have the same gathered tiles. Nothing where one finds none.
std::optional<llvm::SmallVector<unsigned>> placesIn(const RingPlan& owner, const RingPlan& plan);

// Returns true if nothing uses the products before the loop ends, and the ring holds all that they read. Another
// operand's buffer or registers would be filled anew by the next iteration, while this one's product still reads them.
bool onlyAccumulates(const RingPlan& plan);

// Returns true if the products of an iteration can be under way while the next one's start: they only accumulate, and
// no other ring of `rings` is filled while the plan's loop runs.
bool canStayUnderWay(const RingPlan& plan, llvm::ArrayRef<RingPlan> rings);

}  // namespace tandem::transform::nvidia
