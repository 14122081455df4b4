// This file expresses every comparison by one of the four tests that streams have.
#include "runtime/ranks/memory_operations.h"

namespace tandem::runtime::ranks {

// "At least v" is true for the half of the range that begins at v, so "at most v" is "at least" the value half a range
// below the next one.
WaitTest waitTest(Compare compare, uint64_t value, int bytes) {
  uint64_t mask = bytes == 8 ? ~uint64_t(0) : 0xffffffffu, half = mask / 2 + 1;
  value &= mask;
  switch (compare) {
    case Compare::Eq: return {WaitFlag::Equal, value};
    case Compare::Ge: return {WaitFlag::AtLeast, value};
    case Compare::Gt: return {WaitFlag::AtLeast, (value + 1) & mask};
    case Compare::Lt: return {WaitFlag::AtLeast, (value - half) & mask};
    case Compare::Le: return {WaitFlag::AtLeast, (value + 1 - half) & mask};
    case Compare::Ne: break;
  }
  if (value == 0) return {WaitFlag::And, mask};
  if (value == mask) return {WaitFlag::Nor, 0};
  throw std::invalid_argument("a stream of a GPU cannot wait for `ne " + std::to_string(int64_t(value)) +
                              "`; it can for eq, gt, ge, lt and le, and for `ne` with 0 and -1");
}

uint64_t satisfying(const WaitTest& test, int bytes) {
  if (test.flag == WaitFlag::And) return bytes == 8 ? ~uint64_t(0) : 0xffffffffu;
  return test.flag == WaitFlag::Nor ? 0 : test.value;
}

void MemoryOperations::write(Address address, uint64_t value, int bytes) {
  list_.push_back({false, bytes, address, bytes == 8 ? value : uint32_t(value)});
}

void MemoryOperations::wait(Address address, const WaitTest& test, int bytes) {
  list_.push_back({true, bytes, address, test.value, test.flag});
}

void MemoryOperations::submit(Device& device, Stream stream, const std::string& doing) const {
  if (!list_.empty()) device.submit(stream, list_, doing);
}

}  // namespace tandem::runtime::ranks
