// ld and st. A masked load ties its results to their values for a false predicate, so that one instruction is enough.
#include "compiler/codegen/nvidia/asm/memory.h"

namespace tandem::codegen::ptx {
namespace {

std::string text(Cache cache) {
  static constexpr const char* names[] = {"", ".ca", ".cg", ".cs", ".cv", ".wb", ".wt"};
  return names[int(cache)];
}

std::string text(Evict evict) {
  static constexpr const char* names[] = {"", ".L1::evict_first", ".L1::evict_last", ".L1::no_allocate"};
  return names[int(evict)];
}

// Everything between "ld" or "st" and the type.
std::string modifiers(const AccessOptions& o, size_t count) {
  std::string order = o.isVolatile ? ".volatile" : ptx::text(o.order);
  if (o.order != Order::Weak && !o.isVolatile) order += ptx::text(o.scope);
  std::string hints = o.cache != Cache::Default ? text(o.cache) : text(o.evict);
  if (o.order != Order::Weak || o.isVolatile) hints = "";
  return order + ptx::text(o.space) + hints + (o.l2Policy ? ".L2::cache_hint" : "") +
         (count > 1 ? ".v" + std::to_string(count) : "");
}

std::string typeSuffix(llvm::Type* element) {
  unsigned bits = element->isPointerTy() ? 64 : unsigned(element->getPrimitiveSizeInBits());
  return ".b" + std::to_string(std::max(bits, 8u));
}

Effect effectOf(const AccessOptions& o) {
  return o.order == Order::Weak && !o.isVolatile ? Effect::Reads : Effect::Acts;
}

}  // namespace

std::string text(Space space) {
  static constexpr const char* names[] = {"", ".global", ".shared", ".shared::cluster"};
  return names[int(space)];
}

std::string text(Order order) {
  static constexpr const char* names[] = {"", ".relaxed", ".acquire", ".release", ".acq_rel"};
  return names[int(order)];
}

std::string text(Scope scope) {
  static constexpr const char* names[] = {".cta", ".cluster", ".gpu", ".sys"};
  return names[int(scope)];
}

Values load(llvm::IRBuilderBase& b, llvm::Type* element, unsigned count, llvm::Value* pointer, llvm::Value* predicate,
            ValueRange other, const AccessOptions& options) {
  Call call(b);
  std::string results;
  if (predicate) {
    Values initial(other.begin(), other.end());
    if (initial.empty()) initial.assign(count, llvm::Constant::getNullValue(element));
    results = call.inOuts(initial);
  } else {
    results = call.outs(element, count);
  }
  std::string guard = call.guard(predicate);
  std::string from = call.address(pointer);
  if (options.l2Policy) from += ", " + call.in(options.l2Policy);
  return call.emit(guard + "ld" + modifiers(options, count) + typeSuffix(element) + " " + results + ", " + from + ";",
                   effectOf(options));
}

void store(llvm::IRBuilderBase& b, ValueRange values, llvm::Value* pointer, llvm::Value* predicate,
           const AccessOptions& options) {
  Call call(b);
  std::string guard = call.guard(predicate);
  std::string to = call.address(pointer);
  std::string what = call.ins(values);
  if (options.l2Policy) what += ", " + call.in(options.l2Policy);
  call.emit(guard + "st" + modifiers(options, values.size()) + typeSuffix(values[0]->getType()) + " " + to + ", " +
                what + ";",
            Effect::Acts);
}

llvm::Value* cachePolicy(llvm::IRBuilderBase& b, Evict evict) {
  static constexpr const char* names[] = {"evict_normal", "evict_first", "evict_last", "evict_unchanged"};
  Call call(b);
  std::string result = call.out(b.getInt64Ty());
  return call.emit("createpolicy.fractional.L2::" + std::string(names[int(evict)]) + ".b64 " + result + ", 1.0;",
                   Effect::Pure)[0];
}

}  // namespace tandem::codegen::ptx
