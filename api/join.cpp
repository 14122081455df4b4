// A process as one rank of a group that torchrun or mpirun has started.
#include "api/environment.h"
#include "api/reports.h"
#include "tandem/team.h"
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace tandem {
namespace {

td_session* sessionAt(const RankPlace& place, uint64_t waitTimeoutMs) {
  nlohmann::json options = {{"target", "cuda"},          {"ranks", place.size},
                            {"rank", place.rank},        {"rendezvous", place.rendezvous},
                            {"devices", {place.device}}, {"wait_timeout_ms", waitTimeoutMs}};
  td_session* session = nullptr;
  if (td_session_create(options.dump().c_str(), &session)) throw Error(td_last_error());
  return session;
}

RankPlace placeOfProcess() {
  try {
    return rankFromEnvironment([](const char* name) { return std::getenv(name); });
  } catch (const std::runtime_error& e) {
    throw Error(e.what());
  }
}

}  // namespace

struct JoinedRank::Impl {
  std::unique_ptr<td_session, void (*)(td_session*)> session;
  Team team;
  int exceptions = std::uncaught_exceptions();
  bool joined = false;

  Impl(const RankPlace& place, uint64_t waitTimeoutMs)
      : session(sessionAt(place, waitTimeoutMs), td_session_destroy), team(session.get(), place.rank, place.size) {
    check(td_enter(session.get(), place.rank));
    joined = true;
  }

  void check(int status) const {
    if (!status) return;
    std::string why = td_last_error();
    throwErrors(reportsOf(session.get()));
    throw Error(why);
  }

  void leave() {
    if (!std::exchange(joined, false)) return;
    if (td_leave(session.get(), team.rank())) {
      std::string why = td_last_error();
      td_abort(session.get(), team.rank(), why.c_str());
      throwErrors(reportsOf(session.get()));
      throw Error(why);
    }
    check(td_finish(session.get()));
    throwErrors(reportsOf(session.get()));
  }
};

JoinedRank::JoinedRank(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JoinedRank::JoinedRank(JoinedRank&&) noexcept = default;

JoinedRank::~JoinedRank() {
  if (!impl_ || !impl_->joined) return;
  if (std::uncaught_exceptions() > impl_->exceptions) {
    td_abort(impl_->session.get(), impl_->team.rank(), "it ended with an exception");
    return;
  }
  try {
    impl_->leave();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
}

Team& JoinedRank::team() { return impl_->team; }
void JoinedRank::leave() { impl_->leave(); }

JoinedRank joinFromEnvironment(uint64_t waitTimeoutMs) {
  return JoinedRank(std::make_unique<JoinedRank::Impl>(placeOfProcess(), waitTimeoutMs));
}

}  // namespace tandem
