// Copies and fills, and words that streams write and wait for.
#include "runtime/backend/cuda/host/streams.h"
#include <cstring>

using namespace tandem::runtime::cuda;

namespace {

bool holds(const MemoryOperation::Value& op) {
  bool wide = op.operation == MemoryOperation::Wait64;
  uint64_t word = wide ? __atomic_load_n(reinterpret_cast<uint64_t*>(op.address), __ATOMIC_ACQUIRE)
                       : __atomic_load_n(reinterpret_cast<uint32_t*>(op.address), __ATOMIC_ACQUIRE);
  uint64_t mask = wide ? ~uint64_t(0) : 0xffffffffu, value = op.value & mask;
  switch (WaitFlag(op.flags)) {
    case WaitFlag::AtLeast: return wide ? int64_t(word - value) >= 0 : int32_t(uint32_t(word) - uint32_t(value)) >= 0;
    case WaitFlag::Equal: return word == value;
    case WaitFlag::And: return (word & value) != 0;
    case WaitFlag::Nor: return (~(word | value) & mask) != 0;
  }
  return false;
}

bool carryOut(const MemoryOperation::Value& op) {
  if (op.operation == MemoryOperation::Write64)
    __atomic_store_n(reinterpret_cast<uint64_t*>(op.address), op.value, __ATOMIC_RELEASE);
  else if (op.operation == MemoryOperation::Write32)
    __atomic_store_n(reinterpret_cast<uint32_t*>(op.address), uint32_t(op.value), __ATOMIC_RELEASE);
  else
    return holds(op);
  return true;
}

Result move(Stream stream, void* dest, const void* source, size_t bytes) {
  return enqueue(stream, [=] { return std::memcpy(dest, source, bytes), true; });
}

}  // namespace

HOST_DRIVER Result cuMemcpyAsync(Address dest, Address source, size_t bytes, Stream stream) {
  return move(stream, reinterpret_cast<void*>(dest), reinterpret_cast<void*>(source), bytes);
}
HOST_DRIVER Result cuMemcpy2DAsync_v2(const RowsCopy* copy, Stream stream) {
  return enqueue(stream, [c = *copy] {
    for (size_t i = 0; i < c.height; ++i)
      std::memcpy(reinterpret_cast<char*>(c.dest.device + i * c.dest.pitch),
                  reinterpret_cast<const char*>(c.source.device + i * c.source.pitch), c.widthBytes);
    return true;
  });
}
HOST_DRIVER Result cuMemcpyHtoDAsync_v2(Address dest, const void* source, size_t bytes, Stream stream) {
  return move(stream, reinterpret_cast<void*>(dest), source, bytes);
}
HOST_DRIVER Result cuMemcpyDtoHAsync_v2(void* dest, Address source, size_t bytes, Stream stream) {
  return move(stream, dest, reinterpret_cast<void*>(source), bytes);
}
HOST_DRIVER Result cuMemsetD8Async(Address dest, unsigned char value, size_t bytes, Stream stream) {
  return enqueue(stream, [=] { return std::memset(reinterpret_cast<void*>(dest), value, bytes), true; });
}

HOST_DRIVER Result cuStreamBatchMemOp_v2(Stream stream, unsigned count, MemoryOperation* list, unsigned) {
  if (count > 256) return kInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    if (Result r = note("cuStreamBatchMemOp", "memory operation " + std::to_string(list[i].value.operation) +
                                                  " value " + std::to_string(list[i].value.value) + " flags " +
                                                  std::to_string(list[i].value.flags)))
      return r;
    enqueue(stream, [op = list[i].value] { return carryOut(op); });
  }
  return kSuccess;
}
