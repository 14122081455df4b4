// Loads and stores with predicates, vectors, cache hints, order and scope.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

enum class Space { Generic, Global, Shared, SharedCluster };
enum class Order { Weak, Relaxed, Acquire, Release, AcquireRelease };
enum class Scope { Block, Cluster, Device, System };

// Triton's cache modifiers. Loads: Ca, Cg, Cs, Cv; stores: Wb, Cg, Cs, Wt.
enum class Cache { Default, Ca, Cg, Cs, Cv, Wb, Wt };
// The eviction priority of a line in L1 (eviction_policy). It is ignored where a cache modifier is given, as PTX has no
// place for both.
enum class Evict { Normal, First, Last, NoAllocate };

struct AccessOptions {
  Space space = Space::Global;
  Order order = Order::Weak;  // Relaxed, and Acquire of a load or Release of a store, need no cache hints
  Scope scope = Scope::Device;
  Cache cache = Cache::Default;
  Evict evict = Evict::Normal;
  llvm::Value* l2Policy = nullptr;  // of `cachePolicy`
  bool isVolatile = false;
};

// `count` (1, 2, 4) neighbouring elements of `element` (8 to 64 bits), aligned to their whole size, at most 16 bytes.
// Where `predicate` is false the result is `other`, element by element, or zero when `other` is empty.
Values load(llvm::IRBuilderBase& b, llvm::Type* element, unsigned count, llvm::Value* pointer, llvm::Value* predicate, ValueRange other,
            const AccessOptions& options = {});

void store(llvm::IRBuilderBase& b, ValueRange values, llvm::Value* pointer, llvm::Value* predicate, const AccessOptions& options = {});

// A 64-bit L2 policy for all of an access (createpolicy.fractional).
llvm::Value* cachePolicy(llvm::IRBuilderBase& b, Evict evict);

// ".global", ".acquire", ".gpu" and so on.
std::string text(Space space);
std::string text(Order order);
std::string text(Scope scope);

}  // namespace tandem::codegen::ptx
