// Counts what other ops of the kernel have in shared memory, or will.
#include "compiler/transform/nvidia/copy_room.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/product_layouts.h"
#include "compiler/transform/nvidia/slot_readers.h"

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

constexpr int64_t kAlignment = 1024, kWordBytes = 4;

int64_t sizeOf(Value buffer) {
  auto type = cast<tile::SmemType>(buffer.getType());
  int64_t bits =
      type.getElementType().isIntOrFloat() ? std::max(8u, type.getElementType().getIntOrFloatBitWidth()) : 64;
  return llvm::alignTo(ShapedType::getNumElements(type.getShape()) * bits / 8, kAlignment);
}

// The bytes through which `op` exchanges tiles between threads, if it can do so in no other way.
int64_t bytesExchanged(Operation* op, int numWarps, const target::TargetInfo& target) {
  if (auto counts = dyn_cast<tile::HistogramOp>(op))
    return cast<RankedTensorType>(counts.getResult().getType()).getNumElements() * kWordBytes;
  auto dot = dyn_cast<tile::DotOp>(op);
  if (dot ? planDot(dot, numWarps, target).mma
          : !isa<tile::GatherOp, tile::ScanOp, tile::AtomicRmwOp, tile::AtomicCasOp>(op))
    return 0;
  constexpr int64_t kWidest = 8;
  int64_t elements = 0;
  for (Value v : op->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(v.getType())) elements += type.getNumElements();
  return elements * (dot ? kWordBytes : kWidest);
}

}  // namespace

int64_t bytesInSlot(ArrayRef<CopiedLoad> loads) {
  int64_t bytes = 0;
  for (const CopiedLoad& c : loads) bytes += llvm::alignTo(bytesOf(c.type()), kAlignment);
  return bytes;
}

int64_t roomForSlots(func::FuncOp kernel, ArrayRef<CopiedLoad> loads, const target::TargetInfo& target) {
  int numWarps = tile::numWarps(kernel);
  int64_t room = roomOf(target.maxSharedBytes()), exchanged = 0;
  kernel.walk([&](Operation* op) {
    if (auto alloc = dyn_cast<tgpu::AllocOp>(op); alloc && !isFeed(alloc, loads))
      room -= alloc.getSlots() * sizeOf(alloc.getResult());
    if (auto alloc = dyn_cast<simt::SmemAllocOp>(op)) room -= sizeOf(alloc->getResult(0));
    exchanged = std::max(exchanged, bytesExchanged(op, numWarps, target));
  });
  return room - exchanged;
}

}  // namespace tandem::transform::nvidia
