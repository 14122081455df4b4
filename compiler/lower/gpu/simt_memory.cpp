// Loads, stores and atomics of single threads, with order and scope; multicast accesses.
#include "compiler/lower/gpu/read_modify_write.h"
#include "compiler/lower/gpu/orders.h"
#include "compiler/lower/gpu/simt_shared.h"

namespace tandem::lower::gpu {
using namespace mlir;

static Space spaceOf(mlir::Value pointer) {
  while (Operation* op = pointer.getDefiningOp()) {
    if (isa<dist::SymmAtOp, tile::LoadOp>(op)) return Space::Global;
    if (!op->hasTrait<tile::DerivesPointer>()) return Space::Generic;
    pointer = op->getOperand(0);
  }
  bool isParameter = isa<func::FuncOp>(cast<BlockArgument>(pointer).getOwner()->getParentOp());
  return isParameter ? Space::Global : Space::Generic;
}

static Regs toWords(KernelContext& cx, const Regs& elements) {
  Regs words;
  for (llvm::Value* v : elements) words.push_back(cx.toBits(v));
  return words.size() > 4 ? cx.pack(words, 32) : words;
}

static Regs fromWords(KernelContext& cx, const Regs& words, llvm::Type* element, size_t count) {
  Regs out = count > 4 ? cx.unpack(words, cx.bitsOf(element), count) : words;
  for (llvm::Value*& v : out) v = cx.fromBits(v, element);
  return out;
}

// This is the address of a thread's access, a shared one where the pointer is known to be one, and the access' options.
struct ThreadAccess {
  llvm::Value* base;
  AccessOptions options;
};

static ThreadAccess threadAccess(KernelContext& cx, auto op) {
  llvm::Value* own = ownShared(cx, op.getPointer());
  AccessOptions options;
  options.space = own ? Space::Shared : spaceOf(op.getPointer());
  options.order = op.getWeak() ? Order::Weak : orderOf(op.getSem());
  options.scope = scopeOf(op.getScope());
  return {own ? own : cx.useScalar(op.getPointer()), options};
}

// Vectors beyond 16 bytes take several accesses.
static void lowerLd(KernelContext& cx, simt::LdOp op) {
  llvm::Type* element = cx.typeOf(op.getType());
  unsigned bits = cx.bitsOf(element);
  size_t count = cx.registersOf(op.getResult()), atOnce = std::min<size_t>(count, 128 / bits);
  if (!llvm::has_single_bit(count)) cx.failUnsupported(op);
  llvm::Type* word = cx.b.getIntNTy(atOnce > 4 ? 32 : bits);
  ThreadAccess access = threadAccess(cx, op);
  Regs out;
  for (size_t i = 0; i < count; i += atOnce) {
    llvm::Value* from = cx.b.CreateGEP(cx.b.getInt8Ty(), access.base, cx.b.getInt64(i * bits / 8));
    Regs words(cx.emit.load(word, atOnce > 4 ? bits * atOnce / 32 : atOnce, from, nullptr, {}, access.options));
    out.append(fromWords(cx, words, element, atOnce));
  }
  cx.define(op.getResult(), out);
}

static void lowerSt(KernelContext& cx, simt::StOp op) {
  Regs elements = cx.use(op.getValue());
  unsigned bits = cx.bitsOf(elements[0]->getType());
  size_t count = elements.size(), atOnce = std::min<size_t>(count, 128 / bits);
  if (!llvm::has_single_bit(count)) cx.failUnsupported(op);
  ThreadAccess access = threadAccess(cx, op);
  for (size_t i = 0; i < count; i += atOnce) {
    llvm::Value* to = cx.b.CreateGEP(cx.b.getInt8Ty(), access.base, cx.b.getInt64(i * bits / 8));
    cx.emit.store(toWords(cx, Regs(elements.begin() + i, elements.begin() + i + atOnce)), to, nullptr, access.options);
  }
}

static void lowerThreadAtomic(KernelContext& cx, simt::AtomicRmwOp op) {
  llvm::Type* element = cx.typeOf(op.getType());
  if (op.getSem() == tile::Semantic::SeqCst) cx.emit.fence(scopeOf(op.getScope()), true);
  AtomicOptions options{orderOf(op.getSem()), scopeOf(op.getScope()), spaceOf(op.getPointer()), nullptr};
  bool wanted = !op.getResult().use_empty();
  llvm::Value* old =
      readModifyWrite(cx, op, op.getRmw(), cx.useScalar(op.getPointer()), cx.useScalar(op.getValue()), wanted, options);
  cx.define(op.getResult(), {old ? old : llvm::Constant::getNullValue(element)});
}

void registerSimtMemory(Lowerings& table) {
  table.on<simt::LdOp>([](KernelContext& cx, auto o) { lowerLd(cx, o); });
  table.on<simt::StOp>([](KernelContext& cx, auto o) { lowerSt(cx, o); });
  table.on<simt::AtomicRmwOp>([](KernelContext& cx, auto o) { lowerThreadAtomic(cx, o); });
  table.on<simt::AtomicCasOp>([](KernelContext& cx, auto o) {
    llvm::Type* element = cx.typeOf(o.getValue().getType());
    if (cx.bitsOf(element) < 16) cx.failUnsupported(o);
    if (o.getSem() == tile::Semantic::SeqCst) cx.emit.fence(scopeOf(o.getScope()), true);
    AtomicOptions options{orderOf(o.getSem()), scopeOf(o.getScope()), spaceOf(o.getPointer()), nullptr};
    llvm::Value* old = cx.emit.compareAndSwap(cx.useScalar(o.getPointer()), cx.toBits(cx.useScalar(o.getExpected())),
                                              cx.toBits(cx.useScalar(o.getValue())), options);
    cx.define(o.getResult(), {cx.fromBits(old, element)});
  });
}

}  // namespace tandem::lower::gpu
