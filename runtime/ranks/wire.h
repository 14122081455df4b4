// Values become bytes between ranks of one machine like this: numbers as they lie in memory, text with its length in
// front.
#pragma once
#include "runtime/session.h"
#include <cstring>
#include <string>
#include <type_traits>

namespace tandem::runtime::ranks {

class Writer {
 public:
  template <class T>
  Writer& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(const std::string& value) {
    put(uint32_t(value.size()));
    bytes += value;
    return *this;
  }
  std::string bytes;
};

// A value that is missing reads as zero or empty text: a peer's mistake never makes it read beyond the message.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (bytes_.size() - at_ >= sizeof value)
      std::memcpy(&value, bytes_.data() + at_, sizeof value), at_ += sizeof value;
    return value;
  }
  std::string text() {
    size_t size = std::min<size_t>(get<uint32_t>(), bytes_.size() - at_);
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  size_t left() const { return bytes_.size() - at_; }
  std::string rest() { return bytes_.substr(at_); }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

std::string encode(const RunReport& report);
RunReport decodeReport(const std::string& bytes);

}  // namespace tandem::runtime::ranks
