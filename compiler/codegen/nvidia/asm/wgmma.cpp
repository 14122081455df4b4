// wgmma.*
#include "compiler/codegen/nvidia/asm/wgmma.h"

namespace tandem::codegen::ptx {
namespace {

// The immediates behind scale-d: signs of A and B where elements are floats, transpositions where they have 16 bits.
std::string immediates(const Wgmma& op) {
  if (op.accumulator == Accumulator::S32) return "";
  std::string text = ", 1, 1";
  if (bitsOf(op.a) != 16) return text;
  if (op.descriptorA) text += op.transposeA ? ", 1" : ", 0";
  return text + (op.transposeB ? ", 1" : ", 0");
}

}  // namespace

llvm::Value* wgmma(llvm::IRBuilderBase& b, const Wgmma& op, ValueRange accumulators) {
  Call call(b);
  std::string d = call.inOuts(accumulators);
  std::string operands = op.descriptorA ? call.in(op.descriptorA) : call.ins(op.registersA);
  operands += ", " + call.in(op.descriptorB);
  std::string keep = op.keep ? call.in(op.keep) : "keep";
  std::string text = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(op.n) + "k" +
                     std::to_string(256 / bitsOf(op.a)) + "." + ptx::text(op.accumulator) + "." + ptx::text(op.a) +
                     "." + ptx::text(op.b) + " " + d + ", " + operands + ", " + keep + immediates(op) + ";";
  if (!op.keep) text = "{\n.reg .pred keep;\nsetp.ne.b32 keep, 1, 0;\n" + text + "\n}";
  return call.emitRaw(text, Effect::Acts);
}

llvm::Value* addedHere(llvm::IRBuilderBase& b, llvm::Value* value, uint32_t constant) {
  Call call(b);
  std::string sum = call.out(b.getInt32Ty());
  return call.emit("add.s32 " + sum + ", " + call.in(value) + ", " + std::to_string(constant) + ";", Effect::Acts)[0];
}

Values unpack(llvm::IRBuilderBase& b, llvm::Value* aggregate) {
  auto* type = llvm::dyn_cast<llvm::StructType>(aggregate->getType());
  if (!type) return {aggregate};
  Values values;
  for (unsigned i = 0; i < type->getNumElements(); ++i) values.push_back(b.CreateExtractValue(aggregate, i));
  return values;
}

void wgmmaFence(llvm::IRBuilderBase& b) { Call(b).emit("wgmma.fence.sync.aligned;", Effect::Acts); }
void wgmmaCommit(llvm::IRBuilderBase& b) { Call(b).emit("wgmma.commit_group.sync.aligned;", Effect::Acts); }

Values wgmmaWait(llvm::IRBuilderBase& b, int pending, ValueRange carried) {
  Call call(b);
  for (llvm::Value* v : carried) call.inOut(v);
  return call.emit("wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";", Effect::Acts);
}

}  // namespace tandem::codegen::ptx
