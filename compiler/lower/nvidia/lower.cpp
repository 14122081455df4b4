// This is the room's entry: it places shared memory, lowers the arguments, then the body op by op.
#include "compiler/lower/nvidia/lower.h"
#include "compiler/codegen/nvidia/codegen.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/IR/DIBuilder.h>

namespace tandem::lower::nvidia {
using namespace mlir;

std::unique_ptr<llvm::Module> lowerToLlvm(func::FuncOp kernel, const std::vector<SourceFilePtr>& files,
                                          const target::TargetInfo& target, llvm::LLVMContext& context,
                                          abi::KernelImage& image) {
  auto module = std::make_unique<llvm::Module>(kernel.getName().str(), context);
  module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  codegen::prepareModule(*module, target);
  auto at = filePosition(kernel.getLoc());
  Places places(*module, at ? at.getFilename().getValue() : "<unknown>", files);
  KernelLowering(*module, places, target, image).run(kernel);
  places.finish();
  return module;
}

void KernelLowering::run(func::FuncOp kernel) {
  image_.name = kernel.getName().str();
  numWarps_ = kernel->getAttrOfType<IntegerAttr>("tile.num_warps").getInt();
  image_.threads = 32 * numWarps_;
  blocks_ = tgpu::blocksOf(kernel);
  image_.cluster = {blocks_, 1, 1};
  shared_ = codegen::dynamicShared(module_);
  blocksPerMultiprocessor_ = blocksThatFit(kernel);
  if (auto given = kernel->getAttrOfType<IntegerAttr>("tile.maxnreg")) maxRegisters_ = given.getInt();
  if (auto axis = kernel->getAttrOfType<IntegerAttr>("tgpu.longest_first")) longestFirst_ = axis.getInt();
  allocateBuffers(kernel);
  lowerArguments(kernel);
  traced("kernel", kernel, nullptr, [&] {
    initialiseBarriers();
    lowerBlock(kernel.getBody().front());
    // Shared memory must outlive the copies that read it.
    if (stagingBytes_) ptx::waitBulk(b_, 0, true);
    if (reachesOthers()) clusterBarrier();
  });
  b_.CreateRetVoid();
  finishTrace();
  image_.sharedBytes = std::max<int64_t>(llvm::alignTo(sharedBytes_, 128), sharedEnd_);
  codegen::LaunchBounds bounds;
  bounds.threads = image_.threads;
  bounds.cluster = image_.cluster;
  bounds.maxRegisters = maxRegisters_;
  if (!maxRegisters_) bounds.minBlocks = blocksPerMultiprocessor_;  // PTX takes one of them
  codegen::markKernel(*function_, bounds);
}

// Ordinary parameters come first, then those of tensor maps. The uses of tensor maps decide how many there are, so the
// recipes are collected before the body, and the function is made with a parameter for each.
void KernelLowering::lowerArguments(func::FuncOp kernel) {
  llvm::SmallVector<llvm::Type*> types;
  for (mlir::Type type : kernel.getArgumentTypes()) {
    types.push_back(typeOf(type));
    image_.params.push_back(paramType(type));
  }
  collectTensorMaps(kernel);
  types.append(image_.tensorMaps.size(), b_.getPtrTy());
  size_t mapsEnd = types.size();
  image_.usesRanks = usesRanks(kernel) || target_.recordsTrace();
  if (image_.usesRanks) types.push_back(b_.getPtrTy(1));
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, image_.name, module_);
  for (size_t i = kernel.getNumArguments(); i < mapsEnd; ++i) codegen::markTensorMap(*function_, i);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  places_.attach(function_, kernel.getLoc());
  places_.set(b_, kernel.getLoc());
  if (target_.recordsTrace()) beginTrace();
  for (auto [i, argument] : llvm::enumerate(kernel.getArguments())) {
    llvm::Argument* arg = function_->getArg(i);
    auto divisibility = kernel.getArgAttrOfType<IntegerAttr>(i, "tandem.divisibility");
    if (divisibility && arg->getType()->isPointerTy())
      arg->addAttr(llvm::Attribute::getWithAlignment(context_, llvm::Align(divisibility.getInt())));
    define(argument, {arg});
  }
}

void KernelLowering::lowerBlock(Block& block) {
  for (Operation& op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>()) lowerOp(&op);
  flushScalarStores();
}

static bool isScalarStore(Operation* op) {
  auto store = dyn_cast<tile::StoreOp>(op);
  return store && !isa<RankedTensorType>(store.getPointer().getType());
}

// If all blocks of a cluster would write the same, only the first one writes.
void KernelLowering::lowerOp(Operation* op) {
  if (!isScalarStore(op) && (op->getNumRegions() || !isMemoryEffectFree(op))) flushScalarStores();
  places_.set(b_, op->getLoc());
  if (tgpu::isWhole(op) && op->getNumResults() == 0) {
    flushScalarStores();
    return when(isFirstBlock(), [&] {
      lowerInBlock(op);
      flushScalarStores();
    });
  }
  lowerInBlock(op);
  if (op->hasAttr("tgpu.gives_turn") && takeTurns()) giveTurn();
}

void KernelLowering::lowerInBlock(Operation* op) {
  if (lowerArith(op) || lowerMath(op) || lowerControl(op) || lowerShape(op) || lowerMemory(op) ||
      lowerBlockMemory(op) || lowerConvertLayout(op) || lowerRing(op) || lowerCopies(op) || lowerTma(op) || lowerWgmma(op) ||
      lowerDot(op) || lowerReduction(op) || lowerGather(op) || lowerAtomic(op) || lowerDebug(op) ||
      lowerInlineAsm(op) || lowerDist(op) || lowerSimt(op) || lowerCluster(op))
    return;
  failUnsupported(op);
}

void KernelLowering::failUnsupported(Operation* op) {
  places_.fail(op->getLoc(), "unsupported",
               "`" + op->getName().getStringRef().str() + "` is not supported on " + target_.name());
}

}  // namespace tandem::lower::nvidia
