// The state of lowering one kernel and one method for each construct; each construct has its own .cpp.
#pragma once
#include "abi/kernel_image.h"
#include "compiler/codegen/nvidia/asm/asm.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/conversion.h"
#include "compiler/layout/matrix_descriptor.h"
#include "compiler/lower/nvidia/places.h"
#include "compiler/target/target_info.h"
#include <llvm/ADT/DenseMap.h>
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
  [[noreturn]] void failUnsupported(mlir::Operation* op);

  // values.cpp
  llvm::Type* typeOf(mlir::Type type);  // of one element
  LinearLayout layoutOf(mlir::Value value) const;
  size_t registersOf(mlir::Value value) const;
  const Regs& use(mlir::Value value);
  llvm::Value* useScalar(mlir::Value value) { return use(value).front(); }
  void define(mlir::Value value, Regs regs);
  // Operands register by register; scalars among them are repeated.
  template <class F> void mapRegisters(mlir::Operation* op, F one) {
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

  // threads.cpp
  llvm::Value* threadId();             // within the warp role
  llvm::Value* laneId();
  llvm::Value* warpId();
  llvm::Value* isFirstThread() { return b_.CreateICmpEQ(threadId(), b_.getInt32(0)); }
  // The row-major position of register `reg` of a tile in this thread.
  llvm::Value* position(const LinearLayout& layout, size_t reg);
  llvm::Value* threadPosition(const LinearLayout& layout);
  // Coordinates of a row-major position in `shape`.
  Regs coordinates(llvm::Value* position, llvm::ArrayRef<int64_t> shape);
  // Whether this thread is the one that acts for the positions it holds, where others hold them too. Null: always.
  llvm::Value* isOwner(const LinearLayout& layout);
  void blockBarrier();
  // Runs `body` where `condition` holds (null: everywhere).
  void when(llvm::Value* condition, llvm::function_ref<void()> body);

  // shared.cpp
  llvm::Value* sharedAddress(llvm::Value* byteOffset);  // i32 -> ptr addrspace(3)
  llvm::Value* sharedAddress(int64_t byteOffset) { return sharedAddress(b_.getInt32(byteOffset)); }
  int64_t allocateShared(int64_t bytes, int64_t alignment);  // kept for the kernel's life
  // A region all short-lived uses share; between two of them lies a barrier.
  llvm::Value* scratch(int64_t bytes, mlir::Location loc);
  int64_t scratchBudget() const;
  // Registers as integers of their bits (booleans as bytes, pointers as 64), and words of other widths from them.
  llvm::Value* toBits(llvm::Value* value);
  llvm::Value* fromBits(llvm::Value* bits, llvm::Type* type);
  static unsigned bitsOf(llvm::Type* element);
  Regs pack(Scalars parts, unsigned wordBits);
  Regs unpack(Scalars words, unsigned bits, size_t count);
  // Neighbouring integers, 16 bytes at most, in one access.
  void storeShared(llvm::Value* address, Scalars parts);
  Regs loadShared(llvm::Value* address, unsigned bits, size_t count);

  // arith.cpp, math.cpp, float_convert.cpp, shape.cpp: false when the op is not theirs
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
  llvm::Value* convertFloat(llvm::Value* value, mlir::Type from, mlir::Type to, bool towardZero, mlir::Operation* op);
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
  llvm::Value* toHeld(llvm::Value* value, llvm::Type* held);
  static size_t vectorLength(const LinearLayout& layout, int64_t known, unsigned bits, unsigned axis);
  bool lowerBlockMemory(mlir::Operation* op);
  void lowerBlockLoad(tile::BlockLoadOp op);
  void lowerBlockStore(tile::BlockStoreOp op);
  // Element addresses and in-bounds predicates (null: always) of a block of a strided tensor, register by register.
  struct BlockAccess {
    Regs pointers, inBounds;
  };
  BlockAccess blockAccess(const LinearLayout& layout, llvm::Type* element, mlir::Value base, mlir::ValueRange shape,
                          mlir::ValueRange strides, mlir::ValueRange offsets, llvm::ArrayRef<int32_t> boundaryCheck);
  bool lowerAtomic(mlir::Operation* op);
  // One element of a block store that updates memory.
  void reduceElement(mlir::Operation* op, tile::Rmw rmw, llvm::Value* pointer, llvm::Value* value, llvm::Value* predicate);

  // convert.cpp
  bool lowerConvertLayout(mlir::Operation* op);
  Regs convertLayout(const Regs& source, const LinearLayout& from, const LinearLayout& to, llvm::Type* element, mlir::Location loc);
  Regs convertByShuffle(Regs regs, const layout::Shuffle& plan);
  Regs convertThroughShared(const Regs& source, const layout::ThroughShared& plan, unsigned bits, mlir::Location loc);
  llvm::Value* xorOfMasks(llvm::Value* id, llvm::ArrayRef<uint64_t> masks);
  Regs swapRegisters(Regs regs, llvm::Value* id, llvm::ArrayRef<uint64_t> masks);
  llvm::Value* shuffleBits(llvm::Value* value, llvm::Value* lane);  // from another lane of the warp
  // matrix.cpp: stmatrix and ldmatrix; `layout` has offsets in elements from `base` for positions.
  void storeMatrices(llvm::Value* base, const LinearLayout& layout, const Regs& source, unsigned bits, bool transposed);
  llvm::Value* matrixAddress(llvm::Value* base, const LinearLayout& layout, llvm::ArrayRef<uint64_t> offsets, unsigned bits, bool transposed);
  void loadMatrices(llvm::Value* base, const LinearLayout& layout, Regs& result, unsigned bits, bool transposed);

  // reduce.cpp, scan.cpp, gather.cpp, debug.cpp, inline_asm.cpp
  bool lowerReduction(mlir::Operation* op);
  bool lowerGather(mlir::Operation* op);
  bool lowerDebug(mlir::Operation* op);
  bool lowerInlineAsm(mlir::Operation* op);
  // The scalar region of a reduction, scan or map, on `arguments`; gives what it yields.
  Regs callRegion(mlir::Region& region, Scalars arguments);

  // dot.cpp (mma.sync and FMA), wgmma.cpp
  bool lowerDot(mlir::Operation* op);
  bool lowerWgmma(mlir::Operation* op);
  struct SharedOperand {
    layout::MatrixOperand matrix;
    llvm::Value* address = nullptr;  // of the slot, in shared memory
  };
  SharedOperand sharedOperand(mlir::Value buffer, mlir::Value ring, bool kMajor);
  // The matrix descriptor of the part that begins at (mn, k), and `mnOffsetBytes` (may be null) further.
  llvm::Value* descriptorAt(const SharedOperand& operand, llvm::Value* mnOffsetBytes, int64_t mn, int64_t k);
  void lowerProduct(tgpu::WgmmaOp op);
  static llvm::SmallVector<size_t> instructionRegisters(const LinearLayout& layout, int64_t row, int64_t column, int64_t n);
  Regs accumulate(const ptx::Wgmma& mma, const Regs& part);
  Regs lhsRegisters(tgpu::WgmmaOp op, int64_t row, int64_t k, int64_t instructionK);
  void lowerLocalStore(tgpu::LocalStoreOp op);

  // ring.cpp, tma.cpp, roles.cpp
  struct Ring {
    int slots = 0;
    int64_t bytes = 0, full = 0, empty = 0;  // offsets of the barriers in shared memory
    // Slot and parity of the next fill, take and release, in this role.
    llvm::AllocaInst *slot[3] = {}, *parity[3] = {};
  };
  // Gives every buffer and ring of the kernel its place, then, in the kernel, makes the barriers ready.
  void allocateBuffers(mlir::func::FuncOp kernel);
  void initialiseBarriers();
  bool lowerRing(mlir::Operation* op);
  bool lowerTma(mlir::Operation* op);
  void lowerWarpSpecialize(tgpu::WarpSpecializeOp op);
  Ring& ringOf(mlir::Value ring) { return rings_.find(ring)->second; }
  void advance(Ring& ring, int counter);
  void resetCounters();
  llvm::Value* barrierOf(Ring& ring, int64_t barriers, int counter);  // of the slot that the counter is at
  // Where in shared memory the slot of `buffer` is that the ring's counter is at (without a ring: slot 0), in bytes.
  llvm::Value* slotOffset(mlir::Value buffer, mlir::Value ring, int counter);
  void lowerTmaLoad(tgpu::TmaLoadOp op);
  void lowerTmaStore(tile::BlockStoreOp op);
  LinearLayout panelLayout(const LinearLayout& layout, llvm::ArrayRef<int64_t> panel, int64_t index, const Regs& regs, Regs& part);
  void storePanel(llvm::Value* base, const LinearLayout& placed, const Regs& regs, unsigned bits);
  // The recipes of the tensor maps that the kernel's copies use, and the parameter each copy's has.
  void collectTensorMaps(mlir::func::FuncOp kernel);
  llvm::Value* tensorMapOf(mlir::Operation* op);

  // dist.cpp, simt.cpp
  bool lowerDist(mlir::Operation* op);
  bool lowerSimt(mlir::Operation* op);

  struct Buffer {
    int64_t offset = 0, slotBytes = 0;
    int swizzle = 0;
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
  llvm::DenseMap<mlir::Value, Ring> rings_;
  llvm::DenseMap<mlir::Value, Buffer> buffers_;
  llvm::DenseMap<mlir::Operation*, unsigned> tensorMaps_;  // index into KernelImage::tensorMaps
  int numWarps_ = 4;
  int64_t sharedBytes_ = 0, scratchBytes_ = 0;
  static constexpr int kStagingPanels = 2;
  int64_t staging_ = 0;             // where the panels of TMA stores are
  int role_ = 0;                    // 0: the whole block, 1: consumers, 2: the producer thread
};

}  // namespace tandem::lower::nvidia
