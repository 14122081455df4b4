// The state of lowering one kernel and one method for each construct; each construct has its own .cpp.
#pragma once
#include "abi/kernel_image.h"
#include "compiler/analysis/axis_info.h"
#include "compiler/codegen/nvidia/asm/asm.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/conversion.h"
#include "compiler/layout/matrix_descriptor.h"
#include "compiler/lower/gpu/places.h"
#include "compiler/lower/gpu/thread_values.h"
#include "compiler/target/target_info.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::lower::nvidia {

namespace ptx = codegen::ptx;

// A value as one thread holds it: one LLVM value for each register of its layout; of a scalar, one.
using Regs = llvm::SmallVector<llvm::Value*, 4>;
using Scalars = llvm::ArrayRef<llvm::Value*>;

ptx::AccessOptions accessOptions(tile::Cache cache, tile::Evict evict);

class KernelLowering {
 public:
  KernelLowering(llvm::Module& module, Places& places, const target::TargetInfo& target, abi::KernelImage& image)
      : module_(module), context_(module.getContext()), b_(context_), places_(places), target_(target), image_(image) {}
  void run(mlir::func::FuncOp kernel);

 private:
  using LinearLayout = layout::LinearLayout;

  // lower.cpp
  void lowerArguments(mlir::func::FuncOp kernel);
  static abi::ParamType paramType(mlir::Type type);
  void lowerBlock(mlir::Block& block);  // all but the terminator
  void lowerOp(mlir::Operation* op);
  void lowerInBlock(mlir::Operation* op);
  [[noreturn]] void failUnsupported(mlir::Operation* op);

  // values.cpp
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

  // cluster.cpp: the blocks that run one program
  bool lowerCluster(mlir::Operation* op);
  llvm::Value* blockId(int axis);  // of the program's blocks together
  llvm::Value* numPrograms(int axis);
  llvm::Value* blockRank();
  llvm::Value* isFirstBlock() { return b_.CreateICmpEQ(blockRank(), b_.getInt32(0)); }
  void allocateMeeting(mlir::func::FuncOp kernel);
  // Returns the address of the same place of shared memory in block `rank`.
  llvm::Value* remote(llvm::Value* shared, llvm::Value* rank) { return ptx::mapShared(b_, shared, rank); }
  llvm::Value* loadFirstBlock(llvm::Value* shared, unsigned bits);  // an integer
  // Each warp arrives once at the barrier of this kind in each block. `publishes`: a thread that waits there sees the
  // warp's writes.
  void arriveEverywhere(llvm::Value* barrier, bool publishes);
  // All blocks, before the first reaches into another's shared memory and after the last has.
  void clusterBarrier();
  bool reachesOthers() const;
  // Meets all threads that compute the program, in all its blocks. Each of them sees afterwards what any did before.
  void programBarrier();

  // program_order.cpp
  llvm::Value* programId(int axis);
  void orderPrograms();

  // threads.cpp
  llvm::Value* threadId();  // within the warp role
  llvm::Value* laneId();
  llvm::Value* warpId();
  llvm::Value* isFirstThread() { return b_.CreateICmpEQ(threadId(), b_.getInt32(0)); }
  // The row-major position of register `reg` of a tile in this thread.
  llvm::Value* position(const LinearLayout& layout, size_t reg);
  llvm::Value* threadPosition(const LinearLayout& layout);
  // Returns the coordinates of a row-major position in `shape`.
  Regs coordinates(llvm::Value* position, llvm::ArrayRef<int64_t> shape);
  // Returns a condition that is true if this thread acts for the positions it holds, where others hold them too. Null:
  // always.
  llvm::Value* isOwner(const LinearLayout& layout);
  void blockBarrier();
  const ThreadValues& threadValues(mlir::Operation* op);
  // Runs `body` where `condition` holds (null: everywhere).
  void when(llvm::Value* condition, llvm::function_ref<void()> body);

  // shared.cpp
  llvm::Value* sharedAddress(llvm::Value* byteOffset);  // i32 -> ptr addrspace(3)
  llvm::Value* sharedAddress(int64_t byteOffset) { return sharedAddress(b_.getInt32(byteOffset)); }
  // Returns the address of the element at offset threadOffset ^ own; `threads`: the bits that threadOffset may have.
  llvm::Value* sharedElement(llvm::Value* base, llvm::Value* threadOffset, uint64_t own, uint64_t threads, unsigned bits);
  int64_t allocateShared(int64_t bytes, int64_t alignment);  // kept for the kernel's life
  // A region all short-lived uses share; between two of them lies a barrier. Between loops it lies where the rings of loops do.
  int64_t scratchBegin() const;
  llvm::Value* scratch(int64_t bytes, mlir::Location loc);
  int64_t scratchBudget() const;
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

