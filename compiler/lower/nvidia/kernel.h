// Lowering for NVIDIA's GPUs keeps this state beside the state that every GPU's lowering shares: buffers and rings in
// shared memory, tensor maps, warp roles.
#pragma once
#include "compiler/codegen/nvidia/asm/asm.h"
#include "compiler/lower/gpu/kernel.h"
#include <llvm/ADT/MapVector.h>

namespace tandem::lower::nvidia {

namespace ptx = codegen::ptx;
using namespace gpu;

enum Counter { kFill, kTake, kRelease };
struct Ring {
  int slots = 0;
  bool isGate = false, isMailbox = false, isCluster = false;
  bool isCopied = false;       // by the block's own threads: no barriers, and takes come before the reads
  bool isOfGroups = false;     // of those, each group of four warps reads what it copies
  int ahead = 0;               // of those, how many fills come before their reads
  bool feedsProducts = false;  // of those, one that wgmma reads
  Counter release = kRelease;  // what releases go by; kTake: of one counter with takes, which releases advance
  int64_t bytes = 0, full = 0, empty = 0;  // offsets of the barriers in shared memory
  // Slot and parity of the next fill, take and release, in this role.
  llvm::AllocaInst *slot[3] = {}, *parity[3] = {};
};

struct Buffer {
  int64_t offset = 0, slotBytes = 0;
  int swizzle = 0;
  std::optional<unsigned> fastest;  // dimension; without it the last
};

// A tensor map of values that the kernel computes (made_maps.h).
struct MadeMap {
  mlir::Value base;
  llvm::SmallVector<mlir::Value> shape, strides;
  abi::TensorMapRecipe form;  // without expressions
  unsigned makers = 1;        // threads with a map of their own each
  bool isStored = false;
  int64_t shared = 0;  // the offset of the first maker's in shared memory
  int64_t first = 0;   // its number among the block's maps
};

class KernelContext : public gpu::KernelContext {
 public:
  using gpu::KernelContext::KernelContext;

  llvm::MapVector<mlir::Value, Ring> rings;  // in the order of the code, which decides the order of the output
  Ring& ringOf(mlir::Value ring) { return rings.find(ring)->second; }
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  bool stagesInRings = false;  // panels of TMA stores lie where the rings of loops do
  // The block's named barriers: behind its own and the consumers', one for each group of four warps that stores by TMA, then
  // those of the warps beside the consumers. Groups that take turns have the last ones.
  static constexpr int kBlockBarrier = 0, kConsumersBarrier = 1, kGroupBarrier = 2, kProducersBarrier = 6,
                       kPreparersBarrier = 7;
  // Panels of TMA stores for each group, and where they are.
  int64_t stagingPanels = 0, staging = 0, stagingBytes = 0;
  bool signallerStores = false;
  llvm::DenseMap<mlir::Operation*, unsigned> tensorMaps;  // index into KernelImage::tensorMaps
  std::vector<MadeMap> madeMaps;
  llvm::DenseMap<mlir::Operation*, unsigned> madeMapOf;        // index into madeMaps
  llvm::DenseMap<mlir::Operation*, llvm::Value*> mapsOfLoads;  // made before the loop that loads by them
  llvm::SmallDenseSet<mlir::Operation*> storesWithMaps;        // made before the loop in front of them
  int64_t placeOfMaps = 0;  // where the number of the block's place in global memory is in shared memory
  int64_t meeting = -1;     // the offset of the barrier that the program's blocks meet at; -1: they never do
  llvm::AllocaInst* meetingParity = nullptr;
  int maxRegisters = 0;  // a thread's, by the kernel's options; 0: no bound
};

// A row of the table whose lowering wants this context.
template <class... Ops, class F>
void on(Lowerings& table, F) {
  table.on<Ops...>([](gpu::KernelContext& cx, auto op) { F{}(static_cast<KernelContext&>(cx), op); });
}

// Each construct's rows, in its own file.
void registerCluster(Lowerings& table);
void registerControl(Lowerings& table);
void registerCopies(Lowerings& table);
void registerDot(Lowerings& table);
void registerInlineAsm(Lowerings& table);
void registerMultimem(Lowerings& table);
void registerRing(Lowerings& table);
void registerSimtBulk(Lowerings& table);
void registerTensormap(Lowerings& table);
void registerTma(Lowerings& table);
void registerWgmma(Lowerings& table);

}  // namespace tandem::lower::nvidia
