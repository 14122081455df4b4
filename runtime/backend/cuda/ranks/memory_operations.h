// A batch of stream memory operations: words written and waited for by the stream itself, without a multiprocessor. A write is released
// after the stream's earlier work at system scope, a wait acquires.
#pragma once
#include "runtime/backend/cuda/driver.h"
#include "runtime/session.h"
#include <vector>

namespace tandem::runtime::cuda {

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
  // Submits the operations in order, in several calls if the driver does not take that many at once.
  void submit(Stream stream, const std::string& doing);

 private:
  void add(MemoryOperation::Type type, Address address, uint64_t value, unsigned flags);
  std::vector<MemoryOperation> list_;
};


}  // namespace tandem::runtime::cuda
