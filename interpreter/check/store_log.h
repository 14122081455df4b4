// The log keeps hashes of memory's last content and of each program's stores in program order. Where two runs of one
// computation end with other bytes, they differ first where a program stored something else.
#pragma once
#include "interpreter/program.h"
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace tandem::interpreter::check {

// The stores of one instruction between two others' by one program.
struct LoggedStore {
  const Program* program = nullptr;
  uint32_t location = 0;
  uint64_t hash = 0;
};

struct Buffer {
  int rank = 0;
  std::string name;
  uint64_t hash = 0;
  uint64_t begin = 0, bytes = 0;  // 0 when it has been freed
};

class StoreLog {
 public:
  struct Who {
    int rank = 0;
    uint32_t launch = 0;  // the number of the rank's launch
    std::array<int32_t, 3> id{};
    uint32_t lane = 0;  // the thread, or one of the words of observer.h
    auto operator<=>(const Who&) const = default;
  };
  void add(const Who& who, const Program* program, uint32_t location, uint64_t offset, const void* value,
           uint64_t bytes);
  // These note the words that threads read strongly or wait for, that an atomic changes, and that a strong store
  // writes.
  void looked(uint64_t offset, uint64_t bytes) { insert(looked_, offset, bytes); }
  void updated(uint64_t offset, uint64_t bytes) { insert(updated_, offset, bytes); }
  void storedWord(const Who& who, uint64_t offset, uint64_t bytes, uint64_t value);
  // Forgets a freed buffer: the next buffer at this place is another one.
  void forget(uint64_t offset, uint64_t bytes);
  // Returns true if threads use the word at `offset` as a flag or a turn, and stored the same values there in both
  // runs.
  static bool isTurn(uint64_t offset, const StoreLog& a, const StoreLog& b);
  std::map<int, std::vector<Buffer>> ended;  // last content of freed buffers, by rank in its order
  // last content of memory: the freed ones, then the others in order of allocation
  std::vector<Buffer> buffers;

  struct Difference {
    Who who;
    LoggedStore mine, theirs;  // program null: that run's program had stored no more
  };
  // The first store, in launch order and then the program's own, that the two runs did differently.
  static std::optional<Difference> firstDifference(const StoreLog& a, const StoreLog& b);

 private:
  std::map<Who, std::vector<LoggedStore>> stores_;
  // Inserts the words of 4 bytes of a range.
  static void insert(std::unordered_set<uint64_t>& words, uint64_t offset, uint64_t bytes) {
    for (uint64_t word = offset / 4; word * 4 < offset + bytes; ++word) words.insert(word);
  }
  std::unordered_set<uint64_t> looked_, updated_;
  std::unordered_map<uint64_t, std::map<Who, uint64_t>> words_;  // by word, a hash of each one's stores
};

}  // namespace tandem::interpreter::check
