// One atomic update of one element: the instruction where there is one, else a loop around compare-and-swap.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

using tile::Rmw;

struct Instruction {
  ptx::AtomicOp op;
  ptx::AtomicType type;
};

std::optional<Instruction> floatInstruction(Rmw rmw, llvm::Type* type, const target::TargetInfo& target) {
  using T = ptx::AtomicType;
  if (rmw != Rmw::Add && rmw != Rmw::FAdd) return std::nullopt;
  if (type->isFloatTy()) return Instruction{ptx::AtomicOp::Add, T::F32};
  if (type->isDoubleTy()) return Instruction{ptx::AtomicOp::Add, T::F64};
  if (type->isHalfTy()) return Instruction{ptx::AtomicOp::Add, T::F16};
  if (type->isBFloatTy() && target.hasBf16Atomics()) return Instruction{ptx::AtomicOp::Add, T::BF16};
  return std::nullopt;
}

// Returns the instruction on integers of 32 or 64 bits.
std::optional<Instruction> integerInstruction(Rmw rmw, bool isWide) {
  using O = ptx::AtomicOp;
  using T = ptx::AtomicType;
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

bool isReleaseOrRelaxed(ptx::Order order) { return order == ptx::Order::Relaxed || order == ptx::Order::Release; }

}  // namespace

llvm::Value* KernelLowering::readModifyWrite(Operation* op, Rmw rmw, llvm::Value* pointer, llvm::Value* value, bool wanted,
                                             const ptx::AtomicOptions& options) {
  llvm::Type* type = value->getType();
  unsigned bits = bitsOf(type);
  bool isFloat = type->isFloatingPointTy();
  if (isFloat && bits >= 32 && (rmw == Rmw::Max || rmw == Rmw::Min)) return floatExtremum(rmw == Rmw::Max, pointer, value, options);
  std::optional<Instruction> instruction;
  if (isFloat && rmw != Rmw::Xchg)
    instruction = floatInstruction(rmw, type, target_);
  else if (bits >= 32)
    instruction = integerInstruction(rmw, bits == 64);
  if (instruction) {
    llvm::Value* operand = rmw == Rmw::Xchg ? toBits(value) : value;
    if (!wanted && rmw != Rmw::Xchg && isReleaseOrRelaxed(options.order))
      return ptx::reduceInto(b_, instruction->op, instruction->type, pointer, operand, options), nullptr;
    return fromBits(toBits(ptx::atomic(b_, instruction->op, instruction->type, pointer, operand, options)), type);
  }
  if (bits < 16 || !updated(b_, rmw, llvm::PoisonValue::get(type), value)) failUnsupported(op);
  return updateBySwapping(pointer, type, options, [&](llvm::Value* old) { return updated(b_, rmw, old, value); });
}

size_t KernelLowering::updatedAtOnce(Rmw rmw, llvm::Type* element, size_t count) const {
  if ((rmw != Rmw::Add && rmw != Rmw::FAdd) || !floatInstruction(rmw, element, target_) || element->isDoubleTy()) return 1;
  size_t bits = element->getScalarSizeInBits(), most = target_.hasVectorAtomics() ? 128 / bits : 32 / bits;
  return std::min(count, most);
}

// Halves go in pairs; old values come back where they are wanted.
Regs KernelLowering::addToNeighbours(llvm::Value* pointer, Scalars values, bool wanted, const ptx::AtomicOptions& options) {
  llvm::Type* element = values[0]->getType();
  using T = ptx::AtomicType;
  T type = element->isFloatTy() ? T::F32 : element->isHalfTy() ? T::F16x2 : T::BF16x2;
  Regs words(values.begin(), values.end());
  if (type != T::F32) {
    for (llvm::Value*& v : words) v = toBits(v);
    words = pack(words, 32);
  }
  if (!wanted && isReleaseOrRelaxed(options.order))
    return ptx::reduceInto(b_, ptx::AtomicOp::Add, type, pointer, words, options), Regs();
  Regs old(ptx::atomics(b_, ptx::AtomicOp::Add, type, pointer, words, options));
  if (type == T::F32) return old;
  old = unpack(old, 16, values.size());
  for (llvm::Value*& v : old) v = fromBits(v, element);
  return old;
}

// Floats order like signed integers where they are positive, and like unsigned ones reversed where negative.
llvm::Value* KernelLowering::floatExtremum(bool isMax, llvm::Value* pointer, llvm::Value* value, const ptx::AtomicOptions& options) {
  llvm::Value* bits = toBits(value);
  bool isWide = bits->getType()->isIntegerTy(64);
  llvm::Value* isNegative = b_.CreateICmpSLT(bits, llvm::ConstantInt::get(bits->getType(), 0));
  auto only = [&](llvm::Value* where) {
    ptx::AtomicOptions narrowed = options;
    narrowed.predicate = options.predicate ? b_.CreateAnd(options.predicate, where) : where;
    return narrowed;
  };
  auto larger = isMax ? ptx::AtomicOp::Max : ptx::AtomicOp::Min, smaller = isMax ? ptx::AtomicOp::Min : ptx::AtomicOp::Max;
  llvm::Value* fromPositive =
      ptx::atomic(b_, larger, isWide ? ptx::AtomicType::S64 : ptx::AtomicType::S32, pointer, bits, only(b_.CreateNot(isNegative)));
  llvm::Value* fromNegative =
      ptx::atomic(b_, smaller, isWide ? ptx::AtomicType::U64 : ptx::AtomicType::U32, pointer, bits, only(isNegative));
  return fromBits(b_.CreateSelect(isNegative, fromNegative, fromPositive), value->getType());
}

llvm::Value* KernelLowering::updateBySwapping(llvm::Value* pointer, llvm::Type* type, const ptx::AtomicOptions& options,
                                              llvm::function_ref<llvm::Value*(llvm::Value*)> update) {
  llvm::Type* held = b_.getIntNTy(bitsOf(type));
  llvm::AllocaInst* result = temporary(held);
  b_.CreateStore(llvm::ConstantInt::get(held, 0), result);
  when(options.predicate, [&] {
    ptx::AccessOptions relaxed;
    relaxed.order = ptx::Order::Relaxed;
    relaxed.scope = options.scope;
    b_.CreateStore(ptx::load(b_, held, 1, pointer, nullptr, {}, relaxed)[0], result);
    llvm::BasicBlock *again = newBlock("again"), *done = newBlock("swapped");
    b_.CreateBr(again);
    b_.SetInsertPoint(again);
    llvm::Value* expected = b_.CreateLoad(held, result);
    ptx::AtomicOptions always = options;
    always.predicate = nullptr;
    llvm::Value* seen = ptx::compareAndSwap(b_, pointer, expected, toBits(update(fromBits(expected, type))), always);
    b_.CreateStore(seen, result);
    b_.CreateCondBr(b_.CreateICmpEQ(seen, expected), done, again);
    b_.SetInsertPoint(done);
  });
  return fromBits(b_.CreateLoad(held, result), type);
}

// A variable of the thread; it becomes a register.
llvm::AllocaInst* KernelLowering::temporary(llvm::Type* type) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
}

}  // namespace tandem::lower::nvidia
