// Loads and stores through pointers: neighbouring elements of a thread in one access.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>
#include <utility>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;

ptx::AccessOptions accessOptions(tile::Cache cache, tile::Evict evict) {
  using C = ptx::Cache;
  static constexpr C caches[] = {C::Default, C::Ca, C::Cg, C::Cv, C::Wb, C::Cs, C::Wt};
  static constexpr ptx::Evict evicts[] = {ptx::Evict::Normal, ptx::Evict::First, ptx::Evict::Last};
  ptx::AccessOptions options;
  options.cache = caches[static_cast<int>(cache)];
  options.evict = evicts[static_cast<int>(evict)];
  return options;
}

// Returns the number of a thread's first registers that are neighbours along the tile's contiguous dimension, by the
// layout, limited by `known`, the number of neighbours in memory.
size_t KernelLowering::vectorLength(const LinearLayout& layout, int64_t known, unsigned bits, unsigned axis) {
  size_t length = 1;
  uint64_t basis = uint64_t(1) << layout.axisShift(axis);
  for (uint64_t b : layout.bases(Dim::Register)) {
    if (b != basis || int64_t(length * 2) > known || length * 2 * bits > 128) break;
    length *= 2;
    basis *= 2;
  }
  return length;
}

bool KernelLowering::lowerMemory(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::LoadOp>([&](auto o) { return lowerLoad(o), true; })
      .Case<tile::StoreOp>([&](auto o) { return lowerStore(o), true; })
      .Default([](Operation*) { return false; });
}

// The attribute that the layout's choice left says how many neighbours one access may take, along which dimension.
size_t KernelLowering::accessLength(Operation* op, const LinearLayout& layout, unsigned bits) {
  auto vector = op->getAttrOfType<DenseI32ArrayAttr>("tgpu.vector");
  return vector ? vectorLength(layout, vector[0], bits, vector[1]) : 1;
}

// Returns the type of an element in memory: booleans are bytes, addresses are integers.
llvm::Type* KernelLowering::memoryType(llvm::Type* element) {
  return element->isIntegerTy(1) ? b_.getInt8Ty() : element->isPointerTy() ? b_.getInt64Ty() : element;
}

// More than four elements travel as words.
Regs KernelLowering::loadVector(llvm::Type* element, size_t count, llvm::Value* pointer, llvm::Value* predicate,
                                Scalars other, const ptx::AccessOptions& options) {
  llvm::Type* held = memoryType(element);
  Regs instead;
  for (llvm::Value* v : other) instead.push_back(toHeld(v, held));
  unsigned bits = bitsOf(element);
  bool asWords = count > 4;
  if (asWords && !instead.empty()) {
    for (llvm::Value*& v : instead) v = toBits(v);
    instead = pack(instead, 32);
  }
  Regs values(ptx::load(b_, asWords ? b_.getInt32Ty() : held, asWords ? count * bits / 32 : count, pointer, predicate,
                        instead, options));
  if (asWords) values = unpack(values, bits, count);
  for (llvm::Value*& v : values) v = fromBits(v->getType()->isIntegerTy() ? v : toBits(v), element);
  return values;
}

void KernelLowering::storeVector(Scalars values, llvm::Value* pointer, llvm::Value* predicate,
                                 const ptx::AccessOptions& options) {
  Regs held;
  for (llvm::Value* v : values) held.push_back(toHeld(v, memoryType(v->getType())));
  if (held.size() > 4) {
    for (llvm::Value*& v : held) v = toBits(v);
    held = pack(held, 32);
  }
  ptx::store(b_, held, pointer, predicate, options);
}

void KernelLowering::lowerLoad(tile::LoadOp op) {
  llvm::Type* element = typeOf(op.getResult().getType());
  ptx::AccessOptions options = accessOptions(op.getCache(), op.getEvict());
  options.isVolatile = op.getIsVolatile();
  bool isTile = isa<RankedTensorType>(op.getResult().getType());
  size_t vector = isTile ? accessLength(op, layoutOf(op.getResult()), bitsOf(element)) : 1;
  Regs out;
  for (size_t r = 0, n = registersOf(op.getResult()); r < n; r += vector) {
    Regs other;
    for (size_t i = 0; op.getOther() && i < vector; ++i) other.push_back(pick(op.getOther(), r + i));
    llvm::Value* predicate = op.getMask() ? pick(op.getMask(), r) : nullptr;
    out.append(loadVector(element, vector, pick(op.getPointer(), r), predicate, other, options));
  }
  define(op.getResult(), out);
}

llvm::Value* KernelLowering::toHeld(llvm::Value* value, llvm::Type* held) {
  return value->getType() == held ? value : toBits(value);
}

void KernelLowering::lowerStore(tile::StoreOp op) {
  ptx::AccessOptions options = accessOptions(op.getCache(), op.getEvict());
  if (!isa<RankedTensorType>(op.getPointer().getType())) return lowerScalarStore(op, options);
  LinearLayout layout = layoutOf(op.getPointer());
  size_t vector = accessLength(op, layout, bitsOf(typeOf(op.getValue().getType())));
  llvm::Value* owner = isOwner(layout);
  uint64_t copies = layout.freeMask(Dim::Register);
  for (size_t r = 0, n = registersOf(op.getPointer()); r < n; r += vector) {
    if (r & copies) continue;
    Regs values;
    for (size_t i = 0; i < vector; ++i) values.push_back(pick(op.getValue(), r + i));
    llvm::Value* predicate = op.getMask() ? pick(op.getMask(), r) : nullptr;
    if (owner) predicate = predicate ? b_.CreateAnd(predicate, owner) : owner;
    storeVector(values, pick(op.getPointer(), r), predicate, options);
  }
}

// One thread stores through a scalar pointer for the program, unless each does for itself. Nobody sees when between two
// other effects.
void KernelLowering::lowerScalarStore(tile::StoreOp op, const ptx::AccessOptions& options) {
  llvm::Value* mask = op.getMask() ? useScalar(op.getMask()) : nullptr;
  ScalarStore store{op.getLoc(), useScalar(op.getValue()), useScalar(op.getPointer()), mask, options};
  if (threadValues(op).actsEach(op)) {
    flushScalarStores();
    return storeVector({store.value}, store.pointer, store.mask, options);
  }
  if (scalarStores_.size() == kMostScalarStores) flushScalarStores();
  scalarStores_.push_back(store);
}

// Assemblers take a time that grows by the square of the number of predicated stores, so several share a branch.
void KernelLowering::flushScalarStores() {
  if (scalarStores_.empty()) return;
  std::vector<ScalarStore> stores = std::exchange(scalarStores_, {});
  bool share = stores.size() > kMostScalarStores / 8;
  auto storeAll = [&](llvm::Value* owner) {
    for (const ScalarStore& s : stores) {
      places_.set(b_, s.loc);
      storeVector({s.value}, s.pointer, owner && s.mask ? b_.CreateAnd(s.mask, owner) : owner ? owner : s.mask, s.options);
    }
  };
  places_.set(b_, stores.front().loc);
  if (share) when(isFirstThread(), [&] { storeAll(nullptr); });
  else storeAll(isFirstThread());
}

}  // namespace tandem::lower::nvidia