  // arith.cpp, integer.cpp, constant.cpp, math.cpp, float_convert.cpp, shape.cpp: false when the op is not theirs
  bool lowerArith(mlir::Operation* op);
  bool lowerMath(mlir::Operation* op);
  bool lowerFloatConvert(mlir::Operation* op);
  bool lowerShape(mlir::Operation* op);
  // The registers of `source` that hold what `wanted` says, register by register.
  Regs takeRegisters(mlir::Value source, const LinearLayout& wanted, mlir::Operation* op);
  void lowerJoin(tile::JoinOp op);
  void lowerSplit(tile::SplitOp op);
  void lowerCat(tile::CatOp op);
  void lowerConstant(mlir::arith::ConstantOp op);
  llvm::Value* scalarOp(mlir::Operation* op, Scalars operands);  // null when the op is not elementwise
  llvm::Value* scalarMath(mlir::Operation* op, Scalars operands);
  llvm::Value* constantTable(mlir::DenseElementsAttr values, llvm::Type* element);
  llvm::Value* integerOp(mlir::Operation* op, Scalars operands);  // null when LLVM's own instruction is right
  llvm::Value* remainder(mlir::Operation* op, Scalars operands);
  void lowerExtended(mlir::Operation* op);
  llvm::Value* integerToFloat(mlir::Operation* op, llvm::Value* x);
  llvm::Value* floatToInteger(mlir::Operation* op, llvm::Value* x);
  llvm::Value* floatMath(mlir::Operation* op, Scalars operands);
  void lowerExtern(tile::ExternElementwiseOp op);
  void lowerSincos(mlir::Operation* op);
  // toFloats() converts elements of a float type to float32 (float64 stays), fromFloats() rounds these; the last
  // converts from one format to another.
  Regs toFloats(Scalars values, mlir::Type from);
  Regs fromFloats(Scalars values, mlir::Type to, bool towardZero);
  Regs float8ToHalf(Scalars values, mlir::Type from);
  Regs convertFloats(Scalars values, mlir::Type from, mlir::Type to, bool towardZero);
  llvm::Value* convertFloat(llvm::Value* value, mlir::Type from, mlir::Type to, bool towardZero);
  llvm::Value* toFloat(llvm::Value* value, mlir::Type from);
  llvm::Value* fromFloat(llvm::Value* value, mlir::Type to);
  llvm::Value* throughFloat(mlir::Operation* op, Scalars operands, llvm::function_ref<llvm::Value*(Scalars)> compute);
  llvm::Value* callLibdevice(llvm::StringRef name, llvm::Type* result, Scalars operands);

  // control.cpp
  bool lowerControl(mlir::Operation* op);
  void lowerFor(mlir::scf::ForOp op);
  void lowerWhile(mlir::scf::WhileOp op);
  void lowerIf(mlir::scf::IfOp op);
  void lowerExecuteRegion(mlir::scf::ExecuteRegionOp op);
  // A phi for each register of each value; returns them grouped.
  llvm::SmallVector<Regs> phis(mlir::ValueRange values, llvm::ArrayRef<Regs> incoming, llvm::BasicBlock* from);
  void addIncoming(llvm::ArrayRef<Regs> phis, llvm::ArrayRef<Regs> incoming, llvm::BasicBlock* from);
  llvm::SmallVector<Regs> useAll(mlir::ValueRange values);
  void defineAll(mlir::ValueRange values, llvm::ArrayRef<Regs> regs);
  llvm::BasicBlock* newBlock(const char* name);

