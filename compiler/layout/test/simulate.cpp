#include "simulate.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>
#include <map>

namespace tandem::layout {
namespace {

Threads simulateShuffle(const Shuffle& shuffle, const LinearLayout& src, const LinearLayout& dst) {
  Threads before = Threads::holding(src), taken(dst), after(dst);
  unsigned laneBits = src.bases(Dim::Lane).size();
  for (int64_t w = 0; w < dst.numWarps(); ++w) {
    for (int64_t l = 0; l < dst.numLanes(); ++l) {
      uint64_t thread = l | w << laneBits, fromLane = combine(shuffle.laneMasks, thread);
      for (int64_t j = 0; j < dst.numRegisters(); ++j) {
        uint64_t lane = shuffle.steps[j].lane ^ fromLane;
        uint64_t swap = combine(shuffle.preSwaps, lane | w << laneBits);  // of the lane that offers
        taken.at(j, l, w) = before.at(shuffle.steps[j].source ^ swap, lane, w);
      }
    }
    for (int64_t l = 0; l < dst.numLanes(); ++l)
      for (int64_t r = 0; r < dst.numRegisters(); ++r)
        after.at(r, l, w) = taken.at(r ^ combine(shuffle.postSwaps, l), l, w);
  }
  return after;
}

// Finds the place of each register of each thread, by the instruction's own rules rather than the layout's.
class Accesses {
 public:
  Accesses(const LinearLayout& layout, Access access, int64_t vector, unsigned elemBits)
      : layout_(layout), access_(access), vector_(vector), elemBits_(elemBits) {}

  // visit(register, lane, offset)
  template <typename Visit>
  void ofWarp(uint64_t warp, Visit visit) const {
    if (access_ == Access::Vector) return vectors(warp, visit);
    bool transposed = access_ == Access::MatrixTransposed;
    EXPECT_TRUE(fitsMatrix(layout_, elemBits_, transposed));
    std::array<uint64_t, 3> rows = matrixRows(layout_, transposed);
    for (const auto& word : matrixWords(layout_, elemBits_, transposed)) {
      EXPECT_EQ(word.size(), 32 / elemBits_);
      for (uint64_t lane = 0; lane < 32; ++lane)
        for (auto [i, r] : llvm::enumerate(word)) {
          uint64_t row = transposed ? 2 * (lane % 4) + i : lane / 4;
          uint64_t column = transposed ? lane / 4 : (lane % 4) * word.size() + i;
          uint64_t address = layout_.apply(word[0], 0, warp) ^ combine(rows, row);
          EXPECT_EQ(address % (128 / elemBits_), 0u);
          visit(r, lane, address + column);
        }
    }
  }

 private:
  template <typename Visit>
  void vectors(uint64_t warp, Visit visit) const {
    for (const auto& group : vectorGroups(layout_, vector_)) {
      EXPECT_EQ(int64_t(group.size()), vector_);
      for (int64_t lane = 0; lane < layout_.numLanes(); ++lane) {
        uint64_t first = layout_.apply(group[0], lane, warp);
        EXPECT_EQ(first % vector_, 0u);
        for (auto [i, r] : llvm::enumerate(group)) visit(r, lane, first + i);
      }
    }
  }

