// One atomic update of one element: the instruction where there is one, else a loop around compare-and-swap.
#include "compiler/lower/gpu/read_modify_write.h"

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

using tile::Rmw;

struct Instruction {
  AtomicOp op;
  AtomicType type;
};

std::optional<Instruction> floatInstruction(Rmw rmw, llvm::Type* type) {
  using T = AtomicType;
  if (rmw != Rmw::Add && rmw != Rmw::FAdd) return std::nullopt;
  if (type->isFloatTy()) return Instruction{AtomicOp::Add, T::F32};
  if (type->isDoubleTy()) return Instruction{AtomicOp::Add, T::F64};
  if (type->isHalfTy()) return Instruction{AtomicOp::Add, T::F16};
  if (type->isBFloatTy()) return Instruction{AtomicOp::Add, T::BF16};
  return std::nullopt;
}

// Returns the instruction on integers of 32 or 64 bits.
std::optional<Instruction> integerInstruction(Rmw rmw, bool isWide) {
  using O = AtomicOp;
  using T = AtomicType;
  T asSigned = isWide ? T::S64 : T::S32, asUnsigned = isWide ? T::U64 : T::U32, bits = isWide ? T::B64 : T::B32;
  switch (rmw) {
    case Rmw::Add: return Instruction{O::Add, asUnsigned};
    case Rmw::Max: return Instruction{O::Max, asSigned};
    case Rmw::Min: return Instruction{O::Min, asSigned};
    case Rmw::UMax: return Instruction{O::Max, asUnsigned};
    case Rmw::UMin: return Instruction{O::Min, asUnsigned};
    case Rmw::And: return Instruction{O::And, bits};
    case Rmw::Or: return Instruction{O::Or, bits};
    case Rmw::Xor: return Instruction{O::Xor, bits};
    case Rmw::Xchg: return Instruction{O::Exchange, bits};
    case Rmw::FAdd: return std::nullopt;
  }
  return std::nullopt;
}

// Null where the op does not go with the type.
llvm::Value* updated(llvm::IRBuilder<>& b, Rmw rmw, llvm::Value* old, llvm::Value* value) {
  namespace I = llvm::Intrinsic;
  bool isFloat = old->getType()->isFloatingPointTy();
  auto onFloats = [&](I::ID id) { return b.CreateBinaryIntrinsic(id, old, value); };
  switch (rmw) {
    case Rmw::Xchg: return value;
    case Rmw::Add: return isFloat ? b.CreateFAdd(old, value) : b.CreateAdd(old, value);
    case Rmw::FAdd: return isFloat ? b.CreateFAdd(old, value) : nullptr;
    case Rmw::Max: return onFloats(isFloat ? I::maxnum : I::smax);
    case Rmw::Min: return onFloats(isFloat ? I::minnum : I::smin);
    case Rmw::UMax: return isFloat ? nullptr : onFloats(I::umax);
    case Rmw::UMin: return isFloat ? nullptr : onFloats(I::umin);
    case Rmw::And: return isFloat ? nullptr : b.CreateAnd(old, value);
    case Rmw::Or: return isFloat ? nullptr : b.CreateOr(old, value);
    case Rmw::Xor: return isFloat ? nullptr : b.CreateXor(old, value);
  }
  return nullptr;
}

bool isReleaseOrRelaxed(Order order) { return order == Order::Relaxed || order == Order::Release; }

// Floats order like signed integers where they are positive, and like unsigned ones reversed where negative.
llvm::Value* floatExtremum(KernelContext& cx, bool isMax, llvm::Value* pointer, llvm::Value* value,
                           const AtomicOptions& options) {
  llvm::Value* bits = cx.toBits(value);
  bool isWide = bits->getType()->isIntegerTy(64);
  llvm::Value* isNegative = cx.b.CreateICmpSLT(bits, llvm::ConstantInt::get(bits->getType(), 0));
  auto only = [&](llvm::Value* where) {
    AtomicOptions narrowed = options;
    narrowed.predicate = options.predicate ? cx.b.CreateAnd(options.predicate, where) : where;
    return narrowed;
  };
  auto larger = isMax ? AtomicOp::Max : AtomicOp::Min, smaller = isMax ? AtomicOp::Min : AtomicOp::Max;
  llvm::Value* fromPositive = cx.emit.atomic(larger, isWide ? AtomicType::S64 : AtomicType::S32, pointer, bits,
                                             only(cx.b.CreateNot(isNegative)));
  llvm::Value* fromNegative =
      cx.emit.atomic(smaller, isWide ? AtomicType::U64 : AtomicType::U32, pointer, bits, only(isNegative));
  return cx.fromBits(cx.b.CreateSelect(isNegative, fromNegative, fromPositive), value->getType());
}

