// The kernel under construction: what all lowerings share. Each construct's own state and functions are in its file.
#pragma once
#include "abi/kernel_image.h"
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/conversion.h"
#include "compiler/lower/gpu/emitter.h"
#include "compiler/lower/gpu/lowerings.h"
#include "compiler/lower/gpu/places.h"
#include "compiler/lower/gpu/thread_values.h"
#include "compiler/target/target_info.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::lower::gpu {

class PeerLibrary;

// A value as one thread holds it: one LLVM value for each register of its layout; of a scalar, one.
using Regs = llvm::SmallVector<llvm::Value*, 4>;
using layout::LinearLayout;

// The threads that run the code being lowered: the whole block, the consumers among its warps, one thread that produces
// or one that signals, or a warpgroup that prepares. The numbers are those of traces.
enum class Role { Block, Consumers, Producer, Signaller, Preparer };

// A use of the region of shared memory that short-lived uses share.
struct ScratchUse {
  int64_t begin, end;
  llvm::Instruction* base;               // the address by which it accesses the region
  llvm::Instruction* meeting = nullptr;  // the barrier before it, if nothing else needs that
  bool isWithinWarps = false;
};

class KernelContext {
 public:
  KernelContext(llvm::IRBuilder<>& builder, llvm::Module& module, Places& places, const target::TargetInfo& target,
                abi::KernelImage& image, Emitter& emitter, const Lowerings& lowerings)
      : b(builder), module(module), context(module.getContext()), places(places), target(target), image(image),
        emit(emitter), lowerings_(lowerings) {}

  llvm::IRBuilder<>& b;
  llvm::Module& module;
  llvm::LLVMContext& context;
  Places& places;
  const target::TargetInfo& target;
  abi::KernelImage& image;
  Emitter& emit;
  PeerLibrary* peers = nullptr;  // null: peers' memory is reached by addresses
  llvm::Function* function = nullptr;
  int numWarps = 4, blocks = 1;  // of the program; a block's warps, without added ones
  int firstThread = 0;           // of those that run the code, whose own numbers begin at 0
  Role role = Role::Block;
  bool producesByGroup = false;  // all threads of a warpgroup are producers
  bool spins = false;            // the first thread alone repeats an update of memory (spin.h)
  bool isOneThread() const { return spins || role == Role::Producer || role == Role::Signaller; }

  // Lowers the whole kernel to a function of the module.
  void lower(mlir::func::FuncOp kernel);
  void lowerBlock(mlir::Block& block);  // all but the terminator
  [[noreturn]] void failUnsupported(mlir::Operation* op);

  //===- values.cpp ---------------------------------------------------------------------------------------------===//
  llvm::Type* typeOf(mlir::Type type);  // of one element
  LinearLayout layoutOf(mlir::Value value) const;
  size_t registersOf(mlir::Value value) const;
  const Regs& use(mlir::Value value);
  llvm::Value* useScalar(mlir::Value value) { return use(value).front(); }
  void define(mlir::Value value, Regs regs);
  // Calls `one` on operands register by register; scalars among them are repeated.
  template <class F>
  void mapRegisters(mlir::Operation* op, F one) {
    Regs out;
    for (size_t r = 0, n = registersOf(op->getResult(0)); r < n; ++r) {
      Regs operands;
      for (mlir::Value v : op->getOperands()) operands.push_back(pick(v, r));
      out.push_back(one(operands));
    }
    define(op->getResult(0), std::move(out));
  }
  llvm::Value* pick(mlir::Value value, size_t reg) {
    const Regs& regs = use(value);
    return regs.size() == 1 ? regs[0] : regs[reg];
  }
  // Values as they travel between basic blocks.
  llvm::SmallVector<Regs> useAll(mlir::ValueRange values);
  void defineAll(mlir::ValueRange values, llvm::ArrayRef<Regs> regs);
  const analysis::AxisInfoAnalysis& axes(mlir::Operation* inKernel);  // made at the first question

  //===- threads.cpp --------------------------------------------------------------------------------------------===//
  int warpSize() const { return target.warpSize(); }
  int numThreads() const { return warpSize() * numWarps; }
  llvm::Value* threadId() { return emit.threadId(); }
  llvm::Value* laneId();
  llvm::Value* warpId();   // one value for the warp, made once, so that code that depends on it can leave loops
  llvm::Value* ownWarp();  // the same as a thread computes it
  llvm::Value* isFirstThread() { return b.CreateICmpEQ(threadId(), b.getInt32(0)); }
  // `body` lowers code of so many other warps, from a thread of the block on.
  void asThreads(int first, int warps, llvm::function_ref<void()> body);
  llvm::Value* isFirstBlock() { return b.CreateICmpEQ(emit.blockRank(), b.getInt32(0)); }
  // The row-major position of register `reg` of a tile in this thread.
  llvm::Value* position(const LinearLayout& layout, size_t reg);
  llvm::Value* threadPosition(const LinearLayout& layout);
  // Returns the coordinates of a row-major position in `shape`.
  Regs coordinates(llvm::Value* position, llvm::ArrayRef<int64_t> shape);
  // Returns a condition that is true if this thread acts for the positions it holds, where others hold them too. Null:
  // always.
  llvm::Value* isOwner(const LinearLayout& layout);
  const ThreadValues& threadValues(mlir::Operation* op);
  // Runs `body` where `condition` holds (null: everywhere).
  void when(llvm::Value* condition, llvm::function_ref<void()> body);

