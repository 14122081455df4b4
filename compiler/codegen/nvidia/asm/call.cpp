// This file makes constraint strings, register types, and the attributes that describe a call's effects.
#include "compiler/codegen/nvidia/asm/call.h"
#include <llvm/IR/InlineAsm.h>

namespace tandem::codegen::ptx {
namespace {

// Values that PTX keeps in untyped registers travel as integers; 8 bits in a 16-bit register.
llvm::Type* heldType(llvm::Type* type) {
  if (type->isPointerTy() || type->isFloatTy() || type->isDoubleTy() || type->isIntegerTy(1)) return type;
  unsigned bits = type->getPrimitiveSizeInBits();
  return llvm::IntegerType::get(type->getContext(), bits < 16 ? 16 : bits);
}

std::string constraintOf(llvm::Type* type) {
  if (type->isPointerTy()) return "l";
  if (type->isFloatTy()) return "f";
  if (type->isDoubleTy()) return "d";
  switch (type->getIntegerBitWidth()) {
    case 1: return "b";
    case 16: return "h";
    case 32: return "r";
    case 64: return "l";
    default: return "q";
  }
}

bool isSharedPointer(llvm::Type* type) {
  return type->isPointerTy() && (type->getPointerAddressSpace() == 3 || type->getPointerAddressSpace() == 7);
}

std::string list(size_t count, llvm::function_ref<std::string(size_t)> one) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i ? ", " : "") + one(i);
  return count == 1 ? text : "{" + text + "}";
}

void setEffect(llvm::CallInst& call, Effect effect) {
  call.setDoesNotThrow();
  if (effect == Effect::Acts || effect == Effect::Collective) call.setConvergent();
  if (effect == Effect::Pure || effect == Effect::Collective) call.setDoesNotAccessMemory();
  if (effect == Effect::Reads) call.setOnlyReadsMemory();
  if (effect != Effect::Acts) call.addFnAttr(llvm::Attribute::WillReturn);
}

}  // namespace

llvm::Value* Call::held(llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (isSharedPointer(type)) return b_.CreatePtrToInt(value, b_.getInt32Ty());
  llvm::Type* wanted = heldType(type);
  if (wanted == type) return value;
  unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Value* plain = type->isIntegerTy() ? value : b_.CreateBitCast(value, b_.getIntNTy(bits));
  return b_.CreateZExtOrTrunc(plain, wanted);
}

std::string Call::out(llvm::Type* type) {
  outputs_.push_back({type, heldType(type)});
  return "$" + std::to_string(outputs_.size() - 1);
}

std::string Call::in(llvm::Value* value) {
  inputs_.push_back(held(value));
  return "$" + std::to_string(outputs_.size() + inputs_.size() - 1);
}

std::string Call::inOut(llvm::Value* value) {
  tied_.push_back(outputs_.size());
  initial_.push_back(held(value));
  return out(value->getType());
}

std::string Call::outs(llvm::Type* type, size_t count) {
  return list(count, [&](size_t) { return out(type); });
}

std::string Call::ins(ValueRange values) {
  return list(values.size(), [&](size_t i) { return in(values[i]); });
}

std::string Call::inOuts(ValueRange values) {
  return list(values.size(), [&](size_t i) { return inOut(values[i]); });
}

std::string Call::immediateOrIn(llvm::Value* value) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) return std::to_string(constant->getSExtValue());
  return in(value);
}

std::string Call::guard(llvm::Value* predicate) { return predicate ? "@" + in(predicate) + " " : ""; }

llvm::CallInst* Call::emitRaw(const std::string& text, Effect effect) {
  std::string constraints;
  auto add = [&](const std::string& c) { constraints += (constraints.empty() ? "" : ",") + c; };
  llvm::SmallVector<llvm::Type*, 8> results, parameters;
  for (const Output& o : outputs_) {
    add("=" + constraintOf(o.held));
    results.push_back(o.held);
  }
  // Tied operands come last, so that the placeholders of the others do not depend on them.
  llvm::SmallVector<llvm::Value*, 16> operands(inputs_.begin(), inputs_.end());
  for (llvm::Value* v : inputs_) add(constraintOf(v->getType()));
  for (unsigned output : tied_) add(std::to_string(output));
  operands.append(initial_.begin(), initial_.end());
  if (effect == Effect::Acts || effect == Effect::Reads) add("~{memory}");
  for (llvm::Value* v : operands) parameters.push_back(v->getType());
  llvm::Type* result = results.empty()       ? b_.getVoidTy()
                       : results.size() == 1 ? results[0]
                                             : llvm::StructType::get(b_.getContext(), results);
  auto* type = llvm::FunctionType::get(result, parameters, false);
  auto* call = b_.CreateCall(llvm::InlineAsm::get(type, text, constraints, effect == Effect::Acts), operands);
  setEffect(*call, effect);
  return call;
}

Values Call::emit(const std::string& text, Effect effect) {
  llvm::CallInst* call = emitRaw(text, effect);
  Values values;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    llvm::Value* v = outputs_.size() == 1 ? call : b_.CreateExtractValue(call, unsigned(i));
    llvm::Type* type = outputs_[i].type;
    if (type != outputs_[i].held) {
      v = b_.CreateZExtOrTrunc(v, b_.getIntNTy(type->getPrimitiveSizeInBits()));
      if (!type->isIntegerTy()) v = b_.CreateBitCast(v, type);
    }
    values.push_back(v);
  }
  return values;
}

}  // namespace tandem::codegen::ptx
