// Loads, stores and atomics of single threads, with order and scope; multicast accesses.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include "compiler/lower/gpu/orders.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

std::optional<ptx::MultimemType> multimemType(mlir::Type type) {
  using T = ptx::MultimemType;
  if (type.isF32()) return T::F32;
  if (type.isF16()) return T::F16x2;
  if (type.isBF16()) return T::BF16x2;
  if (type.isF64()) return T::F64;
  if (type.isInteger(32)) return T::U32;
  if (type.isInteger(64)) return T::U64;
  return std::nullopt;
}

}  // namespace

ptx::Space KernelLowering::spaceOf(mlir::Value pointer) {
  while (Operation* op = pointer.getDefiningOp()) {
    if (isa<dist::SymmAtOp, tile::LoadOp>(op)) return ptx::Space::Global;
    if (!isa<tile::AddPtrOp, tile::BitcastOp, dist::ConsumeTokenOp>(op)) return ptx::Space::Generic;
    pointer = op->getOperand(0);
  }
  bool isParameter = isa<func::FuncOp>(cast<BlockArgument>(pointer).getOwner()->getParentOp());
  return isParameter ? ptx::Space::Global : ptx::Space::Generic;
}

Regs KernelLowering::toWords(const Regs& elements) {
  Regs words;
  for (llvm::Value* v : elements) words.push_back(toBits(v));
  return words.size() > 4 ? pack(words, 32) : words;
}

Regs KernelLowering::fromWords(const Regs& words, llvm::Type* element, size_t count) {
  Regs out = count > 4 ? unpack(words, bitsOf(element), count) : words;
  for (llvm::Value*& v : out) v = fromBits(v, element);
  return out;
}

bool KernelLowering::lowerSimtMemory(Operation* op) {
  if (lowerMultimem(op)) return true;
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<simt::LdOp>([&](auto o) { return lowerLd(o), true; })
      .Case<simt::StOp>([&](auto o) { return lowerSt(o), true; })
      .Case<simt::AtomicRmwOp>([&](auto o) { return lowerThreadAtomic(o), true; })
      .Case<simt::AtomicCasOp>([&](auto o) {
        llvm::Type* element = typeOf(o.getValue().getType());
        if (bitsOf(element) < 16) failUnsupported(o);
        if (o.getSem() == tile::Semantic::SeqCst) ptx::fence(b_, scopeOf(o.getScope()), true);
        ptx::AtomicOptions options{orderOf(o.getSem()), scopeOf(o.getScope()), spaceOf(o.getPointer()), nullptr};
        llvm::Value* old = ptx::compareAndSwap(b_, useScalar(o.getPointer()), toBits(useScalar(o.getExpected())),
                                               toBits(useScalar(o.getValue())), options);
        return define(o.getResult(), {fromBits(old, element)}), true;
      })
      .Default([](Operation*) { return false; });
}

static ptx::AccessOptions threadAccess(auto op, ptx::Space space) {
  ptx::AccessOptions options;
  options.space = space;
  options.order = op.getWeak() ? ptx::Order::Weak : orderOf(op.getSem());
  options.scope = scopeOf(op.getScope());
  return options;
}

// Vectors beyond 16 bytes take several accesses.
void KernelLowering::lowerLd(simt::LdOp op) {
  llvm::Type* element = typeOf(op.getType());
  unsigned bits = bitsOf(element);
  size_t count = registersOf(op.getResult()), atOnce = std::min<size_t>(count, 128 / bits);
  if (!llvm::has_single_bit(count)) failUnsupported(op);
  llvm::Type* word = b_.getIntNTy(atOnce > 4 ? 32 : bits);
  ptx::AccessOptions options = threadAccess(op, spaceOf(op.getPointer()));
  Regs out;
  for (size_t i = 0; i < count; i += atOnce) {
    llvm::Value* from = b_.CreateGEP(b_.getInt8Ty(), useScalar(op.getPointer()), b_.getInt64(i * bits / 8));
    Regs words(ptx::load(b_, word, atOnce > 4 ? bits * atOnce / 32 : atOnce, from, nullptr, {}, options));
    out.append(fromWords(words, element, atOnce));
  }
  define(op.getResult(), out);
}

void KernelLowering::lowerSt(simt::StOp op) {
  Regs elements = use(op.getValue());
  unsigned bits = bitsOf(elements[0]->getType());
  size_t count = elements.size(), atOnce = std::min<size_t>(count, 128 / bits);
  if (!llvm::has_single_bit(count)) failUnsupported(op);
  for (size_t i = 0; i < count; i += atOnce) {
    llvm::Value* to = b_.CreateGEP(b_.getInt8Ty(), useScalar(op.getPointer()), b_.getInt64(i * bits / 8));
    ptx::store(b_, toWords(Regs(elements.begin() + i, elements.begin() + i + atOnce)), to, nullptr,
               threadAccess(op, spaceOf(op.getPointer())));
  }
}

void KernelLowering::lowerThreadAtomic(simt::AtomicRmwOp op) {
  llvm::Type* element = typeOf(op.getType());
  if (op.getSem() == tile::Semantic::SeqCst) ptx::fence(b_, scopeOf(op.getScope()), true);
  ptx::AtomicOptions options{orderOf(op.getSem()), scopeOf(op.getScope()), spaceOf(op.getPointer()), nullptr};
  bool wanted = !op.getResult().use_empty();
  llvm::Value* old =
      readModifyWrite(op, op.getRmw(), useScalar(op.getPointer()), useScalar(op.getValue()), wanted, options);
  define(op.getResult(), {old ? old : llvm::Constant::getNullValue(element)});
}

// The instructions have vectors of floats only. What a store stores is bits, so several values go as fp32 whatever they are; a sum's 16-bit
// floats travel in pairs.
bool KernelLowering::lowerMultimem(Operation* op) {
  if (auto store = dyn_cast<simt::MultimemStOp>(op)) {
    using T = ptx::MultimemType;
    Regs words = use(store.getValue());
    for (llvm::Value*& word : words) word = toBits(word);
    unsigned bits = words[0]->getType()->getIntegerBitWidth() * unsigned(words.size());
    if (!target_.hasMultimem() || bits < 32 || bits > 128 || !llvm::has_single_bit(bits)) failUnsupported(op);
    T type = words.size() == 1 && bits == 64 ? T::U64 : bits == 32 ? T::U32 : T::F32;
    if (type != T::U64) words = pack(words, 32);
    if (type == T::F32)
      for (llvm::Value*& word : words) word = b_.CreateBitCast(word, b_.getFloatTy());
    ptx::multimemStore(b_, type, words, useScalar(store.getPointer()));
    return true;
  }
  if (!isa<simt::MultimemLdReduceOp>(op)) return false;
  mlir::Value data = op->getResult(0);
  mlir::Type type = getElementTypeOrSelf(data.getType());
  std::optional<ptx::MultimemType> kind = multimemType(type);
  llvm::Type* element = typeOf(type);
  size_t count = registersOf(data), inWord = bitsOf(element) == 16 ? 2 : 1;
  if (!target_.hasMultimem() || !kind || count % inWord != 0 || !llvm::has_single_bit(count) ||
      bitsOf(element) * count > 128)
    failUnsupported(op);
  Regs out;
  for (llvm::Value* word : ptx::multimemLoadAdd(b_, *kind, count / inWord, useScalar(op->getOperand(0))))
    for (size_t i = 0; i < inWord; ++i) out.push_back(inWord == 2 ? b_.CreateExtractElement(word, i) : word);
  define(data, out);
  return true;
}

}  // namespace tandem::lower::nvidia
