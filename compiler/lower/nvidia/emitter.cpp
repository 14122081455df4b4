// Instructions are codegen/nvidia's; what acts on rings, roles and clusters is in the files of these.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/lower/nvidia/emitter.h"
#include "compiler/codegen/nvidia/codegen.h"
#include "compiler/lower/nvidia/cluster.h"
#include "compiler/lower/nvidia/made_maps.h"
#include "compiler/lower/nvidia/matrix.h"
#include "compiler/lower/nvidia/ring.h"
#include "compiler/lower/nvidia/roles.h"
#include "compiler/lower/nvidia/tma.h"
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace I = llvm::Intrinsic;

//===- the kernel's frame ---------------------------------------------------------------------------------------===//
void NvidiaEmitter::begin(func::FuncOp kernel) {
  BlockShare share = blocksThatFit(*cx_, kernel, plan_);
  cx_->blocksPerMultiprocessor = share.blocks;
  minBlocks_ = share.isFirm ? share.blocks : 0;
  kernel.walk([&](Operation* op) { multiplies_ |= isa<tile::DotOp, tgpu::WgmmaOp>(op); });
  if (std::optional<int64_t> given = tile::maxRegisters(kernel)) cx_->maxRegisters = *given;
  collectTensorMaps(*cx_, kernel);
  allocateBuffers(*cx_, kernel);
}

// Parameters of tensor maps: their uses decide how many there are, so the recipes are collected before the body.
void NvidiaEmitter::addParameters(func::FuncOp, llvm::SmallVectorImpl<llvm::Type*>& types) {
  types.append(cx_->image.tensorMaps.size(), b_.getPtrTy());
}

void NvidiaEmitter::markParameters(llvm::Function& function) {
  for (size_t i = 0; i < cx_->image.tensorMaps.size(); ++i)
    codegen::markTensorMap(function, cx_->image.params.size() + i);
}

void NvidiaEmitter::enter() {
  takeMadeMaps(*cx_);
  initialiseBarriers(*cx_);
}

// Shared memory must outlive the copies that read it.
void NvidiaEmitter::leave() {
  if (cx_->stagingBytes) ptx::waitBulk(b_, 0, true);
  giveMadeMaps(*cx_);
  if (reachesOthers(*cx_)) clusterBarrier(*cx_);
}

void NvidiaEmitter::finish(llvm::Function& function) {
  codegen::LaunchBounds bounds;
  bounds.threads = cx_->image.threads;
  bounds.cluster = cx_->image.cluster;
  bounds.maxRegisters = cx_->maxRegisters;
  if (!cx_->maxRegisters) bounds.minBlocks = minBlocks_;  // PTX takes one of them
  codegen::markKernel(function, bounds);
}

llvm::GlobalVariable* NvidiaEmitter::sharedMemory(llvm::Module& module) { return codegen::dynamicShared(module); }

//===- threads --------------------------------------------------------------------------------------------------===//
llvm::Value* NvidiaEmitter::threadId() {
  llvm::Value* inBlock = b_.CreateIntrinsic(b_.getInt32Ty(), I::nvvm_read_ptx_sreg_tid_x, {});
  return cx_->firstThread ? b_.CreateSub(inBlock, b_.getInt32(cx_->firstThread)) : inBlock;
}

// It is read from lane 0, so that the hardware knows it is one value for the warp.
llvm::Value* NvidiaEmitter::uniformWarpId() {
  return b_.CreateIntrinsic(b_.getInt32Ty(), I::nvvm_shfl_sync_idx_i32,
                            {b_.getInt32(-1), b_.CreateLShr(threadId(), 5), b_.getInt32(0), b_.getInt32(31)});
}

// A program of several blocks is one cluster along the grid's first axis.
llvm::Value* NvidiaEmitter::blockId(int axis) {
  return axis == 0 && cx_->blocks > 1 ? ptx::special(b_, ptx::Special::ClusterX) : gridIndex(axis);
}
llvm::Value* NvidiaEmitter::numBlocks(int axis) {
  return axis == 0 && cx_->blocks > 1 ? ptx::special(b_, ptx::Special::ClusterCountX) : gridSize(axis);
}
llvm::Value* NvidiaEmitter::gridIndex(int axis) {
  return ptx::special(b_, ptx::Special(int(ptx::Special::BlockX) + axis));
}
llvm::Value* NvidiaEmitter::gridSize(int axis) {
  return ptx::special(b_, ptx::Special(int(ptx::Special::BlockCountX) + axis));
}
llvm::Value* NvidiaEmitter::blockRank() { return ptx::special(b_, ptx::Special::ClusterRank); }
llvm::Value* NvidiaEmitter::loadFirstBlock(llvm::Value* shared, unsigned bits) {
  AccessOptions options;
  options.space = Space::SharedCluster;
  return ptx::load(b_, b_.getIntNTy(bits), 1, ptx::mapShared(b_, shared, b_.getInt32(0)), nullptr, {}, options)[0];
}

