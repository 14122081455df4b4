// Atomic updates of tiles and scalars: among the threads that hold one position one acts, and gives the others the old
// value.
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
namespace {

tile::Semantic semanticOf(Operation* op) {
  if (auto rmw = dyn_cast<tile::AtomicRmwOp>(op)) return rmw.getSem();
  return cast<tile::AtomicCasOp>(op).getSem();
}

ptx::Scope scopeOf(Operation* op) {
  static constexpr ptx::Scope scopes[] = {ptx::Scope::Block, ptx::Scope::Device, ptx::Scope::System};
  if (auto rmw = dyn_cast<tile::AtomicRmwOp>(op)) return scopes[static_cast<int>(rmw.getScope())];
  return scopes[static_cast<int>(cast<tile::AtomicCasOp>(op).getScope())];
}

bool releases(tile::Semantic sem) { return sem != tile::Semantic::Relaxed && sem != tile::Semantic::Acquire; }
bool acquires(tile::Semantic sem) { return sem != tile::Semantic::Relaxed && sem != tile::Semantic::Release; }

// A release that nobody waits for the result of is not an acquire.
ptx::Order orderOf(tile::Semantic sem, bool wanted) {
  using O = ptx::Order;
  if (releases(sem)) return acquires(sem) && wanted ? O::AcquireRelease : O::Release;
  return acquires(sem) && wanted ? O::Acquire : O::Relaxed;
}

mlir::Value pointerOf(Operation* op) { return op->getOperand(0); }

llvm::Value* both(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) { return x && y ? b.CreateAnd(x, y) : x ? x : y; }

}  // namespace

bool KernelLowering::lowerAtomic(Operation* op) {
  if (!isa<tile::AtomicRmwOp, tile::AtomicCasOp>(op)) return false;
  if (isa<RankedTensorType>(pointerOf(op).getType()))
    lowerAtomicTile(op);
  else
    lowerAtomicScalar(op);
  return true;
}

llvm::Value* KernelLowering::updateElement(Operation* op, size_t reg, llvm::Value* predicate, bool wanted, ptx::Order order) {
  ptx::AtomicOptions options;
  options.order = order;
  options.scope = scopeOf(op);
  options.predicate = predicate;
  llvm::Value* pointer = pick(pointerOf(op), reg);
  if (auto rmw = dyn_cast<tile::AtomicRmwOp>(op)) {
    if (rmw.getMask()) options.predicate = both(b_, predicate, pick(rmw.getMask(), reg));
    return readModifyWrite(op, rmw.getRmw(), pointer, pick(rmw.getValue(), reg), wanted, options);
  }
  auto cas = cast<tile::AtomicCasOp>(op);
  llvm::Value *expected = pick(cas.getExpected(), reg), *desired = pick(cas.getValue(), reg);
  if (bitsOf(desired->getType()) < 16) failUnsupported(op);
  return fromBits(ptx::compareAndSwap(b_, pointer, toBits(expected), toBits(desired), options), desired->getType());
}

// All threads' earlier accesses come before a release, their later ones after an acquire. Several registers share one fence on each side.
void KernelLowering::lowerAtomicTile(Operation* op) {
  LinearLayout layout = layoutOf(pointerOf(op));
  tile::Semantic sem = semanticOf(op);
  auto rmw = dyn_cast<tile::AtomicRmwOp>(op);
  llvm::Type* element = typeOf(op->getResult(0).getType());
  size_t vector = rmw ? updatedAtOnce(rmw.getRmw(), element, accessLength(op, layout, bitsOf(element))) : 1;
  bool wanted = !op->getResult(0).use_empty(), isSequential = sem == tile::Semantic::SeqCst;
  bool several = layout.numRegisters() > int64_t(vector);
  ptx::Order order = several ? ptx::Order::Relaxed : orderOf(sem, wanted);
  if (releases(sem)) {
    programBarrier();
    if (several || isSequential) ptx::fence(b_, scopeOf(op), isSequential);
  }
  llvm::Value* owner = isOwner(layout);
  if (tgpu::isWhole(op)) owner = both(b_, owner, isFirstBlock());
  uint64_t copies = layout.freeMask(Dim::Register);
  Regs old(layout.numRegisters(), llvm::Constant::getNullValue(element));
  for (size_t r = 0; r < old.size(); r += vector) {
    if (r & copies) continue;
    if (vector > 1) {
      Regs values;
      for (size_t i = 0; i < vector; ++i) values.push_back(pick(rmw.getValue(), r + i));
      llvm::Value* mask = rmw.getMask() ? pick(rmw.getMask(), r) : nullptr;
      ptx::AtomicOptions options{order, scopeOf(op), ptx::Space::Global, both(b_, owner, mask)};
      llvm::copy(addToNeighbours(pick(rmw.getPointer(), r), values, wanted, options), old.begin() + r);
    } else if (llvm::Value* v = updateElement(op, r, owner, wanted, order)) {
      old[r] = v;
    }
  }
  if (wanted && (owner || copies)) old = shareOwned(old, layout, op->getLoc());
  if (wanted && acquires(sem)) {
    if (several) ptx::fence(b_, scopeOf(op));
    programBarrier();
  }
  define(op->getResult(0), old);
}

