// Warp roles: the program's warps consume; of an added warpgroup the first thread produces, one of the second warp signals.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include "compiler/lower/nvidia/turns.h"

namespace tandem::lower::nvidia {
using namespace mlir;

// Whether a block leaves half of the multiprocessor: few consumers, whose widest product leaves them registers enough.
int KernelLowering::blocksThatFit(func::FuncOp kernel) const {
  int64_t columns = 0, groups = std::max(1, numWarps_ / 4);
  kernel.walk([&](tgpu::WgmmaOp op) {
    auto acc = cast<RankedTensorType>(op.getAcc().getType());
    int64_t rowGroups = std::min<int64_t>(groups, acc.getDimSize(0) / 64);
    columns = std::max(columns, acc.getDimSize(1) * rowGroups / groups);
  });
  return columns && columns <= 128 && numWarps_ <= 4 ? 2 : 1;
}

// Registers move from the producer, which needs few, to the consumers, in steps of 8, so that all fit the multiprocessor. One consumer
// warpgroup leaves room for a second block, whose products run while this one stores.
void KernelLowering::lowerWarpSpecialize(tgpu::WarpSpecializeOp op) {
  constexpr int kProducerWarps = 4, kProducerRegisters = 40;
  int consumers = 32 * numWarps_, threads = consumers + 32 * kProducerWarps;
  image_.threads = threads;
  int registers = target_.registersPerMultiprocessor() / blocksPerMultiprocessor_;
  int even = registers / threads / 8 * 8;
  int spare = registers - kProducerRegisters * 32 * kProducerWarps;
  int consumerRegisters = std::min(240, spare / consumers / 8 * 8);
  bool moves = target_.hasSetMaxRegister() && even < consumerRegisters && even >= kProducerRegisters;

  llvm::BasicBlock *consumer = newBlock("consumer"), *producer = newBlock("producer"), *after = newBlock("after");
  b_.CreateCondBr(b_.CreateICmpULT(warpId(), b_.getInt32(numWarps_)), consumer, producer);

  b_.SetInsertPoint(producer);
  if (moves) ptx::decreaseRegisters(b_, kProducerRegisters);
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
  if (haveTurns && consumers == kTurnThreads)
    when(b_.CreateICmpUGE(warpId(), b_.getInt32(4)), [&] { ptx::barrierArrive(b_, kTurnBarrier, kTurnThreads); });
  lowerBlock(op.getConsumer().front());
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  role_ = 0;
}

}  // namespace tandem::lower::nvidia