  // memory.cpp, block_memory.cpp, atomic.cpp
  bool lowerMemory(mlir::Operation* op);
  void lowerLoad(tile::LoadOp op);
  void lowerStore(tile::StoreOp op);
  void lowerScalarStore(tile::StoreOp op, const ptx::AccessOptions& options);
  // Stores that the first thread does for the program, until something else acts.
  struct ScalarStore {
    mlir::Location loc;
    llvm::Value *value, *pointer, *mask;  // mask: null when there is none
    ptx::AccessOptions options;
  };
  static constexpr size_t kMostScalarStores = 64;
  void flushScalarStores();
  llvm::Value* toHeld(llvm::Value* value, llvm::Type* held);
  llvm::Type* memoryType(llvm::Type* element);
  // Loads or stores neighbouring elements in one access; `other` may be empty.
  Regs loadVector(llvm::Type* element, size_t count, llvm::Value* pointer, llvm::Value* predicate, Scalars other,
                  const ptx::AccessOptions& options);
  void storeVector(Scalars values, llvm::Value* pointer, llvm::Value* predicate, const ptx::AccessOptions& options);
  static size_t vectorLength(const LinearLayout& layout, int64_t known, unsigned bits, unsigned axis);
  static size_t accessLength(mlir::Operation* op, const LinearLayout& layout, unsigned bits);  // of an access through pointers
  bool lowerBlockMemory(mlir::Operation* op);
  void lowerBlockLoad(tile::BlockLoadOp op);
  void lowerBlockStore(tile::BlockStoreOp op);
  // A block of a strided tensor in global memory.
  struct GlobalBlock {
    mlir::Value base;
    mlir::ValueRange shape, strides, offsets;
    llvm::ArrayRef<int32_t> boundaryCheck;
    bool isDescriptor;
  };
  // Returns the number of registers that one access may take: neighbours in memory, aligned together, inside or outside
  // together.
  size_t blockVector(const LinearLayout& layout, unsigned bits, const GlobalBlock& block);
  // Element addresses and in-bounds predicates (null: always), register by register.
  struct BlockAccess {
    Regs pointers, inBounds;
  };
  BlockAccess blockAccess(const LinearLayout& layout, llvm::Type* element, const GlobalBlock& block, size_t vector);
  bool lowerAtomic(mlir::Operation* op);
  // Neighbours of a block store that updates memory.
  void reduceElements(mlir::Operation* op, tile::Rmw rmw, llvm::Value* pointer, Scalars values, llvm::Value* predicate);
  void lowerAtomicTile(mlir::Operation* op);
  void lowerAtomicScalar(mlir::Operation* op);
  // The update of one element that `op` (atomic_rmw or atomic_cas) says; its old value, null when it is not `wanted`.
  llvm::Value* updateElement(mlir::Operation* op, size_t reg, llvm::Value* predicate, bool wanted, ptx::Order order);
  // The number of neighbours that one instruction updates: a power of two, at most `count`.
  size_t updatedAtOnce(tile::Rmw rmw, llvm::Type* element, size_t count) const;
  Regs addToNeighbours(llvm::Value* pointer, Scalars values, bool wanted, const ptx::AtomicOptions& options);
  llvm::Value* readModifyWrite(mlir::Operation* op, tile::Rmw rmw, llvm::Value* pointer, llvm::Value* value,
                               bool wanted, const ptx::AtomicOptions& options);
  llvm::Value* floatExtremum(bool isMax, llvm::Value* pointer, llvm::Value* value, const ptx::AtomicOptions& options);
  llvm::Value* updateBySwapping(llvm::Value* pointer, llvm::Type* type, const ptx::AtomicOptions& options,
                                llvm::function_ref<llvm::Value*(llvm::Value*)> update);
  llvm::AllocaInst* temporary(llvm::Type* type);
  // Gives the owners' values to every thread that holds the same positions.
  Regs shareOwned(const Regs& owned, const LinearLayout& layout, mlir::Location loc);
  llvm::Value* shareFirst(llvm::Value* value, mlir::Location loc);

