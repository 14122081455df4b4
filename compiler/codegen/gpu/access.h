// These enums and options describe accesses to memory, exchanges within a warp and approximations for any GPU.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Value.h>

namespace tandem::codegen {

using Values = llvm::SmallVector<llvm::Value*, 4>;
using ValueRange = llvm::ArrayRef<llvm::Value*>;

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
  llvm::Value* l2Policy = nullptr;  // of NVIDIA's `cachePolicy`
  bool isVolatile = false;
};

enum class AtomicOp { Add, Min, Max, And, Or, Xor, Exchange };
enum class AtomicType { S32, U32, S64, U64, B32, B64, F16, F16x2, BF16, BF16x2, F32, F64 };
struct AtomicOptions {
  Order order = Order::AcquireRelease;  // not Weak
  Scope scope = Scope::Device;
  Space space = Space::Global;
  llvm::Value* predicate = nullptr;
};

enum class Shuffle { Butterfly, Up, Down, Index };
enum class WarpReduction { Add, MinS32, MaxS32, MinU32, MaxU32, And, Or, Xor };

enum class Approximate { Exp2, Log2, Sqrt, ReciprocalSqrt, Sin, Cos, Tanh };
enum class Float8 { E4M3, E5M2 };

}  // namespace tandem::codegen
