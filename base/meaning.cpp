// One table has the pieces of all runs of the process, under a lock: reports are made by threads of their own.
#include "base/meaning.h"
#include <map>
#include <mutex>
#include <utility>

namespace tandem {
namespace {

struct Piece {
  uint64_t bytes;
  std::string owner;
  std::function<std::string(uint64_t)> words;
};

struct Pieces {
  std::mutex guard;
  std::map<uint64_t, Piece> byBegin;
};

Pieces& pieces() {
  static Pieces all;
  return all;
}

}  // namespace

Meaning::Meaning(uint64_t begin, uint64_t bytes, std::string owner, std::function<std::string(uint64_t offset)> words)
    : begin_(begin) {
  std::lock_guard lock(pieces().guard);
  pieces().byBegin[begin] = {bytes, std::move(owner), std::move(words)};
}

Meaning::~Meaning() {
  std::lock_guard lock(pieces().guard);
  pieces().byBegin.erase(begin_);
}

MeaningText meaningOf(uint64_t address) {
  std::lock_guard lock(pieces().guard);
  auto behind = pieces().byBegin.upper_bound(address);
  if (behind == pieces().byBegin.begin()) return {};
  auto& [begin, piece] = *--behind;
  if (address - begin >= piece.bytes) return {};
  return {piece.owner, piece.words(address - begin)};
}

}  // namespace tandem
