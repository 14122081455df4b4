// Warp roles: the program's warps consume; of an added warpgroup the first thread produces, or all do where they copy by
// cp.async, and one of the second warp signals; a further warpgroup prepares what the consumers multiply.
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tgpu/products.h"
#include "compiler/lower/nvidia/ring.h"
#include "compiler/lower/nvidia/roles.h"
#include "compiler/target/nvidia_units.h"

namespace tandem::lower::nvidia {
using namespace mlir;

static int64_t bytesOfBuffers(func::FuncOp kernel) {
  int64_t bytes = 0;
  kernel.walk([&](tgpu::AllocOp op) {
    auto type = cast<tile::SmemType>(op.getType());
    bytes +=
        ShapedType::getNumElements(type.getShape()) * type.getElementType().getIntOrFloatBitWidth() / 8 * op.getSlots();
  });
  return bytes;
}

// Returns true if the buffers take their share of the shared memory at most, with room for stores and exchanges, where
// two blocks of eight consumers or three of four share it.
static bool hasSmallBuffers(KernelContext& cx, func::FuncOp kernel) {
  constexpr int64_t kBesideBuffers = 16 * 1024;
  int64_t blocks = cx.numWarps > 4 ? 2 : 3;
  return bytesOfBuffers(kernel) + kBesideBuffers <= cx.target.maxSharedBytes() / blocks;
}

// Returns how many neighbours one access takes of the elements that the pointers address, or what is added to them.
static int64_t neighboursAt(Value pointers) {
  for (Operation* user : pointers.getUsers()) {
    if (std::optional<tgpu::Neighbours> neighbours = tgpu::neighboursOf(user)) return neighbours->count;
    if (isa<tile::AddPtrOp>(user)) return neighboursAt(user->getResult(0));
  }
  return 1;
}

// The bits of registers that a tile takes; conditions are predicates.
static int64_t bitsOfTile(Value value) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  if (!tile || tile.getElementType().isInteger(1)) return 0;
  if (!tile.getElementType().isIntOrFloat()) return tile.getNumElements() * 64 / neighboursAt(value);
  return tile.getNumElements() * std::max(32u, tile.getElementTypeBitWidth());
}

// Returns the bits of the tiles that the block computes beside its products, where most of them are there at once.
static int64_t mostBitsAtOnce(Block& block) {
  llvm::DenseMap<Operation*, int64_t> ended;  // behind an op, the bits that it was the last one to use
  int64_t now = 0, most = 0;
  for (Operation& op : block) {
    ResultRange tiles = op.getResults();
    for (Value result : isa<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(op) ? tiles.take_front(0) : tiles) {
      Operation* last = &op;
      for (Operation* user : result.getUsers()) {
        Operation* inside = block.findAncestorOpInBlock(*user);
        if (inside && last->isBeforeInBlock(inside)) last = inside;
      }
      ended[last] += bitsOfTile(result);
      now += bitsOfTile(result);
    }
    most = std::max(most, now);
    now -= ended.lookup(&op);
  }
  return most;
}

// Returns a bound on the registers of a thread that tiles take in loops with products: all sums of a block, and the tiles that are
// computed beside them.
static int64_t registersOfProducts(KernelContext& cx, func::FuncOp kernel, int64_t mostColumns) {
  llvm::DenseSet<Block*> blocks;
  kernel.walk([&](tgpu::WgmmaOp op) { blocks.insert(op->getBlock()); });
  int64_t bits = 0;
  for (Block* block : blocks) bits = std::max(bits, mostBitsAtOnce(*block));
  return mostColumns / 2 + bits / 32 / (cx.numWarps * cx.warpSize());
}

// Returns the bytes of the buffers, and of the largest sums as they are stored.
static int64_t bytesOfProducts(func::FuncOp kernel) {
  constexpr int64_t kBarriers = 1024, kMostStored = 16 * 1024;
  int64_t stored = 0;
  kernel.walk([&](tgpu::WgmmaOp op) {
    stored = std::max(stored, cast<RankedTensorType>(op.getAcc().getType()).getNumElements() * 2);
  });
  return bytesOfBuffers(kernel) + std::min(stored, kMostStored) + kBarriers;
}