// One thread acts for the program and tells the others the old value, unless each acts for itself.
void KernelLowering::lowerAtomicScalar(Operation* op) {
  tile::Semantic sem = semanticOf(op);
  bool wanted = !op->getResult(0).use_empty(), each = threadValues(op).actsEach(op);
  bool together = !each && role_ != 2;
  if (together && releases(sem)) programBarrier();
  if (sem == tile::Semantic::SeqCst) ptx::fence(b_, scopeOf(op), true);
  llvm::Value* predicate = each || role_ == 2 ? nullptr : isFirstThread();
  if (tgpu::isWhole(op)) predicate = both(b_, predicate, isFirstBlock());
  llvm::Value* old = updateElement(op, 0, predicate, wanted, orderOf(sem, wanted));
  if (!old) old = llvm::Constant::getNullValue(typeOf(op->getResult(0).getType()));
  define(op->getResult(0), {together && wanted ? shareFirst(old, op->getLoc()) : old});
}

// The barriers also order every thread's accesses with the first thread's update. The last one frees the scratch space for uses within
// a warp. The first thread is the first block's.
llvm::Value* KernelLowering::shareFirst(llvm::Value* value, Location loc) {
  llvm::Value* place = scratch(8, loc);
  programBarrier();
  when(isFirstThread(), [&] { storeShared(place, {toBits(value)}); });
  programBarrier();
  unsigned bits = bitsOf(value->getType());
  llvm::Value* shared = blocks_ == 1 ? loadShared(place, bits, 1)[0] : loadFirstBlock(place, bits);
  programBarrier();
  return fromBits(shared, value->getType());
}

Regs KernelLowering::shareOwned(const Regs& owned, const LinearLayout& layout, Location loc) {
  llvm::Type* element = owned[0]->getType();
  int64_t bytes = bitsOf(element) / 8;
  llvm::Value* base = scratch(layout.numElements() * bytes, loc);
  auto placeOf = [&](size_t r) { return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(position(layout, r), b_.getInt32(bytes))); };
  uint64_t copies = layout.freeMask(Dim::Register);
  blockBarrier();
  when(isOwner(layout), [&] {
    for (size_t r = 0; r < owned.size(); ++r)
      if (!(r & copies)) storeShared(placeOf(r), {toBits(owned[r])});
  });
  blockBarrier();
  Regs out;
  for (size_t r = 0; r < owned.size(); ++r) out.push_back(fromBits(loadShared(placeOf(r), bytes * 8, 1)[0], element));
  blockBarrier();
  return out;
}

void KernelLowering::reduceElements(Operation* op, tile::Rmw rmw, llvm::Value* pointer, Scalars values, llvm::Value* predicate) {
  ptx::AtomicOptions options;
  options.order = ptx::Order::Relaxed;
  options.predicate = predicate;
  if (values.size() > 1) addToNeighbours(pointer, values, false, options);
  else readModifyWrite(op, rmw, pointer, values[0], false, options);
}

}  // namespace tandem::lower::nvidia
