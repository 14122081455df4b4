// Multicast accesses: one address stands for the same place on every device. The instructions have vectors of floats
// only.
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {
using namespace mlir;

static std::optional<ptx::MultimemType> multimemType(mlir::Type type) {
  using T = ptx::MultimemType;
  if (type.isF32()) return T::F32;
  if (type.isF16()) return T::F16x2;
  if (type.isBF16()) return T::BF16x2;
  if (type.isF64()) return T::F64;
  if (type.isInteger(32)) return T::U32;
  if (type.isInteger(64)) return T::U64;
  return std::nullopt;
}

// A store only moves bits, so several values go as fp32 whatever they are.
static void lowerMultimemStore(KernelContext& cx, simt::MultimemStOp op) {
  using T = ptx::MultimemType;
  Regs words = cx.use(op.getValue());
  for (llvm::Value*& word : words) word = cx.toBits(word);
  unsigned bits = words[0]->getType()->getIntegerBitWidth() * unsigned(words.size());
  if (!cx.target.hasMultimem() || bits < 32 || bits > 128 || !llvm::has_single_bit(bits)) cx.failUnsupported(op);
  T type = words.size() == 1 && bits == 64 ? T::U64 : bits == 32 ? T::U32 : T::F32;
  if (type != T::U64) words = cx.pack(words, 32);
  if (type == T::F32)
    for (llvm::Value*& word : words) word = cx.b.CreateBitCast(word, cx.b.getFloatTy());
  ptx::multimemStore(cx.b, type, words, cx.useScalar(op.getPointer()));
}

// A sum's 16-bit floats travel in pairs.
static void lowerMultimemSum(KernelContext& cx, simt::MultimemLdReduceOp op) {
  mlir::Value data = op->getResult(0);
  mlir::Type type = getElementTypeOrSelf(data.getType());
  std::optional<ptx::MultimemType> kind = multimemType(type);
  llvm::Type* element = cx.typeOf(type);
  size_t count = cx.registersOf(data), inWord = cx.bitsOf(element) == 16 ? 2 : 1;
  if (!cx.target.hasMultimem() || !kind || count % inWord != 0 || !llvm::has_single_bit(count) ||
      cx.bitsOf(element) * count > 128)
    cx.failUnsupported(op);
  Regs out;
  for (llvm::Value* word : ptx::multimemLoadAdd(cx.b, *kind, count / inWord, cx.useScalar(op->getOperand(0))))
    for (size_t i = 0; i < inWord; ++i) out.push_back(inWord == 2 ? cx.b.CreateExtractElement(word, i) : word);
  cx.define(data, out);
}

void registerMultimem(Lowerings& table) {
  on<simt::MultimemStOp>(table, [](KernelContext& cx, auto o) { lowerMultimemStore(cx, o); });
  on<simt::MultimemLdReduceOp>(table, [](KernelContext& cx, auto o) { lowerMultimemSum(cx, o); });
}

}  // namespace tandem::lower::nvidia
