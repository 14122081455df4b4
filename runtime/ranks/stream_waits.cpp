// The number of a wait is a constant of its batch, so a replayed graph writes the same one again: begun and passed are
// equal between waits.
#include "runtime/ranks/stream_waits.h"

namespace tandem::runtime::ranks {

void StreamWaits::add(MemoryOperations& batch, unsigned stream, const StreamWait& wait) {
  constexpr size_t most = 16;  // different values of one word: later ones replace the oldest
  uint32_t number = ++last_ ? last_ : ++last_;
  latest_[number % kRemembered] = wait;
  std::vector<uint64_t>& values = values_[{wait.signal, wait.bytes}];
  uint64_t value = satisfying(wait.test, wait.bytes);
  std::erase(values, value);
  if (values.size() == most) values.erase(values.begin());
  values.push_back(value);
  if (follow_) batch.write(watch_.begunWord(stream), number, sizeof number);
  batch.wait(wait.signal, wait.test, wait.bytes);
  if (follow_) batch.write(watch_.passedWord(stream), number, sizeof number);
}

std::optional<StreamWait> StreamWaits::heldFor(unsigned stream, std::chrono::milliseconds time) {
  uint32_t passed = watch_.passed(stream), begun = watch_.begun(stream);
  auto now = std::chrono::steady_clock::now();
  Held& held = held_[stream];
  if (!follow_ || begun == passed || held.number != begun) {
    held = {begun == passed ? 0 : begun, now};
    return std::nullopt;
  }
  if (now - held.since < time) return std::nullopt;
  return latest_[begun % kRemembered];
}

void StreamWaits::letGo(Device& device, Stream stream, size_t round) const {
  MemoryOperations batch;
  for (const auto& [word, values] : values_) batch.write(word.first, values[round % values.size()], word.second);
  batch.submit(device, stream, "letting the streams' waits go");
}

}  // namespace tandem::runtime::ranks
