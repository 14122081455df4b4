// Warp roles: the program's warps consume; of an added warpgroup the first thread produces, one of the second warp signals.
#include "compiler/dialect/tgpu/products.h"
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
using namespace mlir;

// Returns the number of blocks of few consumers that share the multiprocessor: two if the widest instruction leaves
// registers enough (of eight consumers, without roles, all products of an iteration); with roles three, if all products of an iteration do
// and the buffers are small.
int KernelLowering::blocksThatFit(func::FuncOp kernel) const {
  int64_t widest = 0, groups = std::max(1, numWarps_ / 4);
  llvm::DenseMap<Block*, int64_t> columns;
  kernel.walk([&](tgpu::WgmmaOp op) {
    int64_t together = 0;
    for (tgpu::WgmmaOp product : tgpu::withJoined(op)) {
      auto acc = cast<RankedTensorType>(product.getAcc().getType());
      int64_t rowGroups = std::min<int64_t>(groups, acc.getDimSize(0) / 64);
      together += acc.getDimSize(1) * rowGroups / groups;
      columns[op->getBlock()] += acc.getNumElements() / 64 / groups;
    }
    widest = std::max(widest, together);
  });
  if (!widest || widest > 128 || numWarps_ > 8) return 1;
  bool areFew = llvm::all_of(columns, [](const auto& entry) { return entry.second <= 128; });
  bool haveRoles = kernel.walk([](tgpu::WarpSpecializeOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (numWarps_ > 4) return !haveRoles && areFew && hasSmallBuffers(kernel) ? 2 : 1;
  return haveRoles && areFew && widest <= 64 && hasSmallBuffers(kernel) ? 3 : 2;
}

// Returns true if the buffers take their share of the shared memory at most, with room for stores and exchanges, where two blocks of eight
// consumers or three of four share it.
bool KernelLowering::hasSmallBuffers(func::FuncOp kernel) const {
  constexpr int64_t kBesideBuffers = 16 * 1024;
  int64_t bytes = kBesideBuffers, blocks = numWarps_ > 4 ? 2 : 3;
  kernel.walk([&](tgpu::AllocOp op) {
    auto type = cast<tile::SmemType>(op.getType());
    bytes += ShapedType::getNumElements(type.getShape()) * type.getElementType().getIntOrFloatBitWidth() / 8 * op.getSlots();
  });
  return bytes <= target_.maxSharedBytes() / blocks;
}

// Warpgroups take turns in pairs, so that one of a pair computes while the other multiplies. Each waits at a barrier of its own, of the
// last of the block's 16, at which the other one arrives.
bool KernelLowering::takeTurns() const { return numWarps_ == 8 || numWarps_ == 16; }

static constexpr int kPairThreads = 256;

llvm::Value* KernelLowering::turnBarrier(bool ofOther) {
  llvm::Value* group = b_.CreateLShr(warpId(), 2);
  return b_.CreateAdd(ofOther ? b_.CreateXor(group, 1) : group, b_.getInt32(16 - numWarps_ / 4));
}

void KernelLowering::awaitTurn() { ptx::barrierSync(b_, turnBarrier(false), b_.getInt32(kPairThreads)); }
void KernelLowering::giveTurn() { ptx::barrierArrive(b_, turnBarrier(true), b_.getInt32(kPairThreads)); }

// Registers move from the producer to the consumers, in steps of 8, within the block's share. The producer needs few,
// and keeps as few as it can where consumers are short of them. Blocks beside it run their products while this one
// computes or stores.
void KernelLowering::lowerWarpSpecialize(tgpu::WarpSpecializeOp op) {
  constexpr int kProducerWarps = 4;
  const int producerRegisters = blocksPerMultiprocessor_ > 2 || numWarps_ > 8 ? 24 : 40;
  int consumers = 32 * numWarps_, threads = consumers + 32 * kProducerWarps;
  image_.threads = threads;
  int most = target_.registersPerMultiprocessor() / threads / 8 * 8;  // of a thread, where a block is alone
  maxRegisters_ = std::min(maxRegisters_, most);
  int even = target_.registersPerMultiprocessor() / blocksPerMultiprocessor_ / threads / 8 * 8;
  if (maxRegisters_) even = maxRegisters_ / 8 * 8;
  int spare = even * threads - producerRegisters * 32 * kProducerWarps;
  int consumerRegisters = std::min(240, spare / consumers / 8 * 8);
  bool moves = target_.hasSetMaxRegister() && even < consumerRegisters && even >= producerRegisters;

  llvm::BasicBlock *consumer = newBlock("consumer"), *producer = newBlock("producer"), *after = newBlock("after");
  b_.CreateCondBr(b_.CreateICmpULT(warpId(), b_.getInt32(numWarps_)), consumer, producer);

  b_.SetInsertPoint(producer);
  if (moves) ptx::decreaseRegisters(b_, producerRegisters);
  role_ = 2;
  resetCounters();
  when(b_.CreateICmpEQ(threadId(), b_.getInt32(consumers)), [&] {
    for (size_t i = 0; i < image_.tensorMaps.size(); ++i)
      ptx::prefetchTensorMap(b_, function_->getArg(image_.params.size() + i));
    lowerBlock(op.getProducer().front());
  });
  if (!op.getSignaller().empty()) {
    role_ = 3;
    resetCounters();
    when(b_.CreateICmpEQ(threadId(), b_.getInt32(consumers + 32)), [&] { lowerBlock(op.getSignaller().front()); });
  }
  b_.CreateBr(after);

  b_.SetInsertPoint(consumer);
  if (moves) ptx::increaseRegisters(b_, consumerRegisters);
  role_ = 1;
  resetCounters();
  bool haveTurns = op.getConsumer().walk([](Operation* inner) {
    return inner->hasAttr("tgpu.takes_turn") ? WalkResult::interrupt() : WalkResult::advance();
  }).wasInterrupted();
  if (haveTurns && takeTurns())  // the pair's first begins
    when(b_.CreateICmpNE(b_.CreateAnd(warpId(), 4), b_.getInt32(0)), [&] { giveTurn(); });
  lowerBlock(op.getConsumer().front());
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  role_ = 0;
}

}  // namespace tandem::lower::nvidia
