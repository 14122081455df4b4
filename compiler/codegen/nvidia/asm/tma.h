// Bulk copies by the tensor memory accelerator (sm_90): tiles described by a tensor map, and plain ranges of bytes.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

// One thread issues each of these. Coordinates are i32, 1 to 5 of them, innermost first, as the hardware counts.

struct TensorLoad {
  llvm::Value* map;  // the tensor map's generic address
  ValueRange coordinates;
  llvm::Value* shared;               // aligned to 128 bytes
  llvm::Value* barrier;              // an mbarrier that is told the bytes
  llvm::Value* multicast = nullptr;  // i16, one bit for each block of the cluster that gets the tile
  llvm::Value* l2Policy = nullptr;
  llvm::Value* predicate = nullptr;
};
void tensorLoad(llvm::IRBuilderBase& b, const TensorLoad& copy);

// Write-back; done after commitBulk and waitBulk. The shared memory must have been fenced with fenceProxyAsync.
struct TensorStore {
  llvm::Value* map;
  ValueRange coordinates;
  llvm::Value* shared;
  llvm::Value* l2Policy = nullptr;
  llvm::Value* predicate = nullptr;
};
enum class BulkReduction { None, Add, Min, Max, And, Or, Xor };
void tensorStore(llvm::IRBuilderBase& b, const TensorStore& copy, BulkReduction reduction = BulkReduction::None);

void prefetchTensorMap(llvm::IRBuilderBase& b, llvm::Value* map, llvm::Value* predicate = nullptr);

// A thread writes a map by ordinary stores, releases, and acquires it before it copies by it.
void fenceTensorMapRelease(llvm::IRBuilderBase& b);
void fenceTensorMapAcquire(llvm::IRBuilderBase& b, llvm::Value* map);

// `bytes` (i32) and all addresses are multiples of 16. Global memory may be a peer's.
void bulkLoad(llvm::IRBuilderBase& b, llvm::Value* shared, llvm::Value* global, llvm::Value* bytes,
              llvm::Value* barrier, llvm::Value* l2Policy = nullptr, llvm::Value* predicate = nullptr);
void bulkStore(llvm::IRBuilderBase& b, llvm::Value* global, llvm::Value* shared, llvm::Value* bytes,
               llvm::Value* l2Policy = nullptr, llvm::Value* predicate = nullptr);

void commitBulk(llvm::IRBuilderBase& b);
// Waits until at most `pending` groups of this thread's stores are under way; with `readOnly` only until they have read
// shared memory.
void waitBulk(llvm::IRBuilderBase& b, int pending, bool readOnly);

}  // namespace tandem::codegen::ptx