  // convert.cpp
  bool lowerConvertLayout(mlir::Operation* op);
  Regs convertLayout(const Regs& source, const LinearLayout& from, const LinearLayout& to, llvm::Type* element,
                     mlir::Location loc);
  Regs convertByShuffle(Regs regs, const layout::Shuffle& plan);
  Regs convertThroughShared(const Regs& source, const layout::ThroughShared& plan, unsigned bits, mlir::Location loc);
  // Copies of one position, which are read once.
  static void repeatCopies(Regs& regs, const LinearLayout& layout);
  llvm::Value* xorOfMasks(llvm::Value* id, llvm::ArrayRef<uint64_t> masks);
  Regs swapRegisters(Regs regs, llvm::Value* id, llvm::ArrayRef<uint64_t> masks);
  llvm::Value* shuffleBits(llvm::Value* value, llvm::Value* lane);  // from another lane of the warp
  // matrix.cpp: stmatrix and ldmatrix; `layout` has offsets in elements from `base` for positions.
  void storeMatrices(llvm::Value* base, const LinearLayout& layout, const Regs& source, unsigned bits, bool transposed);
  llvm::Value* matrixAddress(llvm::Value* base, const LinearLayout& layout, llvm::ArrayRef<uint64_t> offsets,
                             unsigned bits, bool transposed);
  void loadMatrices(llvm::Value* base, const LinearLayout& layout, Regs& result, unsigned bits, bool transposed);

  // reduce.cpp, scan.cpp, gather.cpp, debug.cpp, inline_asm.cpp
  bool lowerReduction(mlir::Operation* op);
  bool lowerGather(mlir::Operation* op);
  bool lowerDebug(mlir::Operation* op);
  void lowerPrint(tile::PrintOp op);
  void printValue(tile::PrintOp op, unsigned which);
  llvm::Value* printable(llvm::Value* value, mlir::Type type, bool isSigned, bool asHex);
  void callPrintf(llvm::Value* format, Scalars values);
  Regs programIndex();
  llvm::Value* oneThread(mlir::Operation* op);
  void lowerAssert(tile::AssertOp op);
  llvm::Value* text(llvm::StringRef text);  // a constant string's generic address
  bool lowerInlineAsm(mlir::Operation* op);
  struct AsmRegisters {
    std::string constraints;
    llvm::SmallVector<llvm::Type*> outputs, inputs;
  };
  AsmRegisters asmRegisters(tile::InlineAsmOp op);
  llvm::Value* toAsmRegister(llvm::Value* bits, llvm::Type* type, tile::InlineAsmOp op);
  void packForAsm(mlir::Value operand, size_t first, tile::InlineAsmOp op, Regs& words);
  Regs unpackFromAsm(Scalars words, mlir::Type element, unsigned packed);
  Regs callAsm(tile::InlineAsmOp op, const AsmRegisters& registers, const Regs& words);
  // Runs the scalar region of a reduction, scan or map on `arguments`; returns the values that it yields.
  Regs callRegion(mlir::Region& region, Scalars arguments);
  // One value for each operand of a region; of these, one for each register.
  using Rows = llvm::SmallVector<Regs, 0>;
  Regs combine(mlir::Region& region, const Regs& first, const Regs& second);
  Regs combineAll(mlir::Region& region, Rows rows);
  LinearLayout rowsOf(mlir::ValueRange sources, Rows& rows);
  void defineRows(mlir::Operation* op, const Rows& rows, const LinearLayout& layout);
  void lowerReduce(tile::ReduceOp op);
  Rows reduceRegisters(tile::ReduceOp op, const LinearLayout& layout, const Rows& rows);
  void reduceLanes(tile::ReduceOp op, const LinearLayout& layout, Rows& rows);
  Rows reduceWarps(tile::ReduceOp op, const LinearLayout& layout, const LinearLayout& result, const Rows& rows);
  // scan.cpp: neighbours that one thread has scanned, from register `first` on, and the sum of those before them, if
  // there are any (else null).
  struct Chunk {
    size_t first = 0;
    Regs total, before;
    llvm::Value* hasBefore = nullptr;
  };
  void lowerScan(tile::ScanOp op);
  Regs choose(llvm::Value* condition, const Regs& then, const Regs& otherwise);
  Regs withEarlier(tile::ScanOp op, const Chunk& chunk, const Regs& earlier);
  void scanRegisters(tile::ScanOp op, std::vector<Chunk>& chunks, size_t bit);
  void scanThreads(tile::ScanOp op, std::vector<Chunk>& chunks, bool isLane, unsigned bit);
  Rows fromLane(const Rows& rows, int mask);
  Rows fromWarp(const Rows& rows, int mask, mlir::Location loc);
  void lowerMapElementwise(tile::MapElementwiseOp op);
  void storeRowMajor(llvm::Value* base, const LinearLayout& layout, const Regs& regs);
  void lowerGatherAlong(tile::GatherOp op);
  void lowerHistogram(tile::HistogramOp op);

