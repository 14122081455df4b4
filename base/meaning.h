// Owners of memory say here in words what its pieces are for, and reports of waits look that up by address.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace tandem {

// The words hold as long as the object lives. Addresses are those of the process, of host or device memory.
class Meaning {
 public:
  // `owner` names who uses the memory; `words` says what is at an offset of it.
  Meaning(uint64_t begin, uint64_t bytes, std::string owner, std::function<std::string(uint64_t offset)> words);
  ~Meaning();
  Meaning(const Meaning&) = delete;

 private:
  uint64_t begin_;
};

struct MeaningText {
  std::string owner, words;  // empty where nobody has told
};
MeaningText meaningOf(uint64_t address);

}  // namespace tandem
