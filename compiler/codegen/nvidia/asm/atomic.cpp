// atom, red and fence.
#include "compiler/codegen/nvidia/asm/atomic.h"

namespace tandem::codegen::ptx {
namespace {

std::string text(AtomicOp op) {
  static constexpr const char* names[] = {".add", ".min", ".max", ".and", ".or", ".xor", ".exch"};
  return names[int(op)];
}

std::string text(AtomicOp op, AtomicType type) {
  if (type == AtomicType::S64 && op == AtomicOp::Add) type = AtomicType::U64;
  static constexpr const char* names[] = {".s32", ".u32",   ".s64",         ".u64",           ".b32", ".b64",
                                          ".noftz.f16", ".noftz.f16x2", ".noftz.bf16", ".noftz.bf16x2", ".f32", ".f64"};
  return names[int(type)];
}

std::string place(const AtomicOptions& o) { return text(o.order) + text(o.scope) + text(o.space); }

// A place for the old value. Unpredicated operations always write it.
std::string oldValue(Call& call, llvm::Type* type, llvm::Value* predicate) {
  return predicate ? call.inOut(llvm::Constant::getNullValue(type)) : call.out(type);
}

}  // namespace

llvm::Value* atomic(llvm::IRBuilderBase& b, AtomicOp op, AtomicType type, llvm::Value* pointer, llvm::Value* value,
                    const AtomicOptions& options) {
  Call call(b);
  std::string old = oldValue(call, value->getType(), options.predicate);
  std::string guard = call.guard(options.predicate);
  std::string at = call.address(pointer);
  return call.emit(guard + "atom" + place(options) + text(op) + text(op, type) + " " + old + ", " + at + ", " + call.in(value) + ";",
                   Effect::Acts)[0];
}

void reduceInto(llvm::IRBuilderBase& b, AtomicOp op, AtomicType type, llvm::Value* pointer, llvm::Value* value,
                const AtomicOptions& options) {
  Call call(b);
  std::string guard = call.guard(options.predicate);
  std::string at = call.address(pointer);
  call.emit(guard + "red" + place(options) + text(op) + text(op, type) + " " + at + ", " + call.in(value) + ";", Effect::Acts);
}

llvm::Value* compareAndSwap(llvm::IRBuilderBase& b, llvm::Value* pointer, llvm::Value* expected, llvm::Value* desired,
                            const AtomicOptions& options) {
  Call call(b);
  std::string old = oldValue(call, desired->getType(), options.predicate);
  std::string guard = call.guard(options.predicate);
  std::string at = call.address(pointer);
  std::string operands = at + ", " + call.in(expected);
  operands += ", " + call.in(desired);
  unsigned bits = desired->getType()->isPointerTy() ? 64 : unsigned(desired->getType()->getPrimitiveSizeInBits());
  return call.emit(guard + "atom" + place(options) + ".cas.b" + std::to_string(bits) + " " + old + ", " + operands + ";", Effect::Acts)[0];
}

void fence(llvm::IRBuilderBase& b, Scope scope, bool sequential) {
  Call(b).emit((sequential ? "fence.sc" : "fence.acq_rel") + text(scope) + ";", Effect::Acts);
}

void fenceProxyAsync(llvm::IRBuilderBase& b, ProxySpace space) {
  static constexpr const char* names[] = {"fence.proxy.async;", "fence.proxy.async.global;", "fence.proxy.async.shared::cta;"};
  Call(b).emit(names[int(space)], Effect::Acts);
}

void fenceBarrierInit(llvm::IRBuilderBase& b) { Call(b).emit("fence.mbarrier_init.release.cluster;", Effect::Acts); }

}  // namespace tandem::codegen::ptx