  // dot.cpp (mma.sync and FMA), wgmma.cpp
  bool lowerDot(mlir::Operation* op);
  // A tile that no op defines.
  struct Held {
    LinearLayout layout;
    Regs regs;
  };
  void lowerMma(tile::DotOp op);
  Regs multiply(const Held& lhs, const Held& rhs, const Held& acc, ptx::Element kind);
  Regs multiplyOnce(const ptx::MmaSync& mma, Scalars lhs, Scalars rhs, Scalars acc);
  Regs operandWords(const Held& operand, const LinearLayout& instruction, llvm::ArrayRef<int64_t> corner,
                    ptx::Element kind);
  void lowerMultiplyAdd(tile::DotOp op);
  Regs widened(mlir::Value tile, mlir::Type wide);
  llvm::Value* multiplyAdd(llvm::Value* a, llvm::Value* b, llvm::Value* total);
  // dot_scaled.cpp
  void lowerDotScaled(tile::DotScaledOp op);
  Held decodeOperand(mlir::Value operand, tile::MicroScale format, unsigned pairs);
  void applyScales(Held& operand, mlir::Value scales, unsigned depth, mlir::Operation* op);
  llvm::Value* decodeE2M1(llvm::Value* nibble);
  llvm::Value* decodeScale(llvm::Value* byte, mlir::Type type);
  bool lowerWgmma(mlir::Operation* op);
  struct SharedOperand {
    layout::MatrixOperand matrix;
    llvm::Value* low = nullptr;  // of the descriptor's halves, for the part that begins at (0, 0)
  };
  SharedOperand sharedOperand(mlir::Value buffer, mlir::Value ring, bool kMajor, llvm::Value* index, int64_t size);
  // The matrix descriptor of the part that begins at (mn, k).
  llvm::Value* descriptorAt(const SharedOperand& operand, int64_t mn, int64_t k);
  void lowerProduct(tgpu::WgmmaOp op);
  static llvm::SmallVector<size_t> instructionRegisters(const LinearLayout& layout, int64_t row, int64_t column,
                                                        int64_t n);
  Regs accumulate(const ptx::Wgmma& mma, const Regs& part);
  Regs lhsRegisters(tgpu::WgmmaOp op, int64_t row, int64_t k, int64_t instructionK);
  void lowerLocalStore(tgpu::LocalStoreOp op);

  // ring.cpp, tma.cpp, roles.cpp
  enum Counter { kFill, kTake, kRelease };
  struct Ring {
    int slots = 0;
    bool isGate = false, isMailbox = false, isCluster = false;
    bool isCopied = false;  // by the block's own threads: no barriers, and takes come before the reads
    int ahead = 0;               // of those, how many fills come before their reads
    bool feedsProducts = false;  // of those, one that wgmma reads
    Counter release = kRelease;  // what releases go by; kTake: of one counter with takes, which releases advance
    int64_t bytes = 0, full = 0, empty = 0;  // offsets of the barriers in shared memory
    // Slot and parity of the next fill, take and release, in this role.
    llvm::AllocaInst *slot[3] = {}, *parity[3] = {};
  };
  // Gives every buffer and ring of the kernel its place, then, in the kernel, makes the barriers ready.
  void allocateBuffers(mlir::func::FuncOp kernel);
  void allocateStaging(mlir::func::FuncOp kernel);
  void initialiseBarriers();
  bool lowerRing(mlir::Operation* op);
  bool lowerTma(mlir::Operation* op);
  int blocksThatFit(mlir::func::FuncOp kernel) const;
  bool hasSmallBuffers(mlir::func::FuncOp kernel) const;
  void lowerWarpSpecialize(tgpu::WarpSpecializeOp op);
  bool takeTurns() const;
  llvm::Value* turnBarrier(bool ofOther);  // of this warpgroup, or of its pair's other one
  void awaitTurn();
  void giveTurn();
  Ring& ringOf(mlir::Value ring) { return rings_.find(ring)->second; }
  void advance(Ring& ring, int counter);
  void makeCounters(Ring& ring);
  void resetCounters();
  void post(Ring& mailbox);
  llvm::Value* barrierOf(Ring& ring, int64_t barriers, int counter);  // of the slot that the counter is at
  // Returns, in bytes, the place in shared memory of the part of `buffer` in the slot that the ring's counter is at
  // (without a ring: slot 0).
  llvm::Value* slotOffset(mlir::Value buffer, mlir::Value ring, int counter);
  Regs boxCoordinates(mlir::ValueRange offsets, llvm::Value* row, llvm::Value* column);
  void lowerTmaLoad(tgpu::TmaLoadOp op);
  void lowerTmaStore(tile::BlockStoreOp op);
  struct Panel {
    LinearLayout layout;  // of the registers named, in the panel
    llvm::SmallVector<unsigned> registers;
    int64_t row = 0, column = 0;
  };
  // `warps` bits of the warp's number are within a panel.
  static std::vector<Panel> panelsOf(const LinearLayout& layout, llvm::ArrayRef<int64_t> panel, size_t warps);
  void lowerStage(tgpu::StageOp op);
  void lowerTmaStore(tgpu::TmaStoreOp op);
  void storePanel(llvm::Value* base, const LinearLayout& placed, const Regs& regs, unsigned bits);
  // The recipes of the tensor maps that the kernel's copies use, and the parameter each copy's has.
  void collectTensorMaps(mlir::func::FuncOp kernel);
  llvm::Value* tensorMapOf(mlir::Operation* op);

