// A kernel becomes a function: its arguments, then its body op by op, as the table says.
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/lower/gpu/dist.h"
#include "compiler/lower/gpu/memory.h"
#include "compiler/lower/gpu/trace.h"

namespace tandem::lower::gpu {
using namespace mlir;

void registerAnyGpu(Lowerings& table) {
  for (auto add : {registerArith,     registerAtomic, registerBlockMemory,    registerControl,    registerConvert,
                   registerDebug,     registerDist,   registerDistCopy,       registerDistSignal, registerDistTeam,
                   registerDot,       registerGather, registerMapElementwise, registerMath,       registerMemory,
                   registerReduce,    registerScan,   registerShape,          registerSimt,       registerSimtMemory,
                   registerSimtShared})
    add(table);
}

// Returns true if the kernel's bits may depend on how many threads it has.
static bool foldsTiles(func::FuncOp kernel) {
  auto folds = [](Operation* op) {
    bool does =
        isa<tile::ReduceOp, tile::ScanOp, tile::AtomicRmwOp, tile::AtomicCasOp, simt::AtomicRmwOp, simt::AtomicCasOp>(
            op);
    return does ? WalkResult::interrupt() : WalkResult::advance();
  };
  return kernel.walk(folds).wasInterrupted();
}

void KernelContext::lower(func::FuncOp kernel) {
  image.name = kernel.getName().str();
  numWarps = tile::numWarps(kernel);
  blocks = tgpu::blocksOf(kernel);
  image.threads = numThreads();
  image.cluster = {blocks, 1, 1};
  image.folds = foldsTiles(kernel);
  shared_ = emit.sharedMemory(module);
  if (std::optional<int> axis = tgpu::longestFirst(kernel)) longestFirst = *axis;
  emit.begin(kernel);
  lowerArguments(kernel);
  traced(*this, "kernel", kernel, nullptr, [&] {
    emit.enter();
    lowerBlock(kernel.getBody().front());
    emit.leave();
  });
  b.CreateRetVoid();
  finishTrace(*this);
  spareMeetings();
  image.sharedBytes = std::max<int64_t>(llvm::alignTo(sharedBytes, 128), sharedEnd);
  emit.finish(*function);
}

static abi::ParamType paramType(mlir::Type type) {
  using abi::ParamType;
  if (isa<tile::PtrType>(type)) return ParamType::Pointer;
  if (type.isF64()) return ParamType::F64;
  if (type.isF32()) return ParamType::F32;
  if (type.isF16()) return ParamType::F16;
  if (type.isBF16()) return ParamType::BF16;
  switch (type.getIntOrFloatBitWidth()) {
    case 1: return ParamType::I1;
    case 8: return ParamType::I8;
    case 16: return ParamType::I16;
    case 32: return ParamType::I32;
    default: return ParamType::I64;
  }
}

// The kernel's own parameters come first, then those that the target adds, then the context of ranks.
void KernelContext::lowerArguments(func::FuncOp kernel) {
  llvm::SmallVector<llvm::Type*> types;
  for (mlir::Type type : kernel.getArgumentTypes()) {
    types.push_back(typeOf(type));
    image.params.push_back(paramType(type));
  }
  for (auto [a, b] : tile::takenApart(kernel))
    image.apart.emplace_back(tile::nameOf(kernel.getArgument(a)).str(), tile::nameOf(kernel.getArgument(b)).str());
  emit.addParameters(kernel, types);
  image.usesRanks = usesRanks(kernel) || target.recordsTrace();
  if (!image.usesRanks) peers = nullptr;
  if (image.usesRanks) types.push_back(b.getPtrTy(1));
  auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, image.name, module);
  emit.markParameters(*function);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  places.attach(function, kernel.getLoc());
  places.set(b, kernel.getLoc());
  if (target.recordsTrace()) beginTrace(*this);
  for (auto [i, argument] : llvm::enumerate(kernel.getArguments())) {
    llvm::Argument* arg = function->getArg(i);
    std::optional<int64_t> multiple = tile::multipleOf(argument);
    if (multiple && arg->getType()->isPointerTy())
      arg->addAttr(llvm::Attribute::getWithAlignment(context, llvm::Align(*multiple)));
    define(argument, {arg});
  }
}

void KernelContext::lowerBlock(Block& block) {
  for (Operation& op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>()) lowerOp(&op);
  flushScalarStores(*this);
}

static bool isScalarStore(Operation* op) {
  auto store = dyn_cast<tile::StoreOp>(op);
  return store && !isa<RankedTensorType>(store.getPointer().getType());
}

// If all blocks of a cluster would write the same, only the first one writes.
void KernelContext::lowerOp(Operation* op) {
  if (!isScalarStore(op) && (op->getNumRegions() || !isMemoryEffectFree(op))) flushScalarStores(*this);
  places.set(b, op->getLoc());
  Lowerings::Function lowering = lowerings_.find(op);
  if (!lowering) failUnsupported(op);
  if (!tgpu::isWhole(op) || op->getNumResults() > 0) return lowering(*this, op);
  flushScalarStores(*this);
  when(isFirstBlock(), [&] {
    lowering(*this, op);
    flushScalarStores(*this);
  });
}

void KernelContext::failUnsupported(Operation* op) {
  places.fail(op->getLoc(), "unsupported",
              "`" + op->getName().getStringRef().str() + "` is not supported on " + target.name());
}

}  // namespace tandem::lower::gpu
