// Loads and stores with predicates, vectors, cache hints, order and scope.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

using codegen::AccessOptions, codegen::Cache, codegen::Evict, codegen::Order, codegen::Scope, codegen::Space;

// `count` (1, 2, 4) neighbouring elements of `element` (8 to 64 bits), aligned to their whole size, at most 16 bytes.
// Where `predicate` is false the result is `other`, element by element, or zero when `other` is empty.
Values load(llvm::IRBuilderBase& b, llvm::Type* element, unsigned count, llvm::Value* pointer, llvm::Value* predicate,
            ValueRange other, const AccessOptions& options = {});

void store(llvm::IRBuilderBase& b, ValueRange values, llvm::Value* pointer, llvm::Value* predicate,
           const AccessOptions& options = {});

// A 64-bit L2 policy for all of an access (createpolicy.fractional).
llvm::Value* cachePolicy(llvm::IRBuilderBase& b, Evict evict);

// ".global", ".acquire", ".gpu" and so on.
std::string text(Space space);
std::string text(Order order);
std::string text(Scope scope);

}  // namespace tandem::codegen::ptx
