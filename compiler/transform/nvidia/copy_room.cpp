// Counts what other ops of the kernel have in shared memory, or will.
#include "compiler/transform/nvidia/copy_room.h"
#include "compiler/analysis/buffer_lives.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/product_layouts.h"
#include "compiler/transform/nvidia/slot_readers.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using analysis::Life;
namespace {

constexpr int64_t kAlignment = 1024, kWordBytes = 4;

int64_t bytesOfElement(Type type) {
  return (type.isIntOrFloat() ? std::max(8u, type.getIntOrFloatBitWidth()) : 64) / 8;
}

int64_t sizeOf(Value buffer) {
  auto type = cast<tile::SmemType>(buffer.getType());
  return llvm::alignTo(ShapedType::getNumElements(type.getShape()) * bytesOfElement(type.getElementType()), kAlignment);
}

int64_t sizeOfTile(Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  return type ? type.getNumElements() * bytesOfElement(type.getElementType()) : 0;
}

// Returns true if a product by multiply-adds reads the operand from the slot that its load is copied to.
bool isInSlot(tile::DotOp dot, Value operand, ArrayRef<CopiedLoad> loads) {
  auto load = throughTranspose(operand).source.getDefiningOp<tile::LoadOp>();
  return load && load->getBlock() == dot->getBlock() &&
         getElementTypeOrSelf(operand.getType()) == getElementTypeOrSelf(dot.getType()) &&
         llvm::any_of(loads, [&](const CopiedLoad& c) { return c.load == load && !c.fillsIn(); });
}

// The bytes through which `op` exchanges tiles between threads, if it can do so in no other way.
int64_t bytesExchanged(Operation* op, int numWarps, ArrayRef<CopiedLoad> loads, const target::TargetInfo& target) {
  return llvm::TypeSwitch<Operation*, int64_t>(op)
      .Case<tile::HistogramOp>([](auto o) { return sizeOfTile(o.getResult()); })
      .Case<tile::GatherOp>([](auto o) { return sizeOfTile(o.getSource()); })
      .Case<tile::ScanOp>([](auto o) {
        int64_t bytes = 0;
        for (Value v : o.getSources()) bytes += sizeOfTile(v);
        return bytes;
      })
      // Results that nothing reads stay where they are.
      .Case<tile::AtomicRmwOp, tile::AtomicCasOp>([](auto o) { return o->use_empty() ? 0 : sizeOfTile(o.getResult()); })
      .Case<tile::DotOp>([&](auto o) -> int64_t {
        if (planDot(o, numWarps, target).mma) return 0;
        int64_t elements = 0;
        for (Value operand : {o.getLhs(), o.getRhs()})
          if (!isInSlot(o, operand, loads)) elements += cast<RankedTensorType>(operand.getType()).getNumElements();
        return elements * std::max(kWordBytes, bytesOfElement(getElementTypeOrSelf(o.getType())));
      })
      .Default([](Operation*) { return 0; });
}

// When the buffer is in use, or the ring of a loop whose slots it is.
std::optional<Life> lifeOf(tgpu::AllocOp buffer, const analysis::BufferLives& lives) {
  for (Operation* user : buffer->getUsers())
    if (auto copy = dyn_cast<tgpu::CopyAsyncOp>(user))
      if (copy.getRing().getDefiningOp<tgpu::CopyRingOp>()) return lives.of(copy.getRing());
  return lives.of(buffer.getResult());
}

}  // namespace

int64_t bytesInSlot(ArrayRef<CopiedLoad> loads) {
  int64_t bytes = 0;
  for (const CopiedLoad& c : loads) bytes += llvm::alignTo(bytesOf(c.type()), kAlignment);
  return bytes;
}

int64_t bytesExchanged(func::FuncOp kernel, const target::TargetInfo& target, ArrayRef<CopiedLoad> loads) {
  int numWarps = tile::numWarps(kernel);
  int64_t most = 0;
  kernel.walk([&](Operation* op) { most = std::max(most, bytesExchanged(op, numWarps, loads, target)); });
  return most;
}

int64_t roomForSlots(func::FuncOp kernel, ArrayRef<CopiedLoad> loads, const target::TargetInfo& target,
                     scf::ForOp loop) {
  analysis::BufferLives lives(kernel);
  SmallVector<std::pair<Life, int64_t>> taken;  // by what is not always in use
  int64_t room = roomOf(target.maxSharedBytes());
  kernel.walk([&](Operation* op) {
    if (auto alloc = dyn_cast<tgpu::AllocOp>(op); alloc && !isFeed(alloc, loads)) {
      int64_t bytes = alloc.getSlots() * sizeOf(alloc.getResult());
      if (std::optional<Life> life = lifeOf(alloc, lives))
        taken.emplace_back(*life, bytes);
      else
        room -= bytes;
    }
    if (auto alloc = dyn_cast<simt::SmemAllocOp>(op)) room -= sizeOf(alloc->getResult(0));
  });
  auto takenDuring = [&](Life life) {
    int64_t bytes = 0;
    for (auto [other, size] : taken) bytes += other.meets(life) ? size : 0;
    return bytes;
  };
  int64_t most = loop ? takenDuring(lives.of(loop)) : 0;
  if (!loop)
    for (auto [life, size] : taken) most = std::max(most, takenDuring(life));
  return room - most - bytesExchanged(kernel, target, loads);
}

}  // namespace tandem::transform::nvidia
