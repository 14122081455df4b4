// Atomic updates of tiles and scalars: among the threads that hold one position one acts, and gives the others the old
// value.
#include "compiler/lower/gpu/atomic.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/lower/gpu/memory.h"
#include "compiler/lower/gpu/orders.h"
#include "compiler/lower/gpu/read_modify_write.h"

namespace tandem::lower::gpu {
using namespace mlir;
using layout::Dim;
namespace {

tile::Semantic semanticOf(Operation* op) {
  if (auto rmw = dyn_cast<tile::AtomicRmwOp>(op)) return rmw.getSem();
  return cast<tile::AtomicCasOp>(op).getSem();
}

Scope scopeOf(Operation* op) {
  if (auto rmw = dyn_cast<tile::AtomicRmwOp>(op)) return gpu::scopeOf(rmw.getScope());
  return gpu::scopeOf(cast<tile::AtomicCasOp>(op).getScope());
}

bool releases(tile::Semantic sem) { return sem != tile::Semantic::Relaxed && sem != tile::Semantic::Acquire; }
bool acquires(tile::Semantic sem) { return sem != tile::Semantic::Relaxed && sem != tile::Semantic::Release; }

// A release that nobody waits for the result of is not an acquire. A loop that repeats an update has released before, and acquires what
// it waited for whatever its order: Triton's kernels take locks by relaxed updates, too, and find no stale line in L1 behind them.
Order orderOf(KernelContext& cx, tile::Semantic sem, bool wanted) {
  using O = Order;
  if (cx.spins) return O::Acquire;
  if (releases(sem)) return acquires(sem) && wanted ? O::AcquireRelease : O::Release;
  return acquires(sem) && wanted ? O::Acquire : O::Relaxed;
}

mlir::Value pointerOf(Operation* op) { return op->getOperand(0); }

llvm::Value* both(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) {
  return x && y ? b.CreateAnd(x, y) : x ? x : y;
}

llvm::Value* updateElement(KernelContext& cx, Operation* op, size_t reg, llvm::Value* predicate, bool wanted,
                           Order order) {
  AtomicOptions options;
  options.order = order;
  options.scope = scopeOf(op);
  options.predicate = predicate;
  llvm::Value* pointer = cx.pick(pointerOf(op), reg);
  if (auto rmw = dyn_cast<tile::AtomicRmwOp>(op)) {
    if (rmw.getMask()) options.predicate = both(cx.b, predicate, cx.pick(rmw.getMask(), reg));
    return readModifyWrite(cx, op, rmw.getRmw(), pointer, cx.pick(rmw.getValue(), reg), wanted, options);
  }
  auto cas = cast<tile::AtomicCasOp>(op);
  llvm::Value *expected = cx.pick(cas.getExpected(), reg), *desired = cx.pick(cas.getValue(), reg);
  if (cx.bitsOf(desired->getType()) < 16) cx.failUnsupported(op);
  return cx.fromBits(cx.emit.compareAndSwap(pointer, cx.toBits(expected), cx.toBits(desired), options),
                     desired->getType());
}

Regs shareOwned(KernelContext& cx, const Regs& owned, const LinearLayout& layout, Location loc) {
  llvm::Type* element = owned[0]->getType();
  int64_t bytes = cx.bitsOf(element) / 8;
  llvm::Value* base = cx.scratch(layout.numElements() * bytes, loc);
  auto placeOf = [&](size_t r) {
    return cx.b.CreateGEP(cx.b.getInt8Ty(), base, cx.b.CreateMul(cx.position(layout, r), cx.b.getInt32(bytes)));
  };
  uint64_t copies = layout.freeMask(Dim::Register);
  cx.emit.blockBarrier();
  cx.when(cx.isOwner(layout), [&] {
    for (size_t r = 0; r < owned.size(); ++r)
      if (!(r & copies)) cx.storeShared(placeOf(r), {cx.toBits(owned[r])});
  });
  cx.emit.blockBarrier();
  Regs out;
  for (size_t r = 0; r < owned.size(); ++r)
    out.push_back(cx.fromBits(cx.loadShared(placeOf(r), bytes * 8, 1)[0], element));
  cx.emit.blockBarrier();
  return out;
}

// All threads' earlier accesses come before a release, their later ones after an acquire. Several registers share one
// fence on each side.
void lowerAtomicTile(KernelContext& cx, Operation* op) {
  LinearLayout layout = cx.layoutOf(pointerOf(op));
  tile::Semantic sem = semanticOf(op);
  auto rmw = dyn_cast<tile::AtomicRmwOp>(op);
  llvm::Type* element = cx.typeOf(op->getResult(0).getType());
  size_t vector = rmw ? updatedAtOnce(cx, rmw.getRmw(), element, accessLength(op, layout, cx.bitsOf(element))) : 1;
  bool wanted = !op->getResult(0).use_empty(), isSequential = sem == tile::Semantic::SeqCst;
  bool several = layout.numRegisters() > int64_t(vector);
  Order order = several ? Order::Relaxed : orderOf(cx, sem, wanted);
  if (releases(sem)) {
    cx.emit.completeStores();
    cx.emit.programBarrier();
    if (several || isSequential) cx.emit.fence(scopeOf(op), isSequential);
  }
  llvm::Value* owner = cx.isOwner(layout);
  if (tgpu::isWhole(op)) owner = both(cx.b, owner, cx.isFirstBlock());
  uint64_t copies = layout.freeMask(Dim::Register);
  Regs old(layout.numRegisters(), llvm::Constant::getNullValue(element));
  for (size_t r = 0; r < old.size(); r += vector) {
    if (r & copies) continue;
    if (vector > 1) {
      Regs values;
      for (size_t i = 0; i < vector; ++i) values.push_back(cx.pick(rmw.getValue(), r + i));
      llvm::Value* mask = rmw.getMask() ? cx.pick(rmw.getMask(), r) : nullptr;
      AtomicOptions options{order, scopeOf(op), Space::Global, both(cx.b, owner, mask)};
      llvm::copy(addToNeighbours(cx, cx.pick(rmw.getPointer(), r), values, wanted, options), old.begin() + r);
    } else if (llvm::Value* v = updateElement(cx, op, r, owner, wanted, order)) {
      old[r] = v;
    }
  }
  if (wanted && (owner || copies)) old = shareOwned(cx, old, layout, op->getLoc());
  if (wanted && acquires(sem)) {
    if (several) cx.emit.fence(scopeOf(op));
    cx.emit.programBarrier();
  }
  cx.define(op->getResult(0), old);
}

// One thread acts for the program and tells the others the old value, unless each acts for itself.
void lowerAtomicScalar(KernelContext& cx, Operation* op) {
  tile::Semantic sem = semanticOf(op);
  bool wanted = !op->getResult(0).use_empty(), each = cx.threadValues(op).actsEach(op);
  bool together = !each && !cx.isOneThread();
  if (!each && !cx.spins && releases(sem)) cx.emit.completeStores();
  if (together && releases(sem)) cx.emit.programBarrier();
  if (sem == tile::Semantic::SeqCst) cx.emit.fence(scopeOf(op), true);
  llvm::Value* predicate = each || cx.isOneThread() ? nullptr : cx.isFirstThread();
  if (tgpu::isWhole(op)) predicate = both(cx.b, predicate, cx.isFirstBlock());
  llvm::Value* old = updateElement(cx, op, 0, predicate, wanted, orderOf(cx, sem, wanted));
  if (!old) old = llvm::Constant::getNullValue(cx.typeOf(op->getResult(0).getType()));
  cx.define(op->getResult(0), {together && wanted ? shareFirst(cx, old, op->getLoc()) : old});
}

}  // namespace

// The first thread is the first block's, and of several blocks all have read its place before it goes on.
llvm::Value* shareFirst(KernelContext& cx, llvm::Value* value, Location loc) {
  bool isOneBlock = cx.blocks == 1;
  llvm::Value* place = isOneBlock ? cx.meetBeforeScratch(8, loc) : cx.scratch(8, loc);
  if (!isOneBlock) cx.emit.programBarrier();
  cx.when(cx.isFirstThread(), [&] { cx.storeShared(place, {cx.toBits(value)}); });
  cx.emit.programBarrier();
  unsigned bits = cx.bitsOf(value->getType());
  llvm::Value* shared = isOneBlock ? cx.loadShared(place, bits, 1)[0] : cx.emit.loadFirstBlock(place, bits);
  if (!isOneBlock) cx.emit.programBarrier();
  return cx.fromBits(shared, value->getType());
}

void reduceElements(KernelContext& cx, Operation* op, tile::Rmw rmw, llvm::Value* pointer, Scalars values,
                    llvm::Value* predicate) {
  AtomicOptions options;
  options.order = Order::Relaxed;
  options.predicate = predicate;
  if (values.size() > 1)
    addToNeighbours(cx, pointer, values, false, options);
  else
    readModifyWrite(cx, op, rmw, pointer, values[0], false, options);
}

void registerAtomic(Lowerings& table) {
  table.on<tile::AtomicRmwOp, tile::AtomicCasOp>([](KernelContext& cx, auto o) {
    bool isTile = isa<RankedTensorType>(pointerOf(o).getType());
    isTile ? lowerAtomicTile(cx, o) : lowerAtomicScalar(cx, o);
  });
}

}  // namespace tandem::lower::gpu
