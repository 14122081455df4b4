// ldmatrix, stmatrix, mma.sync
#include "compiler/codegen/nvidia/asm/matrix.h"

namespace tandem::codegen::ptx {
namespace {

std::string shape(size_t count, bool transposed) {
  return ".sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") + ".shared.b16 ";
}

// Vector operands of these instructions keep their braces when there is one register.
std::string braced(const std::string& list) { return list.front() == '{' ? list : "{" + list + "}"; }

}  // namespace

unsigned bitsOf(Element element) {
  if (element == Element::F64) return 64;
  if (element == Element::TF32) return 32;
  return element == Element::F16 || element == Element::BF16 ? 16 : 8;
}

std::string text(Element element) {
  static constexpr const char* names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "f64"};
  return names[int(element)];
}

std::string text(Accumulator accumulator) {
  static constexpr const char* names[] = {"f16", "f32", "s32", "f64"};
  return names[int(accumulator)];
}

Values loadMatrix(llvm::IRBuilderBase& b, llvm::Value* address, unsigned count, bool transposed) {
  Call call(b);
  std::string results = braced(call.outs(b.getInt32Ty(), count));
  return call.emit("ldmatrix" + shape(count, transposed) + results + ", " + call.address(address) + ";", Effect::Acts);
}

void storeMatrix(llvm::IRBuilderBase& b, llvm::Value* address, ValueRange matrices, bool transposed) {
  Call call(b);
  std::string to = call.address(address);
  call.emit("stmatrix" + shape(matrices.size(), transposed) + to + ", " + braced(call.ins(matrices)) + ";",
            Effect::Acts);
}

Values mmaSync(llvm::IRBuilderBase& builder, const MmaSync& op, ValueRange a, ValueRange b, ValueRange c) {
  constexpr unsigned kLanesAlongK = 4, kWordBits = 32;
  unsigned k = unsigned(b.size()) * kLanesAlongK * std::max(1u, kWordBits / bitsOf(op.a));
  Call call(builder);
  std::string d = braced(call.outs(c[0]->getType(), c.size()));
  std::string operands = braced(call.ins(a)) + ", ";
  operands += braced(call.ins(b)) + ", ";
  operands += braced(call.ins(c));
  std::string accumulator = text(op.accumulator);
  return call.emit("mma.sync.aligned.m16n8k" + std::to_string(k) + ".row.col." + accumulator + "." + text(op.a) + "." +
                       text(op.b) + "." + accumulator + " " + d + ", " + operands + ";",
                   Effect::Collective);
}

}  // namespace tandem::codegen::ptx
