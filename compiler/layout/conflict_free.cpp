// A scratch buffer's layout from the spans of both sides. An offset's bits are, from the lowest: `low`, the elements of
// one access; `mid`, the rest of the 32 banks; `high`, which line of banks, of which the top is the round.
//   1. Choose `low`, a prefix of which is in each side's registers: that side's vector. Several choices are tried and
//      the cheapest kept.
//   2. Find a complement of `low` that holds the lanes and warps, so that no thread sees the inside of its vectors
//      permuted.
//   3. In it find `high`, disjoint from the lanes that either side accesses together: two such lanes in one bank would
//      differ by a
//      vector of `high`. Two spaces of the same dimension always have a common complement.
#include "compiler/layout/gf2.h"
#include "compiler/layout/shared.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/bit.h>
#include <llvm/Support/MathExtras.h>
#include <cassert>
#include <tuple>

namespace tandem::layout {
namespace {

constexpr unsigned kLineBytes = 128, kRowBytes = 16, kWordBytes = 4;

Vectors concat(std::initializer_list<llvm::ArrayRef<uint64_t>> lists) {
  Vectors result;
  for (llvm::ArrayRef<uint64_t> list : lists) result.append(list.begin(), list.end());
  return result;
}

unsigned elementBits(int64_t bytes, unsigned elemBits) {  // log2 of the elements in `bytes`
  return bytes * 8 > elemBits ? llvm::Log2_64(bytes * 8 / elemBits) : 0;
}

// One side of the conversion with the way it accesses the buffer.
struct Side {
  const LinearLayout& layout;
  Access access = Access::Vector;
  unsigned vectorBits = 0;

  llvm::ArrayRef<uint64_t> bases(Dim dim) const { return layout.bases(dim); }
  // Lanes (for a transposed matrix also the paired register) whose accesses meet the banks together.
  Vectors together(unsigned elemBits) const {
    llvm::ArrayRef<uint64_t> lanes = bases(Dim::Lane);
    if (access == Access::Matrix) return Vectors(lanes.drop_front(2));
    if (access == Access::MatrixTransposed) return concat({bases(Dim::Register).take_front(1), lanes.take_front(2)});
    unsigned accessBits = llvm::Log2_64(elemBits) + vectorBits,
             bits = std::min<unsigned>(5, 10 - std::min(10u, accessBits));
    return Vectors(lanes.take_front(bits));
  }
};

class Builder {
 public:
  Builder(Side store, Side load, Vectors low, unsigned elemBits)
      : store_(store), load_(load), low_(std::move(low)), elemBits_(elemBits) {}

  std::optional<LinearLayout> build() {
    for (auto [bit, v] : llvm::enumerate(low_))
      if (!basis_.insert(v, uint64_t(1) << bit)) return std::nullopt;
    if (!keepApart(store_) || !keepApart(load_)) return std::nullopt;
    for (const Side* side : {&store_, &load_})
      for (uint64_t v : side->bases(Dim::Register)) addToComplement(v);
    chooseHigh();
    return LinearLayout::ofOffsets(store_.layout.shape(), Bases(llvm::ArrayRef<uint64_t>(concat({low_, mid_, high_}))));
  }

 private:
  void addToComplement(uint64_t v) {
    if (basis_.insert(v)) complement_.push_back(v);
  }
  // `v` may have only the bits of `allowed` in `low`.
  bool place(uint64_t v, uint64_t allowed) {
    std::optional<uint64_t> inLow = basis_.solve(v);
    if (!inLow) addToComplement(v);
    return (inLow.value_or(0) & ~allowed) == 0;
  }
  bool keepApart(const Side& side) {
    uint64_t all = (uint64_t(1) << low_.size()) - 1, vector = (uint64_t(1) << side.vectorBits) - 1;
    auto placeAll = [&](llvm::ArrayRef<uint64_t> vectors, uint64_t allowed) {
      return llvm::all_of(vectors, [&](uint64_t v) { return place(v, allowed); });
    };
    llvm::ArrayRef<uint64_t> lanes = side.bases(Dim::Lane), warps = side.bases(Dim::Warp),
                             registers = side.bases(Dim::Register);
    switch (side.access) {
      case Access::Vector: return placeAll(lanes, all & ~vector) && placeAll(warps, all & ~vector);
      case Access::Matrix: {
        uint64_t inWord = (uint64_t(1) << elementBits(kWordBytes, elemBits_)) - 1;
        return placeAll(lanes.drop_front(2), 0) && placeAll(warps, 0) && placeAll(registers, inWord);
      }
      case Access::MatrixTransposed:
        return placeAll(lanes.take_front(2), 0) && placeAll(warps, 0) && placeAll(registers, 0);
    }
    return false;
  }

