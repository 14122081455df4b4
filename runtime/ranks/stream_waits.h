// This keeps the waits that streams were given: it knows which one holds a stream, and lets all of them go when the run
// ends early. Streams cannot look at a watch, and nothing but the value they wait for ends their waiting.
#pragma once
#include "runtime/ranks/memory_operations.h"
#include "runtime/ranks/watch.h"
#include <chrono>
#include <map>
#include <optional>

namespace tandem::runtime::ranks {

struct StreamWait {
  Address signal = 0;
  int bytes = 8;
  WaitTest test;
  Compare compare = Compare::Eq;
  uint64_t value = 0;
};

class StreamWaits {
 public:
  // With `follow` each wait writes its number to the watch before and after; without, two words less.
  StreamWaits(Watch& watch, bool follow) : watch_(watch), follow_(follow) {}

  void add(MemoryOperations& batch, unsigned stream, const StreamWait& wait);
  // The wait that `stream` has been held by, as far as the caller has seen, for at least `time`.
  std::optional<StreamWait> heldFor(unsigned stream, std::chrono::milliseconds time);
  // Gives every word one of the values that a stream waits for in it, in turn: repeated until the streams are idle, for
  // they change words as they go on and see a word only now and then.
  void letGo(Device& device, Stream stream, size_t round) const;

 private:
  static constexpr uint32_t kRemembered = 1024;  // the latest; a number names a wait until it is overwritten
  struct Held {
    uint32_t number = 0;
    std::chrono::steady_clock::time_point since;
  };
  Watch& watch_;
  bool follow_;
  uint32_t last_ = 0;
  std::vector<StreamWait> latest_ = std::vector<StreamWait>(kRemembered);
  // The distinct values by word, also those of captured graphs, which may run at any time.
  std::map<std::pair<Address, int>, std::vector<uint64_t>> values_;
  std::map<unsigned, Held> held_;
};

}  // namespace tandem::runtime::ranks