llvm::Value* updateBySwapping(KernelContext& cx, llvm::Value* pointer, llvm::Type* type, const AtomicOptions& options,
                              llvm::function_ref<llvm::Value*(llvm::Value*)> update) {
  llvm::Type* held = cx.b.getIntNTy(cx.bitsOf(type));
  llvm::AllocaInst* result = cx.temporary(held);
  cx.b.CreateStore(llvm::ConstantInt::get(held, 0), result);
  cx.when(options.predicate, [&] {
    AccessOptions relaxed;
    relaxed.order = Order::Relaxed;
    relaxed.scope = options.scope;
    cx.b.CreateStore(cx.emit.load(held, 1, pointer, nullptr, {}, relaxed)[0], result);
    llvm::BasicBlock *again = cx.newBlock("again"), *done = cx.newBlock("swapped");
    cx.b.CreateBr(again);
    cx.b.SetInsertPoint(again);
    llvm::Value* expected = cx.b.CreateLoad(held, result);
    AtomicOptions always = options;
    always.predicate = nullptr;
    llvm::Value* seen =
        cx.emit.compareAndSwap(pointer, expected, cx.toBits(update(cx.fromBits(expected, type))), always);
    cx.b.CreateStore(seen, result);
    cx.b.CreateCondBr(cx.b.CreateICmpEQ(seen, expected), done, again);
    cx.b.SetInsertPoint(done);
  });
  return cx.fromBits(cx.b.CreateLoad(held, result), type);
}

}  // namespace

llvm::Value* readModifyWrite(KernelContext& cx, Operation* op, Rmw rmw, llvm::Value* pointer, llvm::Value* value,
                             bool wanted, const AtomicOptions& options) {
  llvm::Type* type = value->getType();
  unsigned bits = cx.bitsOf(type);
  bool isFloat = type->isFloatingPointTy();
  if (isFloat && bits >= 32 && (rmw == Rmw::Max || rmw == Rmw::Min))
    return floatExtremum(cx, rmw == Rmw::Max, pointer, value, options);
  std::optional<Instruction> instruction;
  if (isFloat && rmw != Rmw::Xchg)
    instruction = floatInstruction(rmw, type);
  else if (bits >= 32)
    instruction = integerInstruction(rmw, bits == 64);
  if (instruction && cx.emit.hasAtomic(instruction->op, instruction->type)) {
    llvm::Value* operand = rmw == Rmw::Xchg ? cx.toBits(value) : value;
    if (!wanted && rmw != Rmw::Xchg && isReleaseOrRelaxed(options.order))
      return cx.emit.reduceInto(instruction->op, instruction->type, pointer, operand, options), nullptr;
    return cx.fromBits(cx.toBits(cx.emit.atomic(instruction->op, instruction->type, pointer, operand, options)), type);
  }
  if (bits < 16 || !updated(cx.b, rmw, llvm::PoisonValue::get(type), value)) cx.failUnsupported(op);
  return updateBySwapping(cx, pointer, type, options, [&](llvm::Value* old) { return updated(cx.b, rmw, old, value); });
}

size_t updatedAtOnce(KernelContext& cx, Rmw rmw, llvm::Type* element, size_t count) {
  std::optional<Instruction> one = floatInstruction(rmw, element);
  if (!one || !cx.emit.hasAtomic(one->op, one->type) || element->isDoubleTy()) return 1;
  size_t bits = element->getScalarSizeInBits(), most = cx.target.hasVectorAtomics() ? 128 / bits : 32 / bits;
  return std::min(count, most);
}

// Halves go in pairs; old values come back where they are wanted.
Regs addToNeighbours(KernelContext& cx, llvm::Value* pointer, Scalars values, bool wanted,
                     const AtomicOptions& options) {
  llvm::Type* element = values[0]->getType();
  using T = AtomicType;
  T type = element->isFloatTy() ? T::F32 : element->isHalfTy() ? T::F16x2 : T::BF16x2;
  Regs words(values.begin(), values.end());
  if (type != T::F32) {
    for (llvm::Value*& v : words) v = cx.toBits(v);
    words = cx.pack(words, 32);
  }
  if (!wanted && isReleaseOrRelaxed(options.order))
    return cx.emit.reduceInto(AtomicOp::Add, type, pointer, words, options), Regs();
  Regs old(cx.emit.atomics(AtomicOp::Add, type, pointer, words, options));
  if (type == T::F32) return old;
  old = cx.unpack(old, 16, values.size());
  for (llvm::Value*& v : old) v = cx.fromBits(v, element);
  return old;
}

}  // namespace tandem::lower::gpu
