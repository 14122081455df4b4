// The region of shared memory that short-lived uses share. Uses lie side by side as far as that takes no place from other
// blocks, and threads meet before a use only where an earlier one that lies there may not have ended for all of them.
#include "compiler/lower/gpu/kernel.h"
#include "compiler/target/occupancy.h"
#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>

namespace tandem::lower::gpu {
using namespace mlir;

int64_t KernelContext::scratchBegin() const { return liveRings ? llvm::alignTo(sharedBytes, 128) : freeBegin; }

int64_t KernelContext::scratchBudget() const { return target.maxSharedBytes() - scratchBegin(); }

// A block's part of a multiprocessor's shared memory when the multiprocessor holds as many threads as it can of a kernel that moves
// `bytes` of a tile at once: these are in registers, beside at least as many others as when all its threads are held.
static int64_t partOfFull(const target::TargetInfo& target, int threads, int64_t bytes) {
  constexpr int kRegisterBytes = 4;
  int others = target.registersPerMultiprocessor() / target.threadsPerMultiprocessor();
  int registers = others + int(llvm::divideCeil(bytes, int64_t(threads) * kRegisterBytes));
  int blocks = std::max(1, target::occupancyOf(target, threads, registers, 0).blocks);
  return llvm::alignDown(target.sharedBytesPerMultiprocessor() / blocks, 128) - target.sharedBytesReserved();
}

llvm::Value* KernelContext::scratch(int64_t bytes, Location loc) {
  if (bytes > scratchBudget())
    places.fail(loc, "out-of-shared-memory",
                "the kernel needs " + std::to_string(scratchBegin() + bytes) + " bytes of shared memory, " +
                    target.name() + " has " + std::to_string(target.maxSharedBytes()));
  int64_t begin = scratchBegin(), room = std::max({sharedEnd, begin + bytes, partOfFull(target, numThreads(), bytes)});
  bool isAlone = 2 * (room + target.sharedBytesReserved()) > target.sharedBytesPerMultiprocessor();
  if (isAlone) room = target.maxSharedBytes();
  int64_t behind = scratchUses_.empty() ? begin : std::max<int64_t>(begin, llvm::alignTo(scratchUses_.back().end, 128));
  if (behind + bytes <= room) begin = behind;
  sharedEnd = std::max(sharedEnd, begin + bytes);
  // An instruction of its own, by which the use's accesses are found.
  auto* base = llvm::GetElementPtrInst::Create(b.getInt8Ty(), shared_, {b.getInt32(begin)});
  scratchUses_.push_back({begin, begin + bytes, b.Insert(base)});
  return base;
}

llvm::Value* KernelContext::meetBeforeScratch(int64_t bytes, Location loc, bool isWithinWarps) {
  llvm::Value* base = scratch(bytes, loc);
  emit.blockBarrier();
  scratchUses_.back().meeting = &b.GetInsertBlock()->back();
  scratchUses_.back().isWithinWarps = isWithinWarps;
  return base;
}

bool KernelContext::keepsScratch(size_t use) const {
  const ScratchUse& kept = scratchUses_[use];
  return llvm::none_of(llvm::ArrayRef(scratchUses_).drop_front(use + 1),
                       [&](const ScratchUse& later) { return later.begin < kept.end && kept.begin < later.end; });
}

namespace {

enum class Meeting { None, Warp, Block };

struct Event {
  enum class Kind { Access, Meeting, Barrier } kind = Kind::Barrier;
  unsigned use = 0;
};

// Walks the kernel with the uses that some threads may not have ended.
class Meetings {
 public:
  Meetings(llvm::ArrayRef<ScratchUse> uses, const llvm::DenseSet<llvm::Instruction*>& barriers, int64_t allocated)
      : uses_(uses), chosen_(uses.size(), Meeting::None) {
    for (llvm::Instruction* barrier : barriers) events_[barrier] = {};
    for (auto [i, use] : llvm::enumerate(uses)) {
      addAccesses(i);
      if (!use.meeting) continue;
      events_[use.meeting] = {Event::Kind::Meeting, unsigned(i)};
      // This walk does not know what else lies among the allocated bytes.
      if (use.begin < allocated) chosen_[i] = Meeting::Block;
    }
  }

  std::vector<Meeting> choose(llvm::Function& kernel) {
    llvm::ReversePostOrderTraversal<llvm::Function*> order(&kernel);
    llvm::DenseMap<llvm::BasicBlock*, llvm::BitVector> before;
    for (llvm::BasicBlock* block : order) before[block].resize(uses_.size());
    for (bool isNew = true; isNew;) {
      isNew = false;
      for (llvm::BasicBlock* block : order) {
        llvm::BitVector pending = before[block];
        for (llvm::Instruction& instruction : *block)
          if (auto event = events_.find(&instruction); event != events_.end()) visit(event->second, pending);
        for (llvm::BasicBlock* next : llvm::successors(block)) {
          llvm::BitVector& known = before[next];
          isNew |= pending.test(known);
          known |= pending;
        }
      }
    }
    return chosen_;
  }

 private:
  void addAccesses(unsigned use) {
    llvm::SetVector<llvm::Instruction*> made;
    made.insert(uses_[use].base);
    for (size_t i = 0; i < made.size(); ++i)
      for (llvm::User* user : made[i]->users()) {
        auto* instruction = cast<llvm::Instruction>(user);
        if (instruction->mayReadOrWriteMemory())
          events_[instruction] = {Event::Kind::Access, use};
        else
          made.insert(instruction);
      }
  }

  void visit(Event event, llvm::BitVector& pending) {
    if (event.kind == Event::Kind::Access) {
      pending.set(event.use);
      return;
    }
    if (event.kind == Event::Kind::Meeting) {
      Meeting& chosen = chosen_[event.use];
      for (unsigned other : pending.set_bits()) chosen = std::max(chosen, needed(event.use, other));
      if (chosen != Meeting::Block) return;
    }
    pending.reset();
  }

  Meeting needed(unsigned use, unsigned earlier) const {
    if (uses_[earlier].end <= uses_[use].begin || uses_[use].end <= uses_[earlier].begin) return Meeting::None;
    return use == earlier && uses_[use].isWithinWarps ? Meeting::Warp : Meeting::Block;
  }

  llvm::ArrayRef<ScratchUse> uses_;
  std::vector<Meeting> chosen_;  // of each use
  llvm::DenseMap<llvm::Instruction*, Event> events_;
};

}  // namespace

void KernelContext::spareMeetings() {
  std::vector<Meeting> chosen = Meetings(scratchUses_, blockBarriers, sharedBytes).choose(*function);
  for (auto [use, meeting] : llvm::zip(scratchUses_, chosen)) {
    if (!use.meeting || meeting == Meeting::Block) continue;
    b.SetInsertPoint(use.meeting);
    if (meeting == Meeting::Warp) emit.warpBarrier();
    use.meeting->eraseFromParent();
  }
}

}  // namespace tandem::lower::gpu