  // The part in the complement of those combinations of lanes that agree on the bank bits of `low`.
  Vectors lanesByMid(const Side& side, llvm::ArrayRef<uint64_t> wordExtra) {
    unsigned inWord = std::min<unsigned>(elementBits(kWordBytes, elemBits_), low_.size());
    Vectors vector = Vectors(llvm::ArrayRef<uint64_t>(low_).take_front(std::max(inWord, side.vectorBits)));
    Vectors lanes = concat({vector, wordExtra, side.together(elemBits_)});
    Vectors sameBank = intersect(lanes, concat({vector, wordExtra, complement_}));
    Span span(vector);
    Vectors result;
    for (uint64_t v : sameBank)
      if (span.insert(v)) result.push_back(v ^ inLow(v));
    return result;
  }
  uint64_t inLow(uint64_t v) const { return combine(low_, basis_.solve(v).value_or(0)); }

  void chooseHigh() {
    unsigned wordBits = elementBits(kWordBytes, elemBits_), lineBits = elementBits(kLineBytes, elemBits_);
    size_t midSize = lineBits > low_.size() ? std::min<size_t>(lineBits - low_.size(), complement_.size()) : 0;
    Vectors wordExtra;  // fills the word when `low` is narrower: lanes that share a word do not conflict
    if (low_.size() < wordBits) wordExtra = chooseWord(std::min<size_t>(wordBits - low_.size(), midSize));
    Vectors s = grow(lanesByMid(store_, wordExtra), {}, midSize), l = grow(lanesByMid(load_, wordExtra), s, midSize);
    s = grow(lanesByMid(store_, wordExtra), l, midSize);
    s = grow(s, complement_, midSize);
    l = grow(l, s, midSize);
    l = grow(l, complement_, midSize);
    Vectors shared = intersect(s, l), onlyStore = extend(shared, s), onlyLoad = extend(shared, l);
    assert(onlyStore.size() == onlyLoad.size());
    for (auto [a, b] : llvm::zip_equal(onlyStore, onlyLoad)) high_.push_back(a ^ b);
    Vectors rest = extend(concat({s, l}), concat({store_.bases(Dim::Lane), store_.bases(Dim::Warp),
                                                  load_.bases(Dim::Lane), load_.bases(Dim::Warp)}));
    for (uint64_t& v : rest) v ^= inLow(v);
    rest = extend(concat({s, l}), concat({rest, complement_}));
    high_.append(rest.begin(), rest.end());
    mid_ = concat({wordExtra, extend(wordExtra, s)});
  }
  Vectors chooseWord(size_t count) {
    Vectors store = complementOf(store_), load = complementOf(load_);
    Vectors chosen = extend({}, concat({intersect(store, load), store, load, complement_}));
    chosen.truncate(std::min(count, chosen.size()));
    return chosen;
  }
  Vectors complementOf(const Side& side) {
    Vectors result = side.together(elemBits_);
    for (uint64_t& v : result) v ^= inLow(v);
    return result;
  }
  // A basis of at most `size` vectors of `space`, filled up from `candidates`.
  static Vectors grow(llvm::ArrayRef<uint64_t> space, llvm::ArrayRef<uint64_t> candidates, size_t size) {
    Vectors result = extend({}, concat({space, candidates}));
    result.truncate(std::min(size, result.size()));
    return result;
  }

  Side store_, load_;
  Vectors low_, complement_, mid_, high_;
  Span basis_;  // of `low_`, tagged by bit, and of `complement_`, without tags
  unsigned elemBits_;
};

class Chooser {
 public:
  Chooser(const LinearLayout& src, const LinearLayout& dst, unsigned elemBits, int64_t scratchBytes,
          MatrixInstructions instructions)
      : src_(src), dst_(dst), elemBits_(elemBits), scratchBytes_(std::max<int64_t>(scratchBytes, kRowBytes)),
        instructions_(instructions) {}

  Scratch choose() {
    for (const Vectors& low : lows()) {
      for (Access store : accesses(instructions_.store, low))
        for (Access load : accesses(instructions_.load, low)) consider(low, store, load);
    }
    assert(std::get<0>(bestCost_) != INT64_MAX && "the empty vector always works");
    return best_;
  }

 private:
  unsigned maxVectorBits() const { return elementBits(kRowBytes, elemBits_); }

  llvm::SmallVector<Vectors> lows() const {
    Vectors s(src_.bases(Dim::Register)), l(dst_.bases(Dim::Register)), both = intersect(s, l);
    llvm::SmallVector<Vectors> result;
    for (const Vectors& registers : {s, l}) {
      Vectors low = concat({both, extend(both, registers)});
      low.truncate(std::min<size_t>(low.size(), maxVectorBits()));
      for (;; low.pop_back()) {
        if (!llvm::is_contained(result, low)) result.push_back(low);
        if (low.empty()) break;
      }
    }
    if (instructions_.store) addMatrixLows(src_, result);
    if (instructions_.load) addMatrixLows(dst_, result);
    return result;
  }
  void addMatrixLows(const LinearLayout& side, llvm::SmallVector<Vectors>& lows) const {
    llvm::ArrayRef<uint64_t> registers = side.bases(Dim::Register), lanes = side.bases(Dim::Lane);
    unsigned wordBits = elementBits(kWordBytes, elemBits_);
    if (lanes.size() != 5 || elemBits_ > 32 || registers.size() < wordBits) return;
    lows.push_back(concat({registers.take_front(wordBits), lanes.take_front(2)}));
    if (elemBits_ == 16) lows.push_back(Vectors(lanes.drop_front(2)));
  }
  llvm::SmallVector<Access, 3> accesses(bool matrices, const Vectors& low) const {
    if (!matrices || low.size() != maxVectorBits()) return {Access::Vector};
    return {Access::Vector, Access::Matrix, Access::MatrixTransposed};
  }

