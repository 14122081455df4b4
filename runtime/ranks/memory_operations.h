// A batch of words that a stream writes and waits for.
#pragma once
#include "runtime/ranks/device.h"

namespace tandem::runtime::ranks {

// A stream compares a word with this value. The ordered comparisons are cyclic: they are right while word and value are
// less than half the range apart.
struct WaitTest {
  WaitFlag flag = WaitFlag::Equal;
  uint64_t value = 0;
};

// Throws std::invalid_argument on `ne` with other values than 0 and -1: a stream cannot test it.
WaitTest waitTest(Compare compare, uint64_t value, int bytes);
// A value of the word with which the test is true.
uint64_t satisfying(const WaitTest& test, int bytes);

class MemoryOperations {
 public:
  void write(Address address, uint64_t value, int bytes);
  void wait(Address address, const WaitTest& test, int bytes);
  void submit(Device& device, Stream stream, const std::string& doing) const;  // in order; keeps them

 private:
  std::vector<WordOperation> list_;
};

}  // namespace tandem::runtime::ranks