  // copies.cpp: cp.async
  bool lowerCopies(mlir::Operation* op);
  void rewind(Ring& ring);
  void awaitCopies(Ring& ring);
  static mlir::Operation* loopOf(tgpu::CopyRingOp ring);
  static bool storesBetweenRings(mlir::func::FuncOp kernel);
  bool isTurned(mlir::Value buffer) const;
  void lowerCopyAsync(tgpu::CopyAsyncOp op);
  void lowerLocalLoad(tgpu::LocalLoadOp op);
  LinearLayout offsetsIn(mlir::Value buffer) const;  // in elements from the slot's begin
  // Returns the address of a register's element; `placed` maps to offsets instead of positions.
  llvm::Value* elementAddress(llvm::Value* base, const LinearLayout& placed, size_t reg, unsigned bits);

  // loops.cpp: loops that no op stands for.
  void forEach(llvm::Value* begin, llvm::Value* end, llvm::Value* step, llvm::function_ref<void(llvm::Value*)> body);
  // `body` changes the values that are carried from one round to the next, and out.
  void repeat(Regs& carried, int64_t rounds, llvm::function_ref<void(llvm::Value*, Regs&)> body);
  // Gives the first value of `read` that passes `test`.
  llvm::Value* pollUntil(llvm::function_ref<llvm::Value*()> read, llvm::function_ref<llvm::Value*(llvm::Value*)> test);
  // Returns true if threads do different things in this kernel: then each executes `op` for itself.
  static bool isPerThread(mlir::Operation* op);

  // simt.cpp, simt_memory.cpp, simt_shared.cpp, simt_bulk.cpp
  bool lowerSimt(mlir::Operation* op);
  void lowerSpecial(simt::SpecialOp op);
  void lowerGridBarrier(mlir::Location loc);
  bool lowerVector(mlir::Operation* op);
  bool lowerSimtMemory(mlir::Operation* op);
  void lowerLd(simt::LdOp op);
  void lowerSt(simt::StOp op);
  void lowerThreadAtomic(simt::AtomicRmwOp op);
  bool lowerMultimem(mlir::Operation* op);
  // Returns the memory that a pointer may lead to: shared memory only where its origin is unknown or says so.
  static ptx::Space spaceOf(mlir::Value pointer);
  // toWords() turns elements into the words that instructions move: at most four, booleans as bytes; fromWords() turns
  // them back.
  Regs toWords(const Regs& elements);
  Regs fromWords(const Regs& words, llvm::Type* element, size_t count);
  bool lowerSimtShared(mlir::Operation* op);
  void allocateSmem(mlir::func::FuncOp kernel);
  void lowerSmemAlloc(simt::SmemAllocOp op);
  void lowerSmemRead(simt::SmemReadOp op);
  llvm::Value* smemElement(mlir::Value buffer, Regs indices);
  llvm::Value* toGeneric(llvm::Value* shared);     // as pointers of kernels are
  llvm::Value* fromGeneric(llvm::Value* pointer);  // to shared memory
  bool lowerSimtBulk(mlir::Operation* op);
  bool lowerTensormap(mlir::Operation* op);
  void replaceInTensormap(simt::TensormapReplaceOp op);