  const LinearLayout& layout_;
  Access access_;
  int64_t vector_;
  unsigned elemBits_;
};

Threads simulateShared(const ThroughShared& through, const LinearLayout& src, const LinearLayout& dst,
                       unsigned elemBits) {
  Threads before = Threads::holding(src), after(dst);
  const Scratch& scratch = through.scratch;
  uint64_t room = scratch.offsets.size(Dim::Offset) / scratch.rounds;
  Accesses stores(through.store, scratch.store, scratch.storeVector, elemBits);
  Accesses loads(through.load, scratch.load, scratch.loadVector, elemBits);
  std::vector<int64_t> users(room, -1);  // warps, through all rounds
  for (int64_t round = 0; round < scratch.rounds; ++round) {
    std::vector<std::pair<uint64_t, int64_t>> buffer(room, {Threads::kNothing, -1});  // value, writing warp
    for (int64_t w = 0; w < src.numWarps(); ++w)
      stores.ofWarp(w, [&](uint64_t r, uint64_t l, uint64_t offset) {
        if (int64_t(offset / room) != round) return;
        buffer.at(offset % room) = {before.at(r, l, w), w};
        int64_t& user = users.at(offset % room);
        if (through.withinWarp && user >= 0) {
          EXPECT_EQ(user, w);
        }
        user = w;
      });
    for (int64_t w = 0; w < dst.numWarps(); ++w)
      loads.ofWarp(w, [&](uint64_t r, uint64_t l, uint64_t offset) {
        if (int64_t(offset / room) != round) return;
        after.at(r, l, w) = buffer.at(offset % room).first;
        if (through.withinWarp) {
          EXPECT_EQ(buffer.at(offset % room).second, w);
        }
      });
  }
  // Copies in registers are not accessed again; they take the value of the register they copy.
  std::map<uint64_t, uint64_t> firstWith;
  for (int64_t r = 0; r < dst.numRegisters(); ++r) {
    uint64_t first = firstWith.try_emplace(dst.apply(Dim::Register, r), r).first->second;
    for (int64_t w = 0; w < dst.numWarps(); ++w)
      for (int64_t l = 0; l < dst.numLanes(); ++l)
        if (after.at(r, l, w) == Threads::kNothing) after.at(r, l, w) = after.at(first, l, w);
  }
  return after;
}

int64_t conflictsOf(const LinearLayout& layout, Access access, int64_t vector, unsigned elemBits) {
  int64_t bytes = access == Access::Vector ? vector * elemBits / 8 : 16, worst = 0;
  int64_t together = bytes <= 4 ? 32 : 128 / bytes;
  for (int64_t w = 0; w < layout.numWarps(); ++w) {
    std::vector<std::vector<uint64_t>> instructions;  // byte addresses
    if (access == Access::Vector) {
      for (const auto& group : vectorGroups(layout, vector)) {
        auto& addresses = instructions.emplace_back();
        for (int64_t l = 0; l < layout.numLanes(); ++l)
          addresses.push_back(layout.apply(group[0], l, w) * elemBits / 8);
      }
    } else {
      bool transposed = access == Access::MatrixTransposed;
      for (const auto& word : matrixWords(layout, elemBits, transposed)) {
        auto& addresses = instructions.emplace_back();
        for (uint64_t row = 0; row < 8; ++row)
          addresses.push_back((layout.apply(word[0], 0, w) ^ combine(matrixRows(layout, transposed), row)) * elemBits /
                              8);
      }
    }
    for (const auto& addresses : instructions)
      for (size_t first = 0; first < addresses.size(); first += together) {
        std::map<uint64_t, std::set<uint64_t>> banks;
        for (size_t i = first; i < std::min(addresses.size(), first + together); ++i)
          for (int64_t byte = 0; byte < bytes; ++byte)
            banks[(addresses[i] + byte) / 4 % 32].insert((addresses[i] + byte) / 4);
        for (const auto& [bank, words] : banks) worst = std::max<int64_t>(worst, words.size() - 1);
      }
  }
  return worst;
}

}  // namespace

Threads simulate(const Conversion& conversion, const LinearLayout& src, const LinearLayout& dst, unsigned elemBits) {
  if (std::holds_alternative<NoOp>(conversion)) return Threads::holding(src);
  if (const auto* permute = std::get_if<RegisterPermute>(&conversion)) {
    Threads before = Threads::holding(src), after(dst);
    for (int64_t w = 0; w < dst.numWarps(); ++w)
      for (int64_t l = 0; l < dst.numLanes(); ++l)
        for (int64_t r = 0; r < dst.numRegisters(); ++r) after.at(r, l, w) = before.at(permute->sources[r], l, w);
    return after;
  }
  if (const auto* shuffled = std::get_if<Shuffle>(&conversion)) return simulateShuffle(*shuffled, src, dst);
  if (const auto* through = std::get_if<ThroughShared>(&conversion))
    return simulateShared(*through, src, dst, elemBits);
  return Threads(dst);
}

int64_t countConflicts(const ThroughShared& through, unsigned elemBits) {
  const Scratch& scratch = through.scratch;
  return std::max(conflictsOf(through.store, scratch.store, scratch.storeVector, elemBits),
                  conflictsOf(through.load, scratch.load, scratch.loadVector, elemBits));
}

LinearLayout randomLayout(llvm::ArrayRef<int64_t> shape, unsigned laneBits, unsigned warpBits, bool mixed,
                          Random& random) {
  unsigned bits = LinearLayout(shape).positionBits();
  Vectors basis = unitVectors(bits);
  std::shuffle(basis.begin(), basis.end(), random);
  if (mixed)
    for (unsigned i = 0; i < bits; ++i)
      for (unsigned j = 0; j < bits; ++j)
        if (i != j && random() % 4 == 0) basis[i] ^= basis[j];  // keeps the span
  Bases lanes, warps, registers;
  auto take = [&](Bases& to) {
    bool copy = basis.empty() || random() % 8 == 0;
    to.push_back(copy ? 0 : basis.pop_back_val());
  };
  for (unsigned i = 0; i < warpBits; ++i) take(warps);
  for (unsigned i = 0; i < laneBits; ++i) take(lanes);
  registers.append(basis.begin(), basis.end());
  std::shuffle(registers.begin(), registers.end(), random);
  return LinearLayout(shape, registers, lanes, warps);
}

}  // namespace tandem::layout
