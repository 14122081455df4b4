// Counts shared memory.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/nvidia/ring_slots.h"
#include "compiler/transform/nvidia/copy_room.h"
#include "compiler/transform/nvidia/epilogue_room.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/tensor_choice.h"

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

constexpr int64_t kSmallRing = 32 * 1024, kScratchBytes = 8 * 1024, kAlignment = 1024, kMaxSlots = 8,
                  kSlotsBesideTiles = 3, kBytesBetweenBlocks = 1024, kMadeMapsBytes = 2048;

// Returns true if the kernel makes tensor maps, which it does in shared memory.
bool haveMadeMaps(const RingPlan& plan) {
  return llvm::any_of(plan.loads, [](tile::BlockLoadOp load) { return !tensorChoice(load); });
}

class SlotCount {
 public:
  SlotCount(func::FuncOp kernel, ArrayRef<tile::DotOp> dots, MutableArrayRef<RingPlan> rings,
            const target::TargetInfo& target)
      : kernel_(kernel), dots_(dots), rings_(rings), maxBytes_(target.maxSharedBytes()),
        numWarps_(tile::numWarps(kernel)), target_(target) {
    if (llvm::any_of(rings, haveMadeMaps)) maxBytes_ -= kMadeMapsBytes;
    asked_ = std::clamp<int64_t>(tile::numStages(kernel).value_or(kMaxSlots), 2, kMaxSlots);
  }

  bool fit(std::optional<Signals>& signals) {
    bool staged = signals && !signals->stores.empty();
    for (; staged && canStage(signals->tile(), signals->pieces, numWarps_); signals->pieces *= 2)
      if (fitInto(maxBytes_ - kScratchBytes - signals->stagedBytes()) >= std::min(kSlotsBesideTiles, asked_))
        return true;
    if (signals) signals->leaveStores();
    if (signals && signals->notifies.empty()) signals.reset();
    int64_t epilogue = epilogueBytes(kernel_, dots_, numWarps_);
    // A warpgroup that waits for its products leaves the tensor cores to another block's meanwhile.
    if (numWarps_ <= target::kWgmma.warps && awaitsProducts() &&
        fitInto((maxBytes_ - kBytesBetweenBlocks) / 2 - epilogue) >= std::min<int64_t>(asked_, 2))
      return true;
    // Exchanges between threads go in more rounds where they have less room.
    return fitInto(maxBytes_ - epilogue) >= 2 ||
           fitInto(maxBytes_ - std::max(kScratchBytes, bytesExchanged(kernel_, target_))) >= 2;
  }

 private:
  // Gives rings in loops as many slots as were asked for, or more where that makes small rings, or as fit into `budget`
  // bytes; returns how many.
  int64_t fitInto(int64_t budget) {
    int64_t perSlot = 0, room = budget - bytesWithoutRing();
    for (auto [i, p] : llvm::enumerate(rings_)) {
      if (p.owner != int(i)) continue;
      for (tile::BlockLoadOp load : p.loads) {
        int64_t bytes = llvm::alignTo(bytesOf(cast<RankedTensorType>(load.getResult().getType())), kAlignment);
        p.loop ? perSlot += bytes : room -= bytes;
      }
      for (const CopiedLoad& c : p.gathered) perSlot += llvm::alignTo(bytesOf(c.type()), kAlignment);
    }
    int64_t slots = std::min(room / perSlot, std::max(asked_, std::min(kSmallRing / perSlot, kMaxSlots)));
    for (RingPlan& p : rings_)
      if (p.loop) p.slots = slots;
    repeat(room - slots * perSlot);
    return slots;
  }

  // Gives what loops behind it read a second slot where it comes once a turn of a loop around them, if there is room: the next turn's
  // comes while this one's is read. Small programs have others beside them, which multiply meanwhile.
  void repeat(int64_t room) {
    if (numWarps_ <= target::kWgmma.warps) return;
    for (auto [i, p] : llvm::enumerate(rings_)) {
      if (p.loop || p.owner != int(i)) continue;
      int64_t bytes = 0;
      for (tile::BlockLoadOp load : p.loads)
        bytes += llvm::alignTo(bytesOf(cast<RankedTensorType>(load.getResult().getType())), kAlignment);
      bool comesAgain = isa<scf::ForOp>(p.loads.front()->getParentOp());
      p.slots = comesAgain && bytes <= room ? 2 : 1;
      if (p.slots == 2) room -= bytes;
    }
  }

  // Returns true if a loop needs a product's result before it goes on.
  bool awaitsProducts() const {
    return llvm::any_of(rings_, [&](const RingPlan& p) { return p.loop && !canStayUnderWay(p, rings_); });
  }

  // The bytes of operands that are stored to shared memory, each once, or copied there beside a ring.
  int64_t bytesWithoutRing() const {
    llvm::DenseSet<Value> seen;
    int64_t bytes = 0;
    for (tile::DotOp dot : dots_)
      for (bool isLhs : {true, false}) {
        Value source = throughTranspose(isLhs ? dot.getLhs() : dot.getRhs()).source;
        bool inRing = llvm::any_of(rings_, [&](const RingPlan& p) {
          return llvm::is_contained(p.loads, blockLoadBehind(source)) || p.gathers(source.getDefiningOp());
        });
        if (inRing || (isLhs && staysInRegisters(dot)) || !seen.insert(source).second) continue;
        auto load = source.getDefiningOp<tile::LoadOp>();
        bool isCopied = load && llvm::any_of(rings_, [&](const RingPlan& p) {
                          return p.loop && p.loop == load->getParentOp() && llvm::is_contained(p.dots, dot);
                        });
        bytes += bytesOf(cast<RankedTensorType>(source.getType())) * (isCopied ? asked_ : 1);
      }
    return bytes;
  }

  func::FuncOp kernel_;
  ArrayRef<tile::DotOp> dots_;
  MutableArrayRef<RingPlan> rings_;
  int64_t maxBytes_;
  int numWarps_;
  const target::TargetInfo& target_;
  int64_t asked_;
};

}  // namespace

bool fitSlots(func::FuncOp kernel, ArrayRef<tile::DotOp> dots, MutableArrayRef<RingPlan> rings,
              std::optional<Signals>& signals, const target::TargetInfo& target) {
  return SlotCount(kernel, dots, rings, target).fit(signals);
}

}  // namespace tandem::transform::nvidia