  // trace.cpp: the records of a kernel that is compiled to record (abi/trace.h). In other kernels none of it is left.
  void beginTrace();
  llvm::Value* traceWriter(mlir::Operation* op);  // whether this thread records; null: always
  // Emits `body` between two records of one site. `kind` is a word of the trace, `value` may be null.
  void traced(const char* kind, mlir::Operation* op, llvm::Value* value, llvm::function_ref<void()> body);
  void traceInstant(const char* kind, mlir::Operation* op, llvm::Value* value);
  void traceTiles(mlir::Operation* loop, llvm::Value* number, llvm::function_ref<void()> body);
  unsigned traceSite(const char* kind, mlir::Location loc);
  void record(llvm::Value* isWriter, unsigned site, llvm::Value* value);
  llvm::Value* openChunk(llvm::Value* cursor, llvm::BasicBlock* none);
  void finishTrace();

  // dist.cpp, dist_copy.cpp, dist_signal.cpp, dist_team.cpp
  bool lowerDist(mlir::Operation* op);
  static bool usesRanks(mlir::func::FuncOp kernel);
  llvm::Value* rankField(size_t offset, llvm::Type* type);  // of abi/dist_context.h
  llvm::Value* teamField(mlir::Value team, size_t offset, llvm::Type* type);
  llvm::Value* loadElement(llvm::Value* array, llvm::Type* type, llvm::Value* index);
  llvm::Value* addressOn(llvm::Value* pointer, llvm::Value* peer);  // by stride
  llvm::Value* translateRank(dist::TranslateRankOp op);
  // The threads that make one call: their number, and this thread's among them.
  struct Callers {
    llvm::Value *index = nullptr, *count = nullptr;
    dist::Group group = dist::Group::Thread;
  };
  Callers callersOf(mlir::Operation* op, dist::Group group, bool repeats = false);
  void syncCallers(const Callers& callers);
  void onceIn(const Callers& callers, llvm::function_ref<void()> body);
  void completeBulkStores();
  bool lowerDistCopy(mlir::Operation* op);
  // A copy between this rank and a peer, by all callers.
  struct Copy {
    llvm::Value *dest = nullptr, *source = nullptr, *bytes = nullptr, *peer = nullptr;
    bool nbi = false;
  };
  void putBytes(const Callers& callers, const Copy& copy);
  void getBytes(const Callers& callers, const Copy& copy);
  void copyBytes(const Callers& callers, llvm::Value* dest, llvm::Value* source, llvm::Value* bytes);
  void copyWords(const Callers& callers, llvm::Value* dest, llvm::Value* source, llvm::Value* first, llvm::Value* end,
                 unsigned wordBytes);
  bool lowerDistSignal(mlir::Operation* op);
  void lowerWait(dist::WaitOp op);
  void lowerNotify(dist::NotifyOp op);
  void lowerSignalWait(dist::SignalWaitOp op);
  // `pointer` is this rank's address of the signal that changes on `peer`.
  struct PeerSignal {
    llvm::Value *pointer, *peer;
    llvm::Type* width;
    llvm::Value* value;
    dist::SignalKind kind;
  };
  void signalPeer(const PeerSignal& signal, ptx::Order order, ptx::Scope scope);
  void updateSignal(llvm::Value* pointer, llvm::Type* width, llvm::Value* value, dist::SignalKind kind,
                    ptx::Order order, ptx::Scope scope);
  llvm::Value* compare(dist::Compare how, llvm::Value* seen, llvm::Value* value);
  bool lowerDistTeam(mlir::Operation* op);
  // A call of a team's collective: its number in tandem_dist_collective; bytes and root where it has them.
  struct TeamCall {
    mlir::Location where;
    uint64_t kind = 0;
    llvm::Value *bytes = nullptr, *root = nullptr;
  };
  llvm::Value* markOf(const TeamCall& call);
  void meet(const Callers& callers, mlir::Value team, bool quiet, const TeamCall& call);
  // dist_poll.cpp
  struct Awaited {
    mlir::Location where;
    dist::Compare how;
    llvm::Type* width;
    llvm::Value *signal, *expected;
    ptx::AccessOptions access;
  };
  // Gives the first value that compares true, or, where the watch ends the wait, another one.
  llvm::Value* pollSignal(const Awaited& awaited);
  // A wait that a kernel gave up: `compare` as in the watch.
  struct GivenUp {
    mlir::Location where;
    int compare;
    llvm::Value *signal, *expected, *seen;
  };
  void tellWatch(llvm::Value* watch, const GivenUp& what);
  llvm::Value* watchField(llvm::Value* watch, size_t offset);
  llvm::Value* placeText(mlir::Location where);  // "file:line:column", then the kernel's name
  // dist_nvshmem.cpp: the same for targets whose peers are reached through NVSHMEM
  bool throughNvshmem() const { return target_.usesNvshmem() && image_.usesRanks; }
  llvm::CallInst* callNvshmem(const llvm::Twine& name, llvm::Type* result, Scalars arguments);
  // Calls the function `name` in the form for the group.
  void callNvshmem(const Callers& callers, const llvm::Twine& name, Scalars arguments);
  void copyThroughNvshmem(const Callers& callers, const char* name, const Copy& copy);
  void putSignalThroughNvshmem(const Callers& callers, const Copy& copy, const PeerSignal& signal);
  llvm::Value* signalKind(dist::SignalKind kind);
  void signalThroughNvshmem(const PeerSignal& signal, ptx::Order order);
  void putValueThroughNvshmem(llvm::Value* dest, llvm::Value* value, llvm::Value* peer);
  // Orders (`name` is "fence") or completes ("quiet") what this rank has put; all callers go on after it.
  void orderNvshmem(const Callers& callers, const char* name);
  llvm::Value* mappedAddress(llvm::Value* pointer, llvm::Value* peer, mlir::Location where);
  void lowerBroadcast(dist::BroadcastOp op);
  void lowerFcollect(dist::FcollectOp op);

