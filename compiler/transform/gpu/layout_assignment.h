// The four steps by which each tile of a kernel gets its layout, as passes.td has them; a file for each construct.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/layout/distributed.h"
#include "compiler/transform/gpu/anchor_layouts.h"
#include "compiler/transform/gpu/bring_into.h"
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/transform/gpu/loads_together.h"
#include "compiler/transform/gpu/units.h"
#include <deque>
#include <functional>
#include <llvm/ADT/MapVector.h>
#include <map>

namespace tandem::transform::gpu {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;

// Gives every tile of the kernel a layout over threads and converts where an op needs another.
class LayoutAssignment {
 public:
  LayoutAssignment(func::FuncOp kernel, const Units& units)
      : kernel_(kernel), units_(units), axes_(kernel), change_(kernel), threads_{units.lanes(), tile::numWarps(kernel)},
        together_(kernel, axes_, threads_) {}
  void run();

 private:
  using Queue = std::deque<Value>;
  static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

  // --- anchors (place_anchors.cpp) ---
  // Step 1. The queues hold the values whose layouts begin to spread.
  void placeAnchors();
  // A descriptor's rows are neighbours along the last dimension, whatever is known of its strides.
  Coalescing blockOf(tile::BlockStoreOp op) const;
  // Lays out what loops carry and branches choose as the addresses of copies want it, for it cannot be computed again in
  // another layout.
  void placeCarried();
  // Returns true if an iteration loads the value for a later one: such a value keeps the load's layout.
  static bool isLoaded(scf::ForOp loop, unsigned index);
  void carry(Value value, const LinearLayout& layout, llvm::DenseSet<Value>& seen);
  static bool isProducers(Operation* op);
  // Tiles of added warps are of four.
  layout::ThreadCounts threadsOf(Operation* op) const;
  static int depthOf(Operation* op);
  static int64_t bytesOf(Value tile);
  // Leaves at the op how many neighbours one access may move, and along which dimension: in another layout a thread may
  // have more of a small tile than in this one.
  Coalescing coalescedAccess(Operation* op, Value pointer, Value mask);
  void anchor(Value value, const LinearLayout& layout, Queue& queue);
  void require(OpOperand& operand, const LinearLayout& layout);
  // An access without a result: all its operands in one layout.
  void access(Operation* op, const LinearLayout& layout);
  // The same by a producer's threads, which exchange nothing: what the operands are computed from is in these layouts, too.
  void accessOfProducers(Operation* op, const LinearLayout& layout);

  // --- tiles that anchors leave open (place_tiles.cpp) ---
  // Loads coalesce; where what joins them from products does so as well, their tiles need not change threads.
  void placeLoads();
  // Returns true if a tile repeats few elements of memory: wherever it lies, a warp's access is of few lines.
  bool isRepeated(Value tile) const;
  void placeLoad(Value result, const std::optional<LinearLayout>& layout, const Coalescing& best);
  // Returns true if a branch loads the tile with fewer neighbours at once than the other branch does.
  bool isNarrowBranch(Value tile) const;
  // Updates one by one whose old values nobody reads are done where their values are, of which a thread may have pairs.
  void placeUpdates();
  // Values that no load places, such as random numbers and sums, lie as they are stored.
  void placeUnloaded();
  // Operands of products that no load places, such as the exponentials of what a slot holds, are computed where the products
  // take them, if each element has one thread there.
  void placeOperands();
  // Tiles that only go from shared memory to shared memory, converted on the way say, lie as the buffers do, those that are
  // written first: a thread takes neighbours there.
  void placeBuffered();
  // Step 3. It goes in the order of the program, so that a layout that follows from a default is not a default itself.
  void placeDefaults();
  // The dimensions of what an op gives as they lie in a slot that it reads, from the fastest; empty for row-major.
  static SmallVector<unsigned> orderOf(Operation* op, unsigned rank);
  void placeStores();
  void placeBlockStore(tile::BlockStoreOp op);
  // Blocks that no unit stores want to coalesce.
  void chooseStores();
  void placeOperandsOfUnits();

  // --- spreading (spread_layouts.cpp) ---
  // A loop's carried argument and its result are one.
  static Value homeOf(Value value);
  // The values that stand for one home inside a loop.
  static SmallVector<Value> namesOf(Value home);
  // Step 2.
  void spread(Queue& queue);
  void spreadToUser(OpOperand& use, const LinearLayout& layout, Queue& queue);
  // Returns true if a small tile is not to place a large one that it is part of. In kernels with products, what they have placed
  // decides, as pairs of threads share rows of operands, unless four threads would hold much of the large tile; what a load has
  // placed does not: a row that each thread has one element of would give each thread a whole column. In other kernels two
  // threads are too many, and a pair of elements is much in a default layout.
  bool isTooSmall(Operation* op, const LinearLayout& layout, bool isLoaded) const;
  static bool isLoop(Operation* op);
  void spreadToSources(Value home, const LinearLayout& layout, Queue& queue);

  // --- conversions (convert_layouts.cpp) ---
  // Step 4.
  void insertConversions();
  void bringInto(OpOperand& operand);
  // The layout an operand must have, given those of the results.
  std::optional<LinearLayout> needed(OpOperand& operand);
  static constexpr size_t kMostHoisted = 9;  // ops that go before a loop together
  // A tile that a loop hands on again and again, to other ranks above all, goes through shared memory once.
  void hoistConversions();
  // A quotient from before a loop that is wanted in another layout inside is computed once more, before the loop, too: LLVM
  // moves out of loops what cannot fail, and a division can.
  void hoistDivisions();
  // Ops whose results are only wanted in other layouts.
  void dropUnused();

  func::FuncOp kernel_;
  const Units& units_;
  analysis::AxisInfoAnalysis axes_;
  LayoutChange change_;
  layout::ThreadCounts threads_;
  LoadsTogether together_;
  // Products by the loops around them, most first: what a loop carries changes threads before and behind it, not in it.
  std::map<int, Queue, std::greater<>> products_;
  Queue loads_, stores_;
  bool placesDefaults_ = false;
  std::vector<std::pair<OpOperand*, LinearLayout>> operands_;
  std::vector<std::pair<tile::StoreOp, Coalescing>> coalescedStores_;
  std::vector<std::pair<tile::AtomicRmwOp, Coalescing>> updates_;
  llvm::MapVector<Value, LinearLayout> known_;  // by home
  llvm::MapVector<Value, std::optional<LinearLayout>>
      offered_;  // loads whose layouts are open, what products would have
  llvm::DenseMap<OpOperand*, LinearLayout> required_;
};

}  // namespace tandem::transform::gpu
