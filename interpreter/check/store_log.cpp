// Hashes of stores, and the first that differs.
#include "interpreter/check/store_log.h"
#include <cstring>

namespace tandem::interpreter::check {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h ^ h >> 29;
}

uint64_t hashBytes(uint64_t h, const void* from, uint64_t bytes) {
  auto* p = static_cast<const uint8_t*>(from);
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    h = mix(h, word);
  }
  uint64_t word = 0;
  memcpy(&word, p, bytes);
  return mix(h, word + bytes);
}

uint64_t wordOf(uint64_t word) { return word; }
template <class Value> uint64_t wordOf(const std::pair<const uint64_t, Value>& entry) { return entry.first; }

template <class Words> void eraseWords(Words& words, uint64_t begin, uint64_t end) {
  if (end - begin > words.size())
    std::erase_if(words, [&](const auto& entry) { return wordOf(entry) >= begin && wordOf(entry) < end; });
  else
    for (uint64_t word = begin; word < end; ++word) words.erase(word);
}

}  // namespace

void StoreLog::add(const Who& who, const Program* program, uint32_t location, uint64_t offset, const void* value,
                   uint64_t bytes) {
  std::vector<LoggedStore>& stores = stores_[who];
  if (stores.empty() || stores.back().location != location) stores.push_back({program, location, 1});
  stores.back().hash = hashBytes(mix(stores.back().hash, offset), value, bytes);
}

void StoreLog::storedWord(const Who& who, uint64_t offset, uint64_t bytes, uint64_t value) {
  for (uint64_t word = offset / 4; word * 4 < offset + bytes; ++word) {
    uint64_t& hash = words_[word][who];
    hash = mix(hash + 1, value);
  }
}

void StoreLog::forget(uint64_t offset, uint64_t bytes) {
  uint64_t begin = offset / 4, end = (offset + bytes + 3) / 4;
  eraseWords(looked_, begin, end);
  eraseWords(updated_, begin, end);
  eraseWords(words_, begin, end);
}

bool StoreLog::isTurn(uint64_t offset, const StoreLog& a, const StoreLog& b) {
  static const std::map<Who, uint64_t> none;
  uint64_t word = offset / 4;
  auto stores = [&](const StoreLog& log) -> const std::map<Who, uint64_t>& {
    auto it = log.words_.find(word);
    return it == log.words_.end() ? none : it->second;
  };
  return (a.looked_.contains(word) || b.looked_.contains(word)) && !a.updated_.contains(word) &&
         !b.updated_.contains(word) && stores(a) == stores(b);
}

std::optional<StoreLog::Difference> StoreLog::firstDifference(const StoreLog& a, const StoreLog& b) {
  std::optional<Difference> first;
  size_t firstAt = ~size_t(0);
  auto look = [&](const Who& who, const std::vector<LoggedStore>& mine, const std::vector<LoggedStore>& theirs) {
    for (size_t k = 0;
         k < std::max(mine.size(), theirs.size()) && (!first || first->who.launch > who.launch || k < firstAt); ++k) {
      LoggedStore one = k < mine.size() ? mine[k] : LoggedStore(),
                  other = k < theirs.size() ? theirs[k] : LoggedStore();
      if (one.location == other.location && one.hash == other.hash) continue;
      first = Difference{who, one, other};
      firstAt = k;
      return;
    }
  };
  static const std::vector<LoggedStore> none;
  for (const auto& [who, stores] : a.stores_) {
    if (first && first->who.launch < who.launch) continue;
    auto it = b.stores_.find(who);
    look(who, stores, it == b.stores_.end() ? none : it->second);
  }
  for (const auto& [who, stores] : b.stores_)
    if (!a.stores_.contains(who)) look(who, none, stores);
  return first;
}

}  // namespace tandem::interpreter::check