// An author's eviction policy is for both caches.
codegen::Values NvidiaEmitter::load(llvm::Type* element, unsigned count, llvm::Value* pointer, llvm::Value* predicate,
                                    Scalars other, const AccessOptions& options) {
  using codegen::Evict;
  AccessOptions both = options;
  bool isHinted = options.space == Space::Global && options.order == codegen::Order::Weak && !options.isVolatile &&
                  options.cache == codegen::Cache::Default;
  if (isHinted && (options.evict == Evict::First || options.evict == Evict::Last))
    both.l2Policy = ptx::cachePolicy(b_, options.evict);
  return ptx::load(b_, element, count, pointer, predicate, other, both);
}

//===- meeting --------------------------------------------------------------------------------------------------===//
// Consumers have a barrier of their own, for the producer's warps never join; so has a preparer.
void NvidiaEmitter::blockBarrier() {
  int id = cx_->role == Role::Block      ? KernelContext::kBlockBarrier
           : cx_->role == Role::Preparer ? KernelContext::kPreparersBarrier
                                         : KernelContext::kConsumersBarrier;
  if (cx_->role == Role::Block && cx_->numThreads() == cx_->warpSize())
    warpBarrier();
  else
    ptx::barrierSync(b_, id, cx_->numThreads());
  cx_->blockBarriers.insert(&b_.GetInsertBlock()->back());
}
void NvidiaEmitter::warpBarrier() { b_.CreateIntrinsic(b_.getVoidTy(), I::nvvm_bar_warp_sync, {b_.getInt32(-1)}); }
void NvidiaEmitter::programBarrier() { meetBlocks(*cx_); }
void NvidiaEmitter::namedBarrier(int id, int threads, bool arriveOnly) {
  if (arriveOnly)
    ptx::barrierArrive(b_, id, threads);
  else
    ptx::barrierSync(b_, id, threads);
}

// LLVM knows the plain form.
llvm::Value* NvidiaEmitter::shuffle(Shuffle mode, llvm::Value* value, llvm::Value* lane, llvm::Value* mask) {
  if (mode != Shuffle::Index || mask || !value->getType()->isIntegerTy(32))
    return ptx::shuffle(b_, mode, value, lane, 32, mask);
  return b_.CreateIntrinsic(b_.getInt32Ty(), I::nvvm_shfl_sync_idx_i32,
                            {b_.getInt32(-1), value, lane, b_.getInt32(31)});
}

//===- memory ---------------------------------------------------------------------------------------------------===//
bool NvidiaEmitter::hasAtomic(AtomicOp, AtomicType type) const {
  return type != AtomicType::BF16 || cx_->target.hasBf16Atomics();
}
void NvidiaEmitter::completeStores() { completeBulkStores(*cx_); }
void NvidiaEmitter::orderAsyncReads() {
  if (cx_->target.hasTma()) ptx::fenceProxyAsync(b_, ptx::ProxySpace::Global);
}
void NvidiaEmitter::storeMatrices(llvm::Value* base, const LinearLayout& layout, Scalars source, unsigned bits,
                                  bool transposed) {
  nvidia::storeMatrices(*cx_, base, layout, source, bits, transposed);
}
void NvidiaEmitter::loadMatrices(llvm::Value* base, const LinearLayout& layout,
                                 llvm::MutableArrayRef<llvm::Value*> result, unsigned bits, bool transposed) {
  nvidia::loadMatrices(*cx_, base, layout, result, bits, transposed);
}

//===- arithmetic -----------------------------------------------------------------------------------------------===//
llvm::Value* NvidiaEmitter::divideApproximately(llvm::Value* x, llvm::Value* y) {
  return b_.CreateIntrinsic(x->getType(), I::nvvm_div_full, {x, y});
}

