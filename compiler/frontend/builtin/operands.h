// Rows use these functions to turn bound arguments into operands of ops: scalar numbers, pointers, and words such as
// scopes and orders. Typing rules are not here; they are in `semantic`.
#pragma once
#include "compiler/frontend/builtin/rows.h"

namespace tandem::frontend::builtin {

Caller callerOf(dist::Group group);

// A scalar integer of type `dtype` from a Python integer or an integer scalar of any width.
mlir::Value integer(Context&, const Value&, Scalar dtype, const std::string& what);
// A scalar pointer. `what` names the parameter.
Tensor pointer(Context&, const Value&, const std::string& what);
// The same, of memory that the builtin writes.
Tensor writable(Context&, const Value&, const std::string& what);
// A scalar tensor of any type; a Python number becomes one.
Tensor scalar(Context&, const Value&, const std::string& what);
// A scalar tensor of exactly `dtype`: numbers and other scalars are converted.
Tensor scalarOf(Context&, const Value&, DType dtype, const std::string& what);
// A pointer to a signal: uint64 or int64.
Tensor signalPointer(Context&, const Value&, const std::string& what);
Tensor writableSignal(Context&, const Value&, const std::string& what);

// Words. HIP's spellings ("agent", "monotonic") are accepted; an empty word is the first value of `fallback`.
tile::Scope scope(Context&, const Value&, const std::string& what, tile::Scope fallback = tile::Scope::Gpu);
tile::Semantic order(Context&, const Value&, const std::string& what,
                     tile::Semantic fallback = tile::Semantic::Relaxed);
// NVSHMEM_CMP_* or a comparison's word ("eq", "ne", "gt", "le", "lt", "ge").
dist::Compare comparison(Context&, const Value&, const std::string& what);
// NVSHMEM_SIGNAL_SET, NVSHMEM_SIGNAL_ADD, "set" or "add".
dist::SignalKind signalKind(Context&, const Value&, const std::string& what);

// `*shape` parameters: one tuple or the numbers themselves.
Value sequence(const std::vector<Value>& rest);
std::vector<int64_t> integers(Context&, const Value&,
                              const std::string& what);  // a constexpr integer or a tuple of them

Tensor scalarTensor(mlir::Value, Scalar);
// The same pointer to elements of another type.
Tensor pointerTo(Context&, Tensor pointer, DType element);
Tensor asInteger(Context&, Tensor scalar);  // the same bits as an unsigned integer
int64_t elementBytes(Context&, const Tensor& pointer, const std::string& what);

}  // namespace tandem::frontend::builtin
