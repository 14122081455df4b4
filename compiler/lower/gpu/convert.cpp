// A tile from one layout to another, as the plan of compiler/layout says.
#include "compiler/lower/gpu/convert.h"
#include "compiler/layout/conversion.h"

namespace tandem::lower::gpu {
using namespace mlir;
using Groups = llvm::SmallVector<llvm::SmallVector<unsigned, 8>>;

// XOR of the masks whose bit of `id` is set.
llvm::Value* xorOfMasks(KernelContext& cx, llvm::Value* id, llvm::ArrayRef<uint64_t> masks) {
  llvm::Value* sum = cx.b.getInt32(0);
  for (auto [i, mask] : llvm::enumerate(masks))
    if (mask)
      sum = cx.b.CreateXor(sum, cx.b.CreateSelect(cx.b.CreateTrunc(cx.b.CreateLShr(id, i), cx.b.getInt1Ty()),
                                                  cx.b.getInt32(mask), cx.b.getInt32(0)));
  return sum;
}

void repeatCopies(Regs& regs, const LinearLayout& layout) {
  for (size_t r = 0; r < regs.size(); ++r)
    for (size_t other = 0; !regs[r] && other < r; ++other)
      if (layout.apply(r, 0, 0, 0) == layout.apply(other, 0, 0, 0)) regs[r] = regs[other];
}

namespace {

// Registers that a shuffle keeps side by side, so that one word can carry them: `from` are bits of the numbers they
// have before, `to` of those behind.
struct Packing {
  llvm::SmallVector<unsigned, 2> from, to;
  unsigned fromMask = 0, toMask = 0;

  static Packing of(const layout::Shuffle& plan, unsigned bits) {
    constexpr unsigned kWordBits = 32;
    Packing out;
    for (unsigned to = 1; to < plan.steps.size() && bits << (out.to.size() + 1) <= kWordBits; to *= 2) {
      unsigned from = plan.steps[0].source ^ plan.steps[to].source;
      if (llvm::has_single_bit(from) && out.isKept(plan, from, to)) out.add(from, to);
    }
    return out;
  }

  // The numbers of the registers that lie in one word with `first`.
  static llvm::SmallVector<unsigned> members(unsigned first, llvm::ArrayRef<unsigned> bits) {
    llvm::SmallVector<unsigned> out{first};
    for (unsigned bit : bits)
      for (size_t i = 0, n = out.size(); i < n; ++i) out.push_back(out[i] | bit);
    return out;
  }

 private:
  void add(unsigned fromBit, unsigned toBit) {
    from.push_back(fromBit);
    to.push_back(toBit);
    fromMask |= fromBit;
    toMask |= toBit;
  }

