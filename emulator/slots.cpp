#include "emulator/slots.h"
#include <algorithm>
#include <numeric>
#include <queue>

namespace tandem::emulator {

void SlotLives::note(Slot slot, uint32_t at, bool isWholeWrite) {
  if (slot >= lives_.size()) lives_.resize(slot + 1);
  Life& life = lives_[slot];
  if (life.begin == ~0u)
    life.isWritten = isWholeWrite;
  else if (life.begin == at)
    life.isWritten &= isWholeWrite;  // x = x + 1
  life.begin = std::min(life.begin, at);
  life.end = std::max(life.end, at);
}

// A linear scan over the lives' begins. A life that begins before a loop and ends in it lasts until the loop's end; one
// that begins in a loop without a write of its own comes from the round before, and lasts for the whole loop.
uint32_t SlotLives::assign() {
  std::sort(loops_.begin(), loops_.end(), [](auto& a, auto& b) { return a.second - a.first < b.second - b.first; });
  for (Life& life : lives_)
    for (bool changed = life.begin != ~0u; std::exchange(changed, false);)
      for (auto [begin, end] : loops_) {
        bool crosses = life.begin < begin && life.end >= begin && life.end < end;
        bool comesRound = !life.isWritten && life.begin >= begin && life.begin <= end;
        if (crosses) life.end = end, changed = true;
        if (comesRound && (life.begin > begin || life.end < end)) {
          life.begin = std::min(life.begin, begin);
          life.end = std::max(life.end, end);
          changed = true;
        }
      }
  for (Slot slot : forever_) lives_[slot].end = ~0u;

  std::vector<Slot> order(lives_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](Slot a, Slot b) { return lives_[a].begin < lives_[b].begin; });
  assigned_.assign(lives_.size(), 0);
  std::priority_queue<std::pair<uint32_t, Slot>, std::vector<std::pair<uint32_t, Slot>>, std::greater<>> busy;
  std::vector<Slot> free;
  uint32_t count = 0;
  for (Slot slot : order) {
    for (; !busy.empty() && busy.top().first < lives_[slot].begin; busy.pop()) free.push_back(busy.top().second);
    if (free.empty()) {
      assigned_[slot] = count++;
    } else {
      assigned_[slot] = free.back();
      free.pop_back();
    }
    busy.emplace(lives_[slot].end, assigned_[slot]);
  }
  return count;
}

}  // namespace tandem::emulator
