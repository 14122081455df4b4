// What the C ABI's handles hold, and the checks of what a caller passes in.
#pragma once
#include "api/required.h"
#include "compiler/driver/compile.h"
#include "runtime/backend/sim/session.h"
#include "tandem/c_api.h"
#include <stdexcept>
#include <string>
#include <vector>

struct td_program {
  tandem::compiler::Compiled compiled;
};
struct td_session {
  tandem::runtime::sim::Session session;
  std::vector<int> streamCounts;  // by rank
  uint64_t lastEvent = 0;

  explicit td_session(const tandem::interpreter::WorldOptions& options)
      : session(options), streamCounts(size_t(options.rankCount), 1) {}
};

namespace tandem {

inline void checkIndex(const char* what, int64_t index, int64_t count) {
  if (index < 0 || index >= count)
    throw std::out_of_range(std::string(what) + " " + std::to_string(index) + " is not one of the " +
                            std::to_string(count));
}

inline td_session& sessionOf(td_session* s, int rank) {
  required(s, "session");
  checkIndex("rank", rank, s->session.rankCount());
  return *s;
}

inline td_session& sessionOf(td_session* s, int rank, int stream) {
  checkIndex("stream", stream, sessionOf(s, rank).streamCounts[size_t(rank)]);
  return *s;
}

}  // namespace tandem
