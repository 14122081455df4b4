// Words are found behind the extractions that took them apart.
#include "compiler/lower/gpu/pairs.h"

namespace tandem::lower::gpu {
using namespace mlir;

llvm::Value* wordOf(Scalars pair) {
  auto stripped = [](llvm::Value* v) {
    while (auto* cast = dyn_cast<llvm::BitCastInst>(v)) v = cast->getOperand(0);
    return v;
  };
  llvm::Value* word = nullptr;
  for (auto [half, value] : llvm::enumerate(pair)) {
    auto* taken = dyn_cast<llvm::ExtractElementInst>(stripped(value));
    auto* index = taken ? dyn_cast<llvm::ConstantInt>(taken->getIndexOperand()) : nullptr;
    if (!index || index->getZExtValue() != half) return nullptr;
    if (cast<llvm::FixedVectorType>(taken->getVectorOperandType())->getNumElements() != 2) return nullptr;
    llvm::Value* from = stripped(taken->getVectorOperand());
    if (word && word != from) return nullptr;
    word = from;
  }
  return word;
}

llvm::Value* vectorOfPair(KernelContext& cx, Scalars pair) {
  auto* two = llvm::FixedVectorType::get(pair[0]->getType(), 2);
  if (llvm::Value* word = wordOf(pair)) return cx.b.CreateBitCast(word, two);
  llvm::Value* vector = cx.b.CreateInsertElement(llvm::PoisonValue::get(two), pair[0], uint64_t(0));
  return cx.b.CreateInsertElement(vector, pair[1], uint64_t(1));
}

bool inPairs(KernelContext& cx, Operation* op, llvm::function_ref<llvm::Value*(Scalars)> compute) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !(type.getElementType().isF16() || type.getElementType().isBF16())) return false;
  size_t count = cx.layoutOf(op->getResult(0)).numRegisters();
  auto pairOf = [&](mlir::Value operand, size_t r) { return Regs{cx.pick(operand, r), cx.pick(operand, r + 1)}; };
  auto isInWord = [&](size_t r) {
    return llvm::any_of(op->getOperands(), [&](mlir::Value v) { return wordOf(pairOf(v, r)); });
  };
  for (size_t r = 0; r < count; r += 2)
    if (r + 1 == count || !isInWord(r)) return false;
  Regs out;
  for (size_t r = 0; r < count; r += 2) {
    Regs vectors;
    for (mlir::Value v : op->getOperands()) vectors.push_back(vectorOfPair(cx, pairOf(v, r)));
    llvm::Value* both = compute(vectors);
    for (uint64_t half : {0, 1}) out.push_back(cx.b.CreateExtractElement(both, half));
  }
  cx.define(op->getResult(0), std::move(out));
  return true;
}

}  // namespace tandem::lower::gpu