// Returns how many blocks with roles share the multiprocessor where what products need of registers and shared memory
// decides alone: few slots of small tiles are too little under way for one block to keep the tensor cores busy.
static int blocksOfSmallTiles(KernelContext& cx, func::FuncOp kernel, int64_t widest, int64_t mostColumns) {
  constexpr int kBesideTiles = 40;
  return target::blocksBesideProducers(
      cx.target,
      {cx.numWarps, widest, registersOfProducts(cx, kernel, mostColumns) + kBesideTiles, bytesOfProducts(kernel)});
}

// Blocks of few consumers share the multiprocessor by two if the widest instruction leaves registers enough (of eight
// consumers, without roles, all products of an iteration); with roles by three, if all products of an iteration do and
// the buffers are small, or by more, if all tiles of their loops are small. By a plan of few blocks, there are no more
// than have all registers. Without roles, between which registers are divided, one block more may be found where the
// products leave it some.
BlockShare blocksThatFit(KernelContext& cx, func::FuncOp kernel, target::RegisterPlan plan) {
  int64_t widest = 0, groups = std::max(1, cx.numWarps / 4);
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
  if (!widest) return {};
  int64_t most = 0;  // columns of 64 rows, two to a register
  for (auto [block, all] : columns) most = std::max(most, all);
  tgpu::WarpSpecializeOp roles;
  kernel.walk([&](tgpu::WarpSpecializeOp op) { roles = op; });
  bool mayBeMany = plan == target::RegisterPlan::ManyBlocks, haveRoles = roles != nullptr;
  int roomy = target::roomyBlocks(cx.target, cx.numWarps);
  if (mayBeMany && roles && !producesByGroup(roles) && roles.getPreparer().empty())
    if (int blocks = blocksOfSmallTiles(cx, kernel, widest, most); blocks > roomy) return {blocks, true};
  if (widest > 128 || cx.numWarps > 8) return {1, true};
  bool areFew = most <= 128;
  bool areMany = cx.numWarps > 4 ? !haveRoles && areFew : haveRoles && areFew && widest <= 64;
  if (areMany && mayBeMany && hasSmallBuffers(cx, kernel)) return {roomy + 1, true};
  constexpr int kBesideProducts = 32;
  int more = cx.target.registersPerMultiprocessor() / ((roomy + 1) * cx.numWarps * cx.target.warpSize());
  return {roomy, haveRoles || most / 2 + kBesideProducts > more};
}

// Warpgroups take turns in pairs, so that one of a pair computes while the other multiplies. Each waits at a barrier of
// its own, of the last of the block's 16, at which the other one arrives.
bool takeTurns(KernelContext& cx) { return cx.numWarps == 8 || cx.numWarps == 16; }

static constexpr int kPairThreads = 256, kGroupThreads = 128, kBarriers = 16;

static llvm::Value* turnBarrier(KernelContext& cx, bool ofOther) {
  llvm::Value* group = cx.b.CreateLShr(cx.warpId(), 2);
  return cx.b.CreateAdd(ofOther ? cx.b.CreateXor(group, 1) : group, cx.b.getInt32(kBarriers - cx.numWarps / 4));
}

// Each group has a barrier before those of the turns.
void groupBarrier(KernelContext& cx) {
  llvm::Value* id = cx.b.CreateAdd(cx.b.CreateLShr(cx.warpId(), 2), cx.b.getInt32(kBarriers - cx.numWarps / 4 * 2));
  ptx::barrierSync(cx.b, id, cx.b.getInt32(kGroupThreads));
}

void awaitTurn(KernelContext& cx) { ptx::barrierSync(cx.b, turnBarrier(cx, false), cx.b.getInt32(kPairThreads)); }

void giveTurn(KernelContext& cx) { ptx::barrierArrive(cx.b, turnBarrier(cx, true), cx.b.getInt32(kPairThreads)); }