  //===- program_order.cpp --------------------------------------------------------------------------------------===//
  llvm::Value* programId(int axis);
  int longestFirst = -1;  // the axis along which programs get longer; -1: blocks run programs of their own numbers
  int blocksPerMultiprocessor = 1;

  //===- loops.cpp: basic blocks, and loops that no op stands for -----------------------------------------------===//
  llvm::BasicBlock* newBlock(const char* name);
  llvm::AllocaInst* temporary(llvm::Type* type);  // a variable of the thread, which becomes a register
  void forEach(llvm::Value* begin, llvm::Value* end, llvm::Value* step, llvm::function_ref<void(llvm::Value*)> body);
  // `body` changes the values that are carried from one round to the next, and out.
  void repeat(Regs& carried, int64_t rounds, llvm::function_ref<void(llvm::Value*, Regs&)> body);
  // Gives the first value of `read` that passes `test`.
  llvm::Value* pollUntil(llvm::function_ref<llvm::Value*()> read, llvm::function_ref<llvm::Value*(llvm::Value*)> test);

  //===- shared.cpp: the block's shared memory ------------------------------------------------------------------===//
  llvm::Value* sharedAddress(llvm::Value* byteOffset);  // i32 -> ptr addrspace(3)
  llvm::Value* sharedAddress(int64_t byteOffset) { return sharedAddress(b.getInt32(byteOffset)); }
  // Returns the address of the element at offset threadOffset ^ own; `threads`: the bits that threadOffset may have.
  llvm::Value* sharedElement(llvm::Value* base, llvm::Value* threadOffset, uint64_t own, uint64_t threads,
                             unsigned bits);
  int64_t allocateShared(int64_t bytes, int64_t alignment);  // kept for the kernel's life

  //===- scratch.cpp: its region for short-lived uses, between loops where the rings of loops lie -----------------===//
  int64_t scratchBegin() const;
  // The threads meet before a use of what `scratch` gives.
  llvm::Value* scratch(int64_t bytes, mlir::Location loc);
  // The same, with that meeting, which `spareMeetings` takes away where it orders nothing. `isWithinWarps`: no warp touches
  // what another one stores.
  llvm::Value* meetBeforeScratch(int64_t bytes, mlir::Location loc, bool isWithinWarps = false);
  // Returns true if no later use lies where this one does.
  bool keepsScratch(size_t use) const;
  size_t numScratchUses() const { return scratchUses_.size(); }
  int64_t scratchBudget() const;
  int64_t sharedBytes = 0, sharedEnd = 0;            // what is allocated, and the end of all that is used
  int64_t freeBegin = 0;                             // from here on nothing lives while no ring of a loop does
  int liveRings = 0;                                 // rings of loops whose contents live
  llvm::DenseSet<llvm::Instruction*> blockBarriers;  // of all threads that run the code

  llvm::DenseMap<mlir::Value, int64_t> smemOffsets;  // of the kernel's own buffers (simt.smem_alloc)

  // toBits() turns registers into integers of their bits (booleans as bytes, pointers as 64); the others make words of
  // other widths from them.
  llvm::Value* toBits(llvm::Value* value);
  llvm::Value* fromBits(llvm::Value* bits, llvm::Type* type);
  static unsigned bitsOf(llvm::Type* element);
  Regs pack(Scalars parts, unsigned wordBits);
  Regs unpack(Scalars words, unsigned bits, size_t count);
  // Stores or loads neighbouring integers, 16 bytes at most, in one access.
  void storeShared(llvm::Value* address, Scalars parts);
  Regs loadShared(llvm::Value* address, unsigned bits, size_t count);

  //===- state of constructs ------------------------------------------------------------------------------------===//
  // The place in shared memory to which a tile has been stored for a `tile.gather`, row-major.
  struct Gathered {
    mlir::Operation* gather;
    llvm::Value* base;
    size_t use;
    int liveRings;
  };
  llvm::DenseMap<mlir::Value, Gathered> gathered;

  // Stores that the first thread does for the program, until something else acts (memory.h).
  struct ScalarStore {
    mlir::Location loc;
    llvm::Value *value, *pointer, *mask;  // mask: null when there is none
    AccessOptions options;
  };
  std::vector<ScalarStore> scalarStores;
  // The records of a kernel that is compiled to record (trace.h). The cursor is the place of this thread's next record;
  // a multiple of a chunk's size means that there is no room. Null when nothing is recorded.
  struct Trace {
    llvm::AllocaInst* cursor = nullptr;
    llvm::GlobalVariable* sites = nullptr;
    std::vector<std::string> lines;
  };
  Trace trace;

 private:
  void lowerArguments(mlir::func::FuncOp kernel);
  void lowerOp(mlir::Operation* op);
  void orderPrograms();
  void spareMeetings();

  const Lowerings& lowerings_;
  llvm::DenseMap<mlir::Value, Regs> values_;
  llvm::GlobalVariable* shared_ = nullptr;
  std::vector<ScratchUse> scratchUses_;
  std::unique_ptr<analysis::AxisInfoAnalysis> axes_;
  std::unique_ptr<ThreadValues> threadValues_;
  llvm::Value* warpId_ = nullptr;
  std::array<llvm::Value*, 3> programs_{};  // the program's numbers where longestFirst is one, once somebody has asked
};

}  // namespace tandem::lower::gpu