  static bool isKept(const layout::Shuffle& plan, unsigned from, unsigned to) {
    auto touches = [](llvm::ArrayRef<uint64_t> masks, unsigned bit) {
      return llvm::any_of(masks, [&](uint64_t m) { return m & bit; });
    };
    if (touches(plan.preSwaps, from) || touches(plan.postSwaps, to)) return false;
    for (unsigned i = 0; i < plan.steps.size(); ++i) {
      const layout::Shuffle::Step &one = plan.steps[i], &other = plan.steps[i ^ to];
      if ((one.source ^ from) != other.source || one.lane != other.lane || bool(one.source & from) != bool(i & to))
        return false;
    }
    return true;
  }
};

}  // namespace

// regs'[i] = regs[i ^ XOR of the masks]: a conditional swap for each mask. Null registers stay so.
static Regs swapRegisters(KernelContext& cx, Regs regs, llvm::Value* id, llvm::ArrayRef<uint64_t> masks) {
  for (auto [bit, mask] : llvm::enumerate(masks)) {
    if (!mask) continue;
    llvm::Value* swap = cx.b.CreateTrunc(cx.b.CreateLShr(id, bit), cx.b.getInt1Ty());
    Regs next(regs.size());
    for (size_t i = 0; i < regs.size(); ++i)
      if (regs[i]) next[i] = cx.b.CreateSelect(swap, regs[i ^ mask], regs[i]);
    regs = next;
  }
  return regs;
}

static llvm::Value* shuffleBits(KernelContext& cx, llvm::Value* value, llvm::Value* lane) {
  unsigned bits = value->getType()->getIntegerBitWidth();
  auto word = [&](llvm::Value* w) { return cx.emit.shuffle(Shuffle::Index, w, lane); };
  if (bits < 32) return cx.b.CreateTrunc(word(cx.b.CreateZExt(value, cx.b.getInt32Ty())), value->getType());
  if (bits == 32) return word(value);
  Regs words = cx.pack({value}, 32);
  for (llvm::Value*& w : words) w = word(w);
  return cx.unpack(words, bits, 1)[0];
}

static Regs convertByShuffle(KernelContext& cx, Regs regs, const layout::Shuffle& plan) {
  llvm::Value* thread = cx.threadId();
  unsigned bits = regs[0]->getType()->getIntegerBitWidth();
  Packing packing = Packing::of(plan, bits);
  unsigned together = 1u << packing.to.size();
  Regs words(regs.size());
  for (unsigned r = 0; r < regs.size(); ++r) {
    if (r & packing.fromMask) continue;
    Regs parts;
    for (unsigned member : Packing::members(r, packing.from)) parts.push_back(regs[member]);
    words[r] = cx.pack(parts, bits * together)[0];
  }
  regs = swapRegisters(cx, words, thread, plan.preSwaps);
  llvm::Value *lane = cx.laneId(), *laneMask = xorOfMasks(cx, thread, plan.laneMasks);
  Regs moved;
  for (auto [i, step] : llvm::enumerate(plan.steps)) {
    if (i & packing.toMask) {
      moved.push_back(nullptr);
      continue;
    }
    llvm::Value* value = regs[step.source];
    if (plan.movesLanes()) {
      // The source lane is this lane with some bits flipped, from the reader's point of view.
      llvm::Value* from = cx.b.CreateXor(cx.b.getInt32(step.lane), laneMask);
      value = shuffleBits(cx, value, from);
    }
    moved.push_back(value);
  }
  moved = swapRegisters(cx, moved, lane, plan.postSwaps);
  Regs out(moved.size());
  for (unsigned r = 0; r < moved.size(); ++r) {
    if (!moved[r]) continue;
    Regs parts = cx.unpack({moved[r]}, bits, together);
    for (auto [member, part] : llvm::zip(Packing::members(r, packing.to), parts)) out[member] = part;
  }
  return out;
}

// Returns the layout of what a round stores if bits of the register's number, and nothing else, make the round's. `rounds`
// are stores of so many elements.
static std::optional<LinearLayout> layoutOfRound(const LinearLayout& store, int64_t elements, int64_t rounds) {
  LinearLayout out = store;
  layout::Bases& registers = out.mutableBases(layout::Dim::Register);
  llvm::erase_if(registers,
                 [&](uint64_t offset) { return offset >= uint64_t(elements) && llvm::has_single_bit(offset); });
  bool isWhole = registers.size() + llvm::Log2_64(rounds) == store.bases(layout::Dim::Register).size();
  for (layout::Dim dim : {layout::Dim::Register, layout::Dim::Lane, layout::Dim::Warp})
    for (uint64_t offset : out.bases(dim)) isWhole &= offset < uint64_t(elements);
  return isWhole ? std::optional(out) : std::nullopt;
}

// The registers that are stored in this round, in their order.
static Regs ofRound(const Regs& source, const LinearLayout& store, int64_t elements, int64_t round) {
  Regs regs;
  for (unsigned r = 0; r < source.size(); ++r)
    if (store.apply(layout::Dim::Register, r) / uint64_t(elements) == uint64_t(round)) regs.push_back(source[r]);
  return regs;
}

static Regs convertThroughShared(KernelContext& cx, const Regs& source, const layout::ThroughShared& plan,
                                 unsigned bits, Location loc) {
  const layout::Scratch& scratchPlan = plan.scratch;
  int64_t elements = plan.store.numElements() / scratchPlan.rounds;
  llvm::Value* base = cx.meetBeforeScratch(elements * bits / 8, loc, plan.withinWarp);
  auto syncStored = [&] {
    if (plan.withinWarp)
      cx.emit.warpBarrier();
    else
      cx.emit.blockBarrier();
  };
  // With several rounds, each moves the elements whose offsets begin with its number.
  auto inRound = [&](llvm::Value* offset, int64_t round) -> llvm::Value* {
    return scratchPlan.rounds == 1
               ? nullptr
               : cx.b.CreateICmpEQ(cx.b.CreateLShr(offset, llvm::Log2_64(elements)), cx.b.getInt32(round));
  };
  auto addressOf = [&](llvm::Value* offset) {
    return cx.b.CreateGEP(cx.b.getInt8Ty(), base,
                          cx.b.CreateMul(cx.b.CreateAnd(offset, elements - 1), cx.b.getInt32(bits / 8)));
  };
  std::optional<LinearLayout> storeOfRound = layoutOfRound(plan.store, elements, scratchPlan.rounds);
  bool isTransposed = scratchPlan.store == layout::Access::MatrixTransposed;
  bool matrixStore = scratchPlan.store != layout::Access::Vector && storeOfRound &&
                     layout::fitsMatrix(*storeOfRound, bits, isTransposed);
  bool matrixLoad = scratchPlan.load != layout::Access::Vector && scratchPlan.rounds == 1;
  Regs out(plan.load.numRegisters());
  for (int64_t round = 0; round < scratchPlan.rounds; ++round) {
    if (round) syncStored();
    if (matrixStore)
      cx.emit.storeMatrices(base, *storeOfRound, ofRound(source, plan.store, elements, round), bits, isTransposed);
    for (const auto& group : matrixStore ? Groups{} : layout::vectorGroups(plan.store, scratchPlan.storeVector)) {
      Regs values;
      for (unsigned r : group) values.push_back(source[r]);
      llvm::Value* offset = cx.position(plan.store, group[0]);
      cx.when(inRound(offset, round), [&] { cx.storeShared(addressOf(offset), values); });
    }
    syncStored();
    if (matrixLoad)
      cx.emit.loadMatrices(base, plan.load, out, bits, scratchPlan.load == layout::Access::MatrixTransposed);
    for (const auto& group : matrixLoad ? Groups{} : layout::vectorGroups(plan.load, scratchPlan.loadVector)) {
      llvm::Value* offset = cx.position(plan.load, group[0]);
      Regs values = cx.loadShared(addressOf(offset), bits, group.size());
      llvm::Value* mine = inRound(offset, round);
      for (auto [r, v] : llvm::zip(group, values)) out[r] = mine && out[r] ? cx.b.CreateSelect(mine, v, out[r]) : v;
    }
  }
  repeatCopies(out, plan.load);
  return out;
}

Regs convertLayout(KernelContext& cx, const Regs& source, const LinearLayout& from, const LinearLayout& to,
                   llvm::Type* element, Location loc) {
  unsigned bits = cx.bitsOf(element);
  layout::MatrixInstructions matrix{cx.target.hasLdmatrix(), cx.target.hasStmatrix()};
  layout::Conversion plan = layout::plan(from, to, bits, cx.scratchBudget(), matrix);
  if (std::holds_alternative<layout::NoOp>(plan)) return source;
  if (auto* permute = std::get_if<layout::RegisterPermute>(&plan)) {
    Regs out;
    for (unsigned r : permute->sources) out.push_back(source[r]);
    return out;
  }
  Regs parts;
  for (llvm::Value* v : source) parts.push_back(cx.toBits(v));
  if (auto* shuffle = std::get_if<layout::Shuffle>(&plan))
    parts = convertByShuffle(cx, parts, *shuffle);
  else
    parts = convertThroughShared(cx, parts, std::get<layout::ThroughShared>(plan), bits, loc);
  for (llvm::Value*& v : parts) v = cx.fromBits(v, element);
  return parts;
}

void registerConvert(Lowerings& table) {
  table.on<tgpu::ConvertLayoutOp>([](KernelContext& cx, auto o) {
    LinearLayout from = cx.layoutOf(o.getSource()), to = cx.layoutOf(o.getResult());
    cx.define(o.getResult(), convertLayout(cx, cx.use(o.getSource()), from, to, cx.typeOf(o.getType()), o->getLoc()));
  });
}

}  // namespace tandem::lower::gpu
