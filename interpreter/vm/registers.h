// Reading and writing a run's registers.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

inline uint64_t registerBytes(const Run& run, Register r) { return run.count(r) * run.info(r).elemBytes; }

// The bytes of a register. One that nothing has written reads as zero.
inline uint8_t* data(Machine& m, Run& run, Register r) {
  Slot& s = run.slots[r];
  if (run.info(r).isInline) return reinterpret_cast<uint8_t*>(&s.bits);
  uint64_t need = registerBytes(run, r);
  if (!s.buffer || s.buffer->bytes < need) {
    Buffer* b = m.pool.take(need);
    memset(b->data(), 0, need);
    if (s.buffer) memcpy(b->data(), s.buffer->data(), s.buffer->bytes);
    m.pool.drop(s.buffer);
    s.buffer = b;
  }
  return s.buffer->data();
}

inline void setBuffer(Machine& m, Run& run, Register r, Buffer* b) {
  m.pool.drop(run.slots[r].buffer);
  run.slots[r].buffer = b;
}

// A handler writes its result here: never into memory that an operand shares. `commit` makes it the register's value.
class Result {
 public:
  Result(Machine& m, Run& run, Register r) : m_(m), run_(run), register_(r) {
    if (run.info(r).isInline)
      data_ = reinterpret_cast<uint8_t*>(&scalar_);
    else
      data_ = (buffer_ = m.pool.take(registerBytes(run, r)))->data();
  }
  ~Result() { m_.pool.drop(buffer_); }
  Result(const Result&) = delete;
  uint8_t* data() { return data_; }
  void commit() {
    if (!buffer_) {
      run_.slots[register_].bits = scalar_;
      return;
    }
    setBuffer(m_, run_, register_, buffer_);
    buffer_ = nullptr;
  }

 private:
  Machine& m_;
  Run& run_;
  Register register_;
  uint64_t scalar_ = 0;
  Buffer* buffer_ = nullptr;
  uint8_t* data_;
};

// A little integer or a pointer, sign-extended from its register's width.
inline int64_t signedAt(const uint8_t* p, size_t index, Elem elem) {
  switch (byteSize(elem)) {
    case 1: return elem == Elem::I1 ? int64_t(p[index]) : int64_t(reinterpret_cast<const int8_t*>(p)[index]);
    case 2: return reinterpret_cast<const int16_t*>(p)[index];
    case 4: return reinterpret_cast<const int32_t*>(p)[index];
    default: return reinterpret_cast<const int64_t*>(p)[index];
  }
}
inline uint64_t truncated(uint64_t value, unsigned bytes) {
  return bytes >= 8 ? value : value & ((1ull << (bytes * 8)) - 1);
}

inline bool isLanes(const Run& run, Register r) { return r != kNone && run.info(r).extent == Extent::Lanes; }
// The value for `lane` of a Lanes register, or the one value of a Uniform one.
inline int64_t integer(Machine& m, Run& run, Register r, uint32_t lane = 0) {
  return signedAt(data(m, run, r), isLanes(run, r) ? lane : 0, run.info(r).elem);
}
inline uint64_t rawInteger(Machine& m, Run& run, Register r, uint32_t lane = 0) {
  return truncated(uint64_t(integer(m, run, r, lane)), run.info(r).elemBytes);
}
inline void setInteger(Machine& m, Run& run, Register r, int64_t value) {
  Result result(m, run, r);
  size_t n = run.count(r);
  unsigned bytes = run.info(r).elemBytes;
  for (size_t i = 0; i < n; ++i) memcpy(result.data() + i * bytes, &value, bytes);
  result.commit();
}

}  // namespace tandem::interpreter
