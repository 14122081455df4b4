// This header defines the objects behind the C ABI's handles and the checks of a caller's arguments.
#pragma once
#include "api/required.h"
#include "base/diagnostic.h"
#include "runtime/ranks/part_session.h"
#include "tandem/c_api.h"
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

struct td_program {
  tandem::runtime::Code code;
  std::vector<tandem::Diagnostic> warnings;
};
// Memory of a rank that its operators share, by its name.
struct SharedMemory {
  uint64_t address = 0;
  int64_t bytes = 0;
  bool isSymmetric = false;
  int users = 0;
  bool isOutgrown = false;  // its users keep it; later ones get a larger one
};

struct td_session {
  std::unique_ptr<tandem::runtime::Session> session;
  std::mutex sharing = {};                                              // guards the next one
  std::map<int, std::multimap<std::string, SharedMemory>> shared = {};  // by rank
  std::mutex looking = {};                                              // guards the next one
  // Functions that td_synchronize calls when it has waited, by rank and by an address that is the owner's; it fails with
  // what they say, unless that is nothing.
  std::map<int, std::map<const volatile void*, std::function<std::string()>>> looks = {};
  td_session* whole = nullptr;  // of a team's session: the run's, the rank's number and the team's ranks there
  int rankInWhole = 0;
  std::vector<int> ranksInWhole = {};
  std::atomic<int> users = 1;  // of the run's session: its owner and the teams' sessions
};

namespace tandem {

inline void checkIndex(const char* what, int64_t index, int64_t count) {
  if (index < 0 || index >= count)
    throw std::out_of_range(std::string(what) + " " + std::to_string(index) + " is not one of the " +
                            std::to_string(count));
}

inline runtime::Session& sessionOf(td_session* s) { return *required(s, "session").session; }

inline runtime::Session& sessionOf(td_session* s, int rank) {
  checkIndex("rank", rank, sessionOf(s).rankCount());
  return *s->session;
}

// A rank of a team's session is looked at as one of the run.
inline auto& looksOf(td_session& s, int rank) { return s.whole ? s.whole->looks[s.rankInWhole] : s.looks[rank]; }
inline std::mutex& lookingOf(td_session& s) { return s.whole ? s.whole->looking : s.looking; }

inline runtime::Session& sessionOf(td_session* s, int rank, int stream) {
  runtime::Session& session = sessionOf(s, rank);
  if (stream < 0 || !session.hasStream(rank, runtime::StreamId(stream)))
    throw std::out_of_range("rank " + std::to_string(rank) + " has no stream " + std::to_string(stream));
  return session;
}

}  // namespace tandem