bool producesByGroup(tgpu::WarpSpecializeOp roles) {
  return roles.getProducer().walk([](tgpu::CopyAsyncOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

// Registers move from the producer to the consumers, in steps of 8, within the block's share. The producer needs few,
// and keeps as few as it can where consumers are short of them. Blocks beside it run their products while this one
// computes or stores.
void lowerWarpSpecialize(KernelContext& cx, tgpu::WarpSpecializeOp op) {
  bool ofGroup = cx.producesByGroup = producesByGroup(op), hasPreparer = !op.getPreparer().empty();
  constexpr int kGroupRegisters = 72;
  const int producerRegisters =
      ofGroup ? kGroupRegisters
      : cx.blocksPerMultiprocessor > target::roomyBlocks(cx.target, cx.numWarps) || cx.numWarps > 8 || hasPreparer
          ? target::kFewestRegisters
          : target::kProducerRegisters;
  int consumers = cx.warpSize() * cx.numWarps, producersEnd = consumers + cx.warpSize() * target::kProducerWarps,
      threads = producersEnd + (hasPreparer ? cx.warpSize() * target::kPreparerWarps : 0);
  cx.image.threads = threads;
  int most = cx.target.registersPerMultiprocessor() / threads / 8 * 8;  // of a thread, where a block is alone
  cx.maxRegisters = std::min(cx.maxRegisters, most);
  int even = cx.target.registersPerMultiprocessor() / cx.blocksPerMultiprocessor / threads / 8 * 8;
  if (cx.maxRegisters) even = cx.maxRegisters / 8 * 8;
  int consumerRegisters =
      target::consumerRegisters(even, consumers, producerRegisters, hasPreparer ? target::kPreparerRegisters : 0);
  bool moves = cx.target.hasSetMaxRegister() && even < consumerRegisters && even >= producerRegisters;

  llvm::BasicBlock *consumer = cx.newBlock("consumer"), *producer = cx.newBlock("producer"),
                   *after = cx.newBlock("after");
  cx.b.CreateCondBr(cx.b.CreateICmpULT(cx.warpId(), cx.b.getInt32(cx.numWarps)), consumer, producer);

  cx.b.SetInsertPoint(producer);
  if (hasPreparer) {
    llvm::BasicBlock *preparer = cx.newBlock("preparer"), *other = cx.newBlock("producer");
    cx.b.CreateCondBr(cx.b.CreateICmpULT(cx.warpId(), cx.b.getInt32(producersEnd / cx.warpSize())), other, preparer);
    cx.b.SetInsertPoint(preparer);
    if (moves) ptx::increaseRegisters(cx.b, target::kPreparerRegisters);
    cx.role = Role::Preparer;
    resetCounters(cx);
    cx.asThreads(producersEnd, target::kPreparerWarps, [&] { cx.lowerBlock(op.getPreparer().front()); });
    cx.b.CreateBr(after);
    cx.b.SetInsertPoint(other);
  }
  if (moves) ptx::decreaseRegisters(cx.b, producerRegisters);
  cx.role = Role::Producer;
  resetCounters(cx);
  auto prefetch = [&] {
    for (size_t i = 0; i < cx.image.tensorMaps.size(); ++i)
      ptx::prefetchTensorMap(cx.b, cx.function->getArg(cx.image.params.size() + i));
  };
  llvm::Value* isFirst = cx.b.CreateICmpEQ(cx.threadId(), cx.b.getInt32(consumers));
  if (ofGroup) {
    cx.when(isFirst, prefetch);
    cx.lowerBlock(op.getProducer().front());
    ptx::commitCopies(cx.b);  // a thread is there until its copies are
    ptx::waitCopies(cx.b, 0);
  } else {
    cx.when(isFirst, [&] {
      prefetch();
      cx.lowerBlock(op.getProducer().front());
    });
  }
  if (!op.getSignaller().empty()) {
    cx.role = Role::Signaller;
    resetCounters(cx);
    cx.when(cx.b.CreateICmpEQ(cx.threadId(), cx.b.getInt32(consumers + 32)),
            [&] { cx.lowerBlock(op.getSignaller().front()); });
  }
  cx.b.CreateBr(after);

  cx.b.SetInsertPoint(consumer);
  if (moves) ptx::increaseRegisters(cx.b, consumerRegisters);
  cx.role = Role::Consumers;
  resetCounters(cx);
  bool haveTurns = op.getConsumer()
                       .walk([](tgpu::WgmmaOp inner) {
                         return inner.getTakesTurn() ? WalkResult::interrupt() : WalkResult::advance();
                       })
                       .wasInterrupted();
  if (haveTurns && takeTurns(cx))  // the pair's first begins
    cx.when(cx.b.CreateICmpNE(cx.b.CreateAnd(cx.warpId(), 4), cx.b.getInt32(0)), [&] { giveTurn(cx); });
  cx.lowerBlock(op.getConsumer().front());
  cx.b.CreateBr(after);
  cx.b.SetInsertPoint(after);
  cx.role = Role::Block;
}

}  // namespace tandem::lower::nvidia
