// Warp roles: the program's warps consume, an added warpgroup's first thread produces.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
using namespace mlir;

// Registers move from the producer, which needs few, to the consumers, in steps of 8, so that all fit the multiprocessor.
void KernelLowering::lowerWarpSpecialize(tgpu::WarpSpecializeOp op) {
  constexpr int kProducerWarps = 4, kProducerRegisters = 40;
  int consumers = 32 * numWarps_, threads = consumers + 32 * kProducerWarps;
  image_.threads = threads;
  int even = target_.registersPerMultiprocessor() / threads / 8 * 8;
  int spare = target_.registersPerMultiprocessor() - kProducerRegisters * 32 * kProducerWarps;
  int consumerRegisters = std::min(240, spare / consumers / 8 * 8);
  bool moves = target_.hasSetMaxRegister() && even < consumerRegisters && even >= kProducerRegisters;

  llvm::BasicBlock *consumer = newBlock("consumer"), *producer = newBlock("producer"), *after = newBlock("after");
  b_.CreateCondBr(b_.CreateICmpULT(warpId(), b_.getInt32(numWarps_)), consumer, producer);

  b_.SetInsertPoint(producer);
  if (moves) ptx::decreaseRegisters(b_, kProducerRegisters);
  role_ = 2;
  resetCounters();
  when(b_.CreateICmpEQ(threadId(), b_.getInt32(consumers)), [&] { lowerBlock(op.getProducer().front()); });
  b_.CreateBr(after);

  b_.SetInsertPoint(consumer);
  if (moves) ptx::increaseRegisters(b_, consumerRegisters);
  role_ = 1;
  resetCounters();
  lowerBlock(op.getConsumer().front());
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  role_ = 0;
}

}  // namespace tandem::lower::nvidia
