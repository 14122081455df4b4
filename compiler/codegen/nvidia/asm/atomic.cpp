// atom, red and fence.
#include "compiler/codegen/nvidia/asm/atomic.h"

namespace tandem::codegen::ptx {
namespace {

std::string text(AtomicOp op) {
  static constexpr const char* names[] = {".add", ".min", ".max", ".and", ".or", ".xor", ".exch"};
  return names[int(op)];
}

// The type, behind the number of registers where there are several.
std::string text(AtomicOp op, AtomicType type, size_t count) {
  if (type == AtomicType::S64 && op == AtomicOp::Add) type = AtomicType::U64;
  static constexpr const char* names[] = {".s32", ".u32",   ".s64",  ".u64",    ".b32", ".b64",
                                          ".f16", ".f16x2", ".bf16", ".bf16x2", ".f32", ".f64"};
  bool isHalf = type >= AtomicType::F16 && type <= AtomicType::BF16x2;
  return std::string(isHalf ? ".noftz" : "") + (count > 1 ? ".v" + std::to_string(count) : "") + names[int(type)];
}

std::string place(const AtomicOptions& o) { return ptx::text(o.order) + ptx::text(o.scope) + ptx::text(o.space); }

// Places for old values. Unpredicated operations always write them.
std::string oldValues(Call& call, llvm::Type* type, size_t count, llvm::Value* predicate) {
  return predicate ? call.inOuts(Values(count, llvm::Constant::getNullValue(type))) : call.outs(type, count);
}

}  // namespace

Values atomics(llvm::IRBuilderBase& b, AtomicOp op, AtomicType type, llvm::Value* pointer, ValueRange values,
               const AtomicOptions& options) {
  Call call(b);
  std::string old = oldValues(call, values[0]->getType(), values.size(), options.predicate);
  std::string guard = call.guard(options.predicate);
  std::string at = call.address(pointer);
  return call.emit(guard + "atom" + place(options) + text(op) + text(op, type, values.size()) + " " + old + ", " + at +
                       ", " + call.ins(values) + ";",
                   Effect::Acts);
}

llvm::Value* atomic(llvm::IRBuilderBase& b, AtomicOp op, AtomicType type, llvm::Value* pointer, llvm::Value* value,
                    const AtomicOptions& options) {
  return atomics(b, op, type, pointer, value, options)[0];
}

void reduceInto(llvm::IRBuilderBase& b, AtomicOp op, AtomicType type, llvm::Value* pointer, ValueRange values,
                const AtomicOptions& options) {
  Call call(b);
  std::string guard = call.guard(options.predicate);
  std::string at = call.address(pointer);
  call.emit(guard + "red" + place(options) + text(op) + text(op, type, values.size()) + " " + at + ", " +
                call.ins(values) + ";",
            Effect::Acts);
}

llvm::Value* compareAndSwap(llvm::IRBuilderBase& b, llvm::Value* pointer, llvm::Value* expected, llvm::Value* desired,
                            const AtomicOptions& options) {
  Call call(b);
  std::string old = oldValues(call, desired->getType(), 1, options.predicate);
  std::string guard = call.guard(options.predicate);
  std::string at = call.address(pointer);
  std::string operands = at + ", " + call.in(expected);
  operands += ", " + call.in(desired);
  unsigned bits = desired->getType()->isPointerTy() ? 64 : unsigned(desired->getType()->getPrimitiveSizeInBits());
  return call.emit(
      guard + "atom" + place(options) + ".cas.b" + std::to_string(bits) + " " + old + ", " + operands + ";",
      Effect::Acts)[0];
}

void fence(llvm::IRBuilderBase& b, Scope scope, bool sequential) {
  Call(b).emit((sequential ? "fence.sc" : "fence.acq_rel") + text(scope) + ";", Effect::Acts);
}

void fenceProxyAsync(llvm::IRBuilderBase& b, ProxySpace space) {
  static constexpr const char* names[] = {"fence.proxy.async;", "fence.proxy.async.global;",
                                          "fence.proxy.async.shared::cta;"};
  Call(b).emit(names[int(space)], Effect::Acts);
}

void fenceBarrierInit(llvm::IRBuilderBase& b) { Call(b).emit("fence.mbarrier_init.release.cluster;", Effect::Acts); }

}  // namespace tandem::codegen::ptx