std::pair<llvm::Value*, llvm::Value*> NvidiaEmitter::divide(llvm::Value* x, llvm::Value* y, bool isSigned) {
  auto [quotient, remainder] = ptx::divide(b_, x, y, isSigned);
  return {quotient, remainder};
}

// LLVM's own multiplication would be divided into two.
llvm::Value* NvidiaEmitter::multiplyWide(llvm::Value* x, llvm::Value* y) {
  ptx::Call call(b_);
  std::string result = call.out(b_.getInt64Ty()), left = call.in(x), right = call.in(y);
  return call.emit("mul.wide.u32 " + result + ", " + left + ", " + right + ";", ptx::Effect::Pure)[0];
}

llvm::Value* NvidiaEmitter::integerToFloat(llvm::Value* x, bool isSigned) {
  bool isWide = x->getType()->isIntegerTy(64);
  auto id = isWide ? (isSigned ? I::nvvm_ll2f_rz : I::nvvm_ull2f_rz) : (isSigned ? I::nvvm_i2f_rz : I::nvvm_ui2f_rz);
  return b_.CreateIntrinsic(b_.getFloatTy(), id, {x});
}

llvm::Value* NvidiaEmitter::floatToInteger(llvm::Value* x, llvm::Type* integer, bool isSigned) {
  I::ID signedIds[] = {I::nvvm_f2i_rz, I::nvvm_f2ll_rz, I::nvvm_d2i_rz, I::nvvm_d2ll_rz};
  I::ID unsignedIds[] = {I::nvvm_f2ui_rz, I::nvvm_f2ull_rz, I::nvvm_d2ui_rz, I::nvvm_d2ull_rz};
  int form = 2 * x->getType()->isDoubleTy() + integer->isIntegerTy(64);
  return b_.CreateIntrinsic(integer, (isSigned ? signedIds : unsignedIds)[form], {x});
}

llvm::Value* NvidiaEmitter::doubleToFloat(llvm::Value* x) {
  return b_.CreateIntrinsic(b_.getFloatTy(), I::nvvm_d2f_rz, {x});
}

llvm::Value* NvidiaEmitter::packFloats(llvm::Type* element, llvm::Value* first, llvm::Value* second, bool towardZero) {
  return element->isHalfTy() ? ptx::packHalf(b_, first, second, towardZero)
                             : ptx::packBfloat(b_, first, second, towardZero);
}

llvm::Value* NvidiaEmitter::packFloat8(codegen::Float8 type, llvm::Value* first, llvm::Value* second) {
  return ptx::packFloat8(b_, type, first, second);
}

// libdevice has `__nv_<name>f` for floats, `__nv_<name>` for doubles.
llvm::Value* NvidiaEmitter::callMath(llvm::StringRef name, llvm::Type* type, Scalars operands) {
  llvm::SmallVector<llvm::Type*> types;
  for (llvm::Value* v : operands) types.push_back(v->getType());
  std::string symbol = ("__nv_" + name + (type->isFloatTy() ? "f" : "")).str();
  return b_.CreateCall(cx_->module.getOrInsertFunction(symbol, llvm::FunctionType::get(type, types, false)), operands);
}

//===- the rest -------------------------------------------------------------------------------------------------===//
void NvidiaEmitter::print(llvm::Value* format, Scalars values) {
  llvm::SmallVector<llvm::Type*> types;
  for (llvm::Value* v : values) types.push_back(v->getType());
  auto* type = llvm::StructType::get(cx_->context, types);
  llvm::Value* buffer = cx_->temporary(type);
  for (auto [i, v] : llvm::enumerate(values)) b_.CreateStore(v, b_.CreateStructGEP(type, buffer, i));
  auto callee = cx_->module.getOrInsertFunction("vprintf", b_.getInt32Ty(), b_.getPtrTy(), b_.getPtrTy());
  b_.CreateCall(callee, {format, buffer});
}

void NvidiaEmitter::failAssertion(llvm::Value* message, llvm::Value* file, unsigned line, llvm::Value* function) {
  auto callee = cx_->module.getOrInsertFunction("__assertfail", b_.getVoidTy(), b_.getPtrTy(), b_.getPtrTy(),
                                                b_.getInt32Ty(), b_.getPtrTy(), b_.getInt64Ty());
  b_.CreateCall(callee, {message, file, b_.getInt32(line), function, b_.getInt64(1)})->setDoesNotReturn();
}

}  // namespace tandem::lower::nvidia
