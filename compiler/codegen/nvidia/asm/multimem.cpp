// multimem.ld_reduce, multimem.st
#include "compiler/codegen/nvidia/asm/multimem.h"

namespace tandem::codegen::ptx {
namespace {

std::string name(MultimemType type) {
  static constexpr const char* names[] = {".f32", ".f16x2", ".bf16x2", ".u32", ".s32", ".u64", ".f64"};
  return names[int(type)];
}

llvm::Type* llvmType(llvm::IRBuilderBase& b, MultimemType type) {
  switch (type) {
    case MultimemType::F32: return b.getFloatTy();
    case MultimemType::F16x2: return llvm::FixedVectorType::get(b.getHalfTy(), 2);
    case MultimemType::BF16x2: return llvm::FixedVectorType::get(b.getBFloatTy(), 2);
    case MultimemType::U64: return b.getInt64Ty();
    case MultimemType::F64: return b.getDoubleTy();
    case MultimemType::U32:
    case MultimemType::S32: return b.getInt32Ty();
  }
  llvm_unreachable("all types are listed");
}

bool isPair(MultimemType type) { return type == MultimemType::F16x2 || type == MultimemType::BF16x2; }
std::string vector(size_t count) { return count > 1 ? ".v" + std::to_string(count) : ""; }

}  // namespace

Values multimemLoadAdd(llvm::IRBuilderBase& b, MultimemType type, unsigned count, llvm::Value* pointer) {
  Call call(b);
  std::string results = call.outs(llvmType(b, type), count);
  return call.emit("multimem.ld_reduce.relaxed.sys.global.add" + std::string(isPair(type) ? ".acc::f32" : "") +
                       vector(count) + name(type) + " " + results + ", " + call.address(pointer) + ";",
                   Effect::Acts);
}

void multimemStore(llvm::IRBuilderBase& b, MultimemType type, ValueRange values, llvm::Value* pointer,
                   llvm::Value* predicate) {
  Call call(b);
  std::string guard = call.guard(predicate);
  std::string to = call.address(pointer);
  call.emit(guard + "multimem.st.relaxed.sys.global" + vector(values.size()) + name(type) + " " + to + ", " +
                call.ins(values) + ";",
            Effect::Acts);
}

}  // namespace tandem::codegen::ptx