  struct Buffer {
    int64_t offset = 0, slotBytes = 0;
    int swizzle = 0;
    std::optional<unsigned> fastest;  // dimension; without it the last
  };

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  Places& places_;
  const target::TargetInfo& target_;
  abi::KernelImage& image_;
  llvm::Function* function_ = nullptr;
  llvm::GlobalVariable* shared_ = nullptr;
  llvm::DenseMap<mlir::Value, Regs> values_;
  std::unique_ptr<analysis::AxisInfoAnalysis> axes_;  // made at the first block access
  std::vector<ScalarStore> scalarStores_;
  std::unique_ptr<ThreadValues> threadValues_;        // made at the first question
  llvm::MapVector<mlir::Value, Ring> rings_;          // in the order of the code, which decides the order of the output
  llvm::DenseMap<mlir::Value, Buffer> buffers_;
  llvm::DenseMap<mlir::Operation*, unsigned> tensorMaps_;  // index into KernelImage::tensorMaps
  int numWarps_ = 4, blocks_ = 1;
  llvm::Value* warpId_ = nullptr;  // once somebody has asked
  int longestFirst_ = -1;  // the axis along which programs get longer; -1: blocks run programs of their own numbers
  std::array<llvm::Value*, 3> programs_{};  // the program's numbers then, once somebody has asked
  int64_t meeting_ = -1;  // the offset of the barrier that the program's blocks meet at; -1: they never do
  llvm::AllocaInst* meetingParity_ = nullptr;
  int64_t sharedBytes_ = 0, sharedEnd_ = 0;  // what is allocated, and the end of all that is used
  int liveRings_ = 0;                        // copied ones, from their rewind to the end of their loop
  int64_t freeBegin_ = 0;                    // from here on nothing lives while no such ring does
  bool stagesInRings_ = false;               // panels of TMA stores lie where the rings of loops do
  // Panels of TMA stores for each group of four warps, where they are, and the first of the groups' barriers.
  static constexpr int kGroupBarrier = 2;
  int64_t stagingPanels_ = 0, staging_ = 0, stagingBytes_ = 0;
  bool signallerStores_ = false;
  int blocksPerMultiprocessor_ = 1;
  int maxRegisters_ = 0;  // a thread's, by the kernel's options; 0: no bound
  // The place of this thread's next record; a multiple of a chunk's size means that there is no room. Null when nothing
  // is recorded.
  llvm::AllocaInst* traceCursor_ = nullptr;
  llvm::GlobalVariable* traceSites_ = nullptr;
  std::vector<std::string> traceLines_;
  int role_ = 0;  // 0: the whole block, 1: consumers, 2: the producer thread, 3: the signaller thread
};

}  // namespace tandem::lower::nvidia
