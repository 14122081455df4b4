// Loads and stores through pointers: neighbouring elements of a thread in one access.
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/lower/gpu/memory.h"
#include "compiler/lower/gpu/atomic.h"
#include <utility>

namespace tandem::lower::gpu {
using namespace mlir;
using layout::Dim;

static constexpr size_t kMostScalarStores = 64;

AccessOptions accessOptions(tile::Cache cache, tile::Evict evict) {
  using C = codegen::Cache;
  static constexpr C caches[] = {C::Default, C::Ca, C::Cg, C::Cv, C::Wb, C::Cs, C::Wt};
  using E = codegen::Evict;
  static constexpr E evicts[] = {E::Normal, E::First, E::Last};
  AccessOptions options;
  options.cache = caches[static_cast<int>(cache)];
  options.evict = evicts[static_cast<int>(evict)];
  return options;
}

// The attribute that the layout's choice left says how many neighbours one access may take, along which dimension.
size_t accessLength(Operation* op, const LinearLayout& layout, unsigned bits) {
  std::optional<tgpu::Neighbours> known = tgpu::neighboursOf(op);
  return known ? vectorLength(layout, known->count, bits, known->axis) : 1;
}

// Returns the type of an element in memory: booleans are bytes, addresses are integers.
llvm::Type* memoryType(KernelContext& cx, llvm::Type* element) {
  return element->isIntegerTy(1) ? cx.b.getInt8Ty() : element->isPointerTy() ? cx.b.getInt64Ty() : element;
}

static llvm::Value* toHeld(KernelContext& cx, llvm::Value* value, llvm::Type* held) {
  return value->getType() == held ? value : cx.toBits(value);
}

// Narrow neighbours travel as words of so many bits, 0 otherwise: a default value is then chosen once for all of a word, and
// words need not be joined for what takes several elements at once.
static unsigned wordBits(unsigned bits, size_t count) {
  return bits >= 32 || count == 1 ? 0 : std::min<unsigned>(32, count * bits);
}

Regs loadVector(KernelContext& cx, llvm::Type* element, size_t count, llvm::Value* pointer, llvm::Value* predicate,
                Scalars other, const AccessOptions& options) {
  llvm::Type* held = memoryType(cx, element);
  Regs instead;
  for (llvm::Value* v : other) instead.push_back(toHeld(cx, v, held));
  unsigned bits = cx.bitsOf(element);
  unsigned word = wordBits(bits, count);
  if (word && !instead.empty()) {
    for (llvm::Value*& v : instead) v = cx.toBits(v);
    instead = cx.pack(instead, word);
  }
  Regs values(cx.emit.load(word ? cx.b.getIntNTy(word) : held, word ? count * bits / word : count, pointer, predicate,
                           instead, options));
  if (word) values = cx.unpack(values, bits, count);
  for (llvm::Value*& v : values) v = cx.fromBits(v->getType()->isIntegerTy() ? v : cx.toBits(v), element);
  return values;
}

void storeVector(KernelContext& cx, Scalars values, llvm::Value* pointer, llvm::Value* predicate,
                 const AccessOptions& options) {
  Regs held;
  for (llvm::Value* v : values) held.push_back(toHeld(cx, v, memoryType(cx, v->getType())));
  if (unsigned word = wordBits(cx.bitsOf(values[0]->getType()), held.size())) {
    for (llvm::Value*& v : held) v = cx.toBits(v);
    held = cx.pack(held, word);
  }
  cx.emit.store(held, pointer, predicate, options);
}

// A pointer to the kernel's own shared memory (simt.smem_ptr) is a generic address.
static codegen::Space spaceOf(mlir::Value pointer) {
  Operation* op = pointer.getDefiningOp();
  while (op && op->hasTrait<tile::DerivesPointer>()) op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<simt::SmemPtrOp>(op) ? codegen::Space::Generic : codegen::Space::Global;
}

static void lowerLoad(KernelContext& cx, tile::LoadOp op) {
  llvm::Type* element = cx.typeOf(op.getResult().getType());
  AccessOptions options = accessOptions(op.getCache(), op.getEvict());
  options.space = spaceOf(op.getPointer());
  options.isVolatile = op.getIsVolatile();
  bool isTile = isa<RankedTensorType>(op.getResult().getType());
  size_t vector = isTile ? accessLength(op, cx.layoutOf(op.getResult()), cx.bitsOf(element)) : 1;
  // A number is one of the program, though others may change the memory: one thread looks, and tells the others.
  bool isShared = options.isVolatile && !isTile && !cx.isOneThread() && !cx.threadValues(op).actsEach(op);
  Regs out;
  for (size_t r = 0, n = cx.registersOf(op.getResult()); r < n; r += vector) {
    Regs other;
    for (size_t i = 0; op.getOther() && i < vector; ++i) other.push_back(cx.pick(op.getOther(), r + i));
    llvm::Value* predicate = op.getMask() ? cx.pick(op.getMask(), r) : nullptr;
    if (isShared) predicate = predicate ? cx.b.CreateAnd(predicate, cx.isFirstThread()) : cx.isFirstThread();
    out.append(loadVector(cx, element, vector, cx.pick(op.getPointer(), r), predicate, other, options));
  }
  if (isShared) out = {shareFirst(cx, out[0], op.getLoc())};
  cx.define(op.getResult(), out);
}

// One thread stores through a scalar pointer for the program, unless each does for itself. Nobody sees when between two
// other effects.
static void lowerScalarStore(KernelContext& cx, tile::StoreOp op, const AccessOptions& options) {
  llvm::Value* mask = op.getMask() ? cx.useScalar(op.getMask()) : nullptr;
  KernelContext::ScalarStore store{op.getLoc(), cx.useScalar(op.getValue()), cx.useScalar(op.getPointer()), mask,
                                   options};
  if (cx.threadValues(op).actsEach(op)) {
    flushScalarStores(cx);
    return storeVector(cx, {store.value}, store.pointer, store.mask, options);
  }
  if (cx.scalarStores.size() == kMostScalarStores) flushScalarStores(cx);
  cx.scalarStores.push_back(store);
}

static void lowerStore(KernelContext& cx, tile::StoreOp op) {
  AccessOptions options = accessOptions(op.getCache(), op.getEvict());
  options.space = spaceOf(op.getPointer());
  if (!isa<RankedTensorType>(op.getPointer().getType())) return lowerScalarStore(cx, op, options);
  LinearLayout layout = cx.layoutOf(op.getPointer());
  size_t vector = accessLength(op, layout, cx.bitsOf(cx.typeOf(op.getValue().getType())));
  llvm::Value* owner = cx.isOwner(layout);
  uint64_t copies = layout.freeMask(Dim::Register);
  for (size_t r = 0, n = cx.registersOf(op.getPointer()); r < n; r += vector) {
    if (r & copies) continue;
    Regs values;
    for (size_t i = 0; i < vector; ++i) values.push_back(cx.pick(op.getValue(), r + i));
    llvm::Value* predicate = op.getMask() ? cx.pick(op.getMask(), r) : nullptr;
    if (owner) predicate = predicate ? cx.b.CreateAnd(predicate, owner) : owner;
    storeVector(cx, values, cx.pick(op.getPointer(), r), predicate, options);
  }
}

// Assemblers take a time that grows by the square of the number of predicated stores, so several share a branch.
void flushScalarStores(KernelContext& cx) {
  if (cx.scalarStores.empty()) return;
  std::vector<KernelContext::ScalarStore> stores = std::exchange(cx.scalarStores, {});
  bool share = stores.size() > kMostScalarStores / 8;
  auto storeAll = [&](llvm::Value* owner) {
    for (const KernelContext::ScalarStore& s : stores) {
      cx.places.set(cx.b, s.loc);
      storeVector(cx, {s.value}, s.pointer,
                  owner && s.mask ? cx.b.CreateAnd(s.mask, owner)
                  : owner         ? owner
                                  : s.mask,
                  s.options);
    }
  };
  cx.places.set(cx.b, stores.front().loc);
  if (share)
    cx.when(cx.isFirstThread(), [&] { storeAll(nullptr); });
  else
    storeAll(cx.isFirstThread());
}

void registerMemory(Lowerings& table) {
  table.on<tile::LoadOp>([](KernelContext& cx, auto o) { lowerLoad(cx, o); });
  table.on<tile::StoreOp>([](KernelContext& cx, auto o) { lowerStore(cx, o); });
}

}  // namespace tandem::lower::gpu
