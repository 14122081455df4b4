// A conversion inside each warp. Element (r, l) of the result, register r of lane l, is element (R(r) ^ N(l), L(r) ^
// M(l)) of the source; all four maps are linear. A shuffle lets each lane read from one other and each lane offer one
// register, so registers are renumbered by lane on both sides until every lane's readers want the same register of it:
//   - result register r of lane l is taken in step j = r ^ P(l), with P chosen so that Q = M ^ L*P loses no lane that
//     matters;
//   - then the register wanted is a linear function S of the lane that offers it.
#include "compiler/layout/conversion.h"
#include "compiler/layout/gf2.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/bit.h>

namespace tandem::layout {
namespace {

constexpr unsigned kLaneTag = 32;  // tags: register bits below, lane bits from here on

struct Place {
  uint64_t register_ = 0, lane = 0;
};
Place placeOf(uint64_t tag) { return {tag & 0xffffffff, tag >> kLaneTag}; }

class ShuffleSearch {
 public:
  ShuffleSearch(const LinearLayout& src, const LinearLayout& dst) : src_(src), dst_(dst) {}

  std::optional<Shuffle> find() {
    readSource();
    if (!solve() || !chooseSteps()) return std::nullopt;
    offerRegisters();
    return result();
  }

 private:
  void readSource() {
    for (auto [bit, basis] : llvm::enumerate(src_.bases(Dim::Register))) {
      inThread_.insert(basis, uint64_t(1) << bit);
      inWarp_.insert(basis, uint64_t(1) << bit);
    }
    for (auto [bit, basis] : llvm::enumerate(src_.bases(Dim::Lane))) {
      uint64_t tag = uint64_t(1) << (kLaneTag + bit);
      if (!inWarp_.insert(basis, tag)) copies_.push_back(placeOf(*inWarp_.solve(basis) ^ tag));
    }
  }

  bool solve() {
    llvm::ArrayRef<uint64_t> lanes = src_.bases(Dim::Lane), warps = src_.bases(Dim::Warp);
    for (uint64_t basis : dst_.bases(Dim::Register)) {
      if (!append(registers_, basis)) return false;
    }
    for (auto [bit, basis] : llvm::enumerate(dst_.bases(Dim::Lane))) {
      // Staying in the lane is best.
      std::optional<uint64_t> here = inThread_.solve(basis ^ lanes[bit]);
      if (here)
        lanes_.push_back({*here, uint64_t(1) << bit});
      else if (!append(lanes_, basis))
        return false;
    }
    for (auto [bit, basis] : llvm::enumerate(dst_.bases(Dim::Warp)))
      if (!append(warps_, basis ^ warps[bit])) return false;
    return true;
  }
  bool append(llvm::SmallVector<Place>& places, uint64_t position) {
    std::optional<uint64_t> tag = inWarp_.solve(position);
    if (tag) places.push_back(placeOf(*tag));
    return tag.has_value();
  }

  // Chooses P, and M and N where the source's copies allow another choice. Returns false if too few lanes have what a
  // warp wants, because the rest hold what other warps want.
  bool chooseSteps() {
    Span reached;  // lanes that offer something; tagged by reading lanes
    llvm::SmallVector<unsigned> open;
    postSwaps_.assign(lanes_.size(), 0);
    for (auto [bit, place] : llvm::enumerate(lanes_)) {
      uint64_t tag = uint64_t(1) << bit;
      if (reached.insert(place.lane, tag)) continue;
      uint64_t twins = *reached.solve(place.lane) ^ tag, wanted = 0;
      for (auto [other, at] : llvm::enumerate(lanes_))
        if (twins >> other & 1) wanted ^= at.register_;
      if (wanted != 0) open.push_back(bit);
    }
    return llvm::all_of(open, [&](unsigned bit) { return spread(reached, bit); });
  }
  // Lane bit `bit` reads from lanes that others read too, and wants other registers of them: find it lanes of its own.
  bool spread(Span& reached, unsigned bit) {
    Place& place = lanes_[bit];
    for (const Place& copy : copies_) {
      if (reached.contains(copy.lane)) continue;
      place = {place.register_ ^ copy.register_, place.lane ^ copy.lane};
      return reached.insert(copy.lane);
    }
    for (auto [r, step] : llvm::enumerate(registers_)) {
      if (reached.contains(step.lane)) continue;
      postSwaps_[bit] = uint64_t(1) << r;
      place = {place.register_ ^ step.register_, place.lane ^ step.lane};
      return reached.insert(step.lane);
    }
    return false;
  }

  // S, from the lanes that read; lanes that nobody reads offer anything.
  void offerRegisters() {
    Span readers;
    for (auto [bit, place] : llvm::enumerate(lanes_)) readers.insert(place.lane, uint64_t(1) << bit);
    for (unsigned bit = 0; bit < lanes_.size(); ++bit)
      readers.insert(uint64_t(1) << bit, uint64_t(1) << (kLaneTag + bit));
    for (unsigned bit = 0; bit < lanes_.size(); ++bit) {
      uint64_t reading = *readers.solve(uint64_t(1) << bit), offered = 0;
      for (auto [lane, place] : llvm::enumerate(lanes_))
        if (reading >> lane & 1) offered ^= place.register_;
      offers_.push_back(offered);
    }
  }

  Shuffle result() const {
    Shuffle shuffle;
    shuffle.preSwaps = offers_;
    for (const Place& place : lanes_) shuffle.laneMasks.push_back(place.lane);
    for (const Place& place : warps_) {
      shuffle.laneMasks.push_back(place.lane);
      shuffle.preSwaps.push_back(place.register_ ^ combine(offers_, place.lane));
    }
    shuffle.postSwaps = postSwaps_;
    for (int64_t j = 0; j < dst_.numRegisters(); ++j) {
      Place from;
      for (auto [bit, place] : llvm::enumerate(registers_))
        if (j >> bit & 1) from = {from.register_ ^ place.register_, from.lane ^ place.lane};
      shuffle.steps.push_back({unsigned(from.register_ ^ combine(offers_, from.lane)), unsigned(from.lane)});
    }
    return shuffle;
  }

  const LinearLayout &src_, &dst_;
  Span inThread_, inWarp_;           // positions by register; by register and lane
  llvm::SmallVector<Place> copies_;  // places that hold the same position as register 0 of lane 0
  llvm::SmallVector<Place> registers_, lanes_, warps_;
  Bases postSwaps_, offers_;
};

}  // namespace

bool Shuffle::movesLanes() const {
  for (const Step& step : steps)
    if (step.lane != 0) return true;
  for (auto [bit, mask] : llvm::enumerate(laneMasks))
    if (mask != (bit < postSwaps.size() ? uint64_t(1) << bit : 0)) return true;
  return false;
}

int64_t Shuffle::numSelects(int64_t sourceRegisters) const {
  auto used = [](const Bases& masks) { return llvm::count_if(masks, [](uint64_t mask) { return mask != 0; }); };
  return used(preSwaps) * sourceRegisters + used(postSwaps) * int64_t(steps.size());
}

std::optional<Shuffle> shuffle(const LinearLayout& src, const LinearLayout& dst) {
  if (src.bases(Dim::Block) != dst.bases(Dim::Block)) return std::nullopt;
  return ShuffleSearch(src, dst).find();
}

}  // namespace tandem::layout
