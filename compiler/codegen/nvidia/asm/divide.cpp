// div
#include "compiler/codegen/nvidia/asm/divide.h"

namespace tandem::codegen::ptx {

static Divided divideWords(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, bool isSigned) {
  Call call(b);
  std::string text = (isSigned ? "div.s32 " : "div.u32 ") + call.out(b.getInt32Ty()) + ", ";
  text += call.in(x) + ", ";
  llvm::Value* quotient = call.emit(text + call.in(y) + ";", Effect::Pure)[0];
  return {quotient, b.CreateSub(x, b.CreateMul(quotient, y))};
}

// Numbers of 64 bits are mostly small. Where the upper halves of both are zero, the lower ones are divided, a fifth of the
// instructions; LLVM does so, too, but branches for each element, and moves nothing across.
Divided divide(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y, bool isSigned) {
  if (x->getType()->isIntegerTy(32)) return divideWords(b, x, y, isSigned);
  Call call(b);
  std::string quotient = call.out(b.getInt64Ty()), remainder = call.out(b.getInt64Ty());
  std::string dividend = call.in(x), divisor = call.in(y), wide = isSigned ? "s64 " : "u64 ";
  std::string text = "{\n\t.reg .pred large, none;\n\t.reg .b32 upper, a, b, q, r, ones;\n\t.reg .b64 both, q64;\n\t";
  text += "or.b64 both, " + dividend + ", " + divisor + ";\n\tmov.b64 {_, upper}, both;\n\t";
  text += "setp.ne.b32 large, upper, 0;\n\t@large bra LARGE;\n\t";
  text += "cvt.u32.u64 a, " + dividend + ";\n\tcvt.u32.u64 b, " + divisor + ";\n\t";
  text += "div.u32 q, a, b;\n\tmul.lo.u32 r, q, b;\n\tsub.u32 r, a, r;\n\t";
  text += "setp.eq.b32 none, b, 0;\n\tselp.b32 ones, -1, 0, none;\n\t";
  text += "mov.b64 " + quotient + ", {q, ones};\n\tcvt.u64.u32 " + remainder + ", r;\n\tbra DONE;\n";
  text += "LARGE:\n\tdiv." + wide + "q64, " + dividend + ", " + divisor + ";\n\t";
  text += "setp.eq.b64 none, " + divisor + ", 0;\n\tselp.b64 q64, -1, q64, none;\n\t";
  text += "mul.lo.u64 both, q64, " + divisor + ";\n\tsub.u64 " + remainder + ", " + dividend + ", both;\n\t";
  text += "mov.b64 " + quotient + ", q64;\nDONE:\n\t}";
  Values both = call.emit(text, Effect::Pure);
  return {both[0], both[1]};
}

}  // namespace tandem::codegen::ptx
