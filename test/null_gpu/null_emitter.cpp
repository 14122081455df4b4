// Requests as text. LLVM IR around them is what any GPU's back end would take, and is verified.
#include "test/null_gpu/null_emitter.h"

namespace tandem::lower::null {
namespace {

const char* nameOf(AtomicOp op) {
  static constexpr const char* names[] = {"add", "min", "max", "and", "or", "xor", "exchange"};
  return names[int(op)];
}
const char* nameOf(AtomicType type) {
  static constexpr const char* names[] = {"s32", "u32",   "s64",  "u64",    "b32", "b64",
                                          "f16", "f16x2", "bf16", "bf16x2", "f32", "f64"};
  return names[int(type)];
}
const char* nameOf(Scope scope) {
  static constexpr const char* names[] = {"block", "cluster", "device", "system"};
  return names[int(scope)];
}
const char* nameOf(gpu::Order order) {
  static constexpr const char* names[] = {"weak", "relaxed", "acquire", "release", "acquire-release"};
  return names[int(order)];
}
std::string textOf(const AtomicOptions& o) {
  return std::string(" ") + nameOf(o.order) + " " + nameOf(o.scope) + (o.predicate ? " masked" : "");
}
std::string textOf(const AccessOptions& o, llvm::Value* predicate) {
  std::string order = o.order == gpu::Order::Weak ? "" : std::string(" ") + nameOf(o.order) + " " + nameOf(o.scope);
  return order + (predicate ? " masked" : "");
}

}  // namespace

llvm::Value* NullEmitter::quietly(const llvm::Twine& what, llvm::Type* result, Scalars operands) {
  llvm::SmallVector<llvm::Type*> types;
  std::string name = what.str();
  llvm::replace(name, ' ', '_');
  for (llvm::Value* v : operands) {
    types.push_back(v->getType());
    llvm::raw_string_ostream(name) << "." << *v->getType();
  }
  llvm::raw_string_ostream(name) << "." << *result;
  auto callee = module_.getOrInsertFunction("null." + name, llvm::FunctionType::get(result, types, false));
  return b_.CreateCall(callee, operands);
}

llvm::Value* NullEmitter::ask(const llvm::Twine& what, llvm::Type* result, Scalars operands) {
  out_ << what;
  for (auto [i, v] : llvm::enumerate(operands)) out_ << (i ? ", " : " of ") << *v->getType();
  if (!result->isVoidTy()) out_ << " -> " << *result;
  out_ << "\n";
  return quietly(what, result, operands);
}

void NullEmitter::finish(llvm::Function& function) { out_ << "kernel " << function.getName() << "\n"; }

llvm::GlobalVariable* NullEmitter::sharedMemory(llvm::Module& module) {
  return new llvm::GlobalVariable(module, llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0), false,
                                  llvm::GlobalValue::ExternalLinkage, nullptr, "shared", nullptr,
                                  llvm::GlobalValue::NotThreadLocal, 3);
}

// A program has one block.
llvm::Value* NullEmitter::loadFirstBlock(llvm::Value* shared, unsigned bits) {
  return b_.CreateLoad(b_.getIntNTy(bits), shared);
}

void NullEmitter::namedBarrier(int id, int threads, bool arriveOnly) {
  ask(llvm::Twine(arriveOnly ? "arrive at" : "barrier ") + llvm::Twine(id) + " of " + llvm::Twine(threads));
}

llvm::Value* NullEmitter::shuffle(Shuffle mode, llvm::Value* value, llvm::Value* lane, llvm::Value*) {
  static constexpr const char* names[] = {"butterfly", "up", "down", "index"};
  std::string by = llvm::isa<llvm::ConstantInt>(lane)
                       ? " by " + std::to_string(llvm::cast<llvm::ConstantInt>(lane)->getZExtValue())
                       : "";
  return ask(std::string("shuffle ") + names[int(mode)] + by, value->getType(), {value, lane});
}

Values NullEmitter::load(llvm::Type* element, unsigned count, llvm::Value* pointer, llvm::Value* predicate,
                         Scalars other, const AccessOptions& options) {
  llvm::Type* type = count == 1 ? element : llvm::FixedVectorType::get(element, count);
  llvm::Value* all = ask("load" + textOf(options, predicate), type, {pointer});
  if (count == 1) return {all};
  Values out;
  for (unsigned i = 0; i < count; ++i) out.push_back(b_.CreateExtractElement(all, i));
  return out;
}

void NullEmitter::store(Scalars values, llvm::Value* pointer, llvm::Value* predicate, const AccessOptions& options) {
  llvm::SmallVector<llvm::Value*> operands(values.begin(), values.end());
  operands.push_back(pointer);
  ask("store" + textOf(options, predicate), operands);
}

bool NullEmitter::hasAtomic(AtomicOp op, AtomicType type) const {
  using T = AtomicType;
  return type == T::S32 || type == T::U32 || type == T::B32 || (op == AtomicOp::Add && type == T::F32);
}
llvm::Value* NullEmitter::atomic(AtomicOp op, AtomicType type, llvm::Value* pointer, llvm::Value* value,
                                 const AtomicOptions& options) {
  return ask(llvm::Twine("atomic ") + nameOf(op) + " " + nameOf(type) + textOf(options), value->getType(),
             {pointer, value});
}
Values NullEmitter::atomics(AtomicOp op, AtomicType type, llvm::Value* pointer, Scalars values,
                            const AtomicOptions& options) {
  return {atomic(op, type, pointer, values[0], options)};
}
void NullEmitter::reduceInto(AtomicOp op, AtomicType type, llvm::Value* pointer, Scalars values,
                             const AtomicOptions& options) {
  ask(std::string("reduce ") + nameOf(op) + " " + nameOf(type) + textOf(options), {pointer, values[0]});
}
llvm::Value* NullEmitter::compareAndSwap(llvm::Value* pointer, llvm::Value* expected, llvm::Value* desired,
                                         const AtomicOptions& options) {
  return ask("compare and swap" + textOf(options), desired->getType(), {pointer, expected, desired});
}
void NullEmitter::fence(Scope scope, bool sequential) {
  ask(llvm::Twine(sequential ? "sequential fence " : "fence ") + nameOf(scope));
}

llvm::Value* NullEmitter::approximate(codegen::Approximate function, llvm::Value* x) {
  static constexpr const char* names[] = {"exp2", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh"};
  return ask(llvm::Twine("approximate ") + names[int(function)], x->getType(), {x});
}

llvm::Value* NullEmitter::packFloats(llvm::Type* element, llvm::Value* first, llvm::Value* second, bool) {
  return ask("pack floats", llvm::FixedVectorType::get(element, 2), {first, second});
}

}  // namespace tandem::lower::null