  Side side(const LinearLayout& layout, Access access, const Vectors& low) const {
    if (access != Access::Vector) return {layout, access, maxVectorBits()};
    Span registers(layout.bases(Dim::Register));
    unsigned bits = 0;
    while (bits < low.size() && registers.contains(low[bits])) ++bits;
    return {layout, access, bits};
  }
  bool possible(const Side& side, const Vectors& low) const {
    if (side.access == Access::Vector) return true;
    llvm::ArrayRef<uint64_t> lanes = side.bases(Dim::Lane);
    if (lanes.size() != 5 || elemBits_ > 32) return false;
    if (side.access == Access::MatrixTransposed) return elemBits_ == 16 && lanes.drop_front(2).equals(low);
    unsigned wordBits = elementBits(kWordBytes, elemBits_);
    return lanes.take_front(2).equals(llvm::ArrayRef<uint64_t>(low).drop_front(wordBits));
  }

  void consider(const Vectors& low, Access storeAccess, Access loadAccess) {
    Side store = side(src_, storeAccess, low), load = side(dst_, loadAccess, low);
    if (!possible(store, low) || !possible(load, low)) return;
    std::optional<LinearLayout> offsets = Builder(store, load, low, elemBits_).build();
    if (!offsets) return;
    Scratch scratch{*offsets, storeAccess, loadAccess, int64_t(1) << store.vectorBits, int64_t(1) << load.vectorBits};
    LinearLayout stores = offsetsOf(src_, *offsets), loads = offsetsOf(dst_, *offsets);
    if (!fits(stores, storeAccess) || !fits(loads, loadAccess)) return;
    divideRounds(scratch, stores, loads);
    if (!scratch.uniformRounds && (storeAccess != Access::Vector || loadAccess != Access::Vector)) return;
    int64_t total = accessCost(stores, storeAccess, scratch.storeVector, elemBits_) +
                    accessCost(loads, loadAccess, scratch.loadVector, elemBits_);
    if (!scratch.uniformRounds) total *= 2;
    // Of accesses that take as many passes, those are taken that move the fewest words between registers. Vectors in place
    // of instructions that transpose cost a byte permutation for each word beside.
    bool transposes = (storeAccess == Access::MatrixTransposed) != (loadAccess == Access::MatrixTransposed) &&
                      storeAccess != Access::Vector && loadAccess != Access::Vector;
    int64_t moved = moves(stores, storeAccess, scratch.storeVector) + moves(loads, loadAccess, scratch.loadVector);
    std::tuple cost(total, moved, !transposes);
    if (cost >= bestCost_) return;
    bestCost_ = cost;
    best_ = std::move(scratch);
  }
  // Words that a thread moves for accesses of several: those of registers that do not follow each other. What loads give and
  // products take stands in the order of registers' numbers.
  int64_t moves(const LinearLayout& placed, Access access, int64_t vector) const {
    if (access != Access::Vector || vector * elemBits_ <= kWordBytes * 8) return 0;
    int64_t words = 0;
    for (const auto& group : vectorGroups(placed, vector))
      if (group.back() - group.front() + 1 != group.size() || !llvm::is_sorted(group))
        words += llvm::divideCeil(group.size() * elemBits_, kWordBytes * 8);
    return words;
  }
  bool fits(const LinearLayout& layout, Access access) const {
    return access == Access::Vector || fitsMatrix(layout, elemBits_, access == Access::MatrixTransposed);
  }
  void divideRounds(Scratch& scratch, const LinearLayout& stores, const LinearLayout& loads) const {
    int64_t count = scratch.offsets.size(Dim::Offset), room = llvm::bit_floor<uint64_t>(scratchBytes_ * 8 / elemBits_);
    if (count <= room) return;
    scratch.rounds = count / room;
    auto sameRound = [&](uint64_t offset) { return offset < uint64_t(room); };
    for (const LinearLayout* layout : {&stores, &loads})
      for (Dim dim : {Dim::Lane, Dim::Warp}) scratch.uniformRounds &= llvm::all_of(layout->bases(dim), sameRound);
  }

  const LinearLayout &src_, &dst_;
  unsigned elemBits_;
  int64_t scratchBytes_;
  MatrixInstructions instructions_;
  Scratch best_;
  std::tuple<int64_t, int64_t, bool> bestCost_{INT64_MAX, 0, false};  // passes and instructions, words moved, permuted
};

}  // namespace

Scratch conflictFree(const LinearLayout& src, const LinearLayout& dst, unsigned elemBits, int64_t scratchBytes,
                     MatrixInstructions instructions) {
  return Chooser(src, dst, elemBits, scratchBytes, instructions).choose();
}

}  // namespace tandem::layout
