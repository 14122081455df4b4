// A session on the fake driver whose ranks are threads of the test.
#pragma once
#include "runtime/backend/cuda/ranks/session.h"
#include "runtime/backend/cuda/test/fake_driver.h"
#include <thread>

namespace tandem::runtime::cuda {

using Word = uint64_t;
inline const HostPlace kPlace;

inline Word* words(uint64_t address) { return reinterpret_cast<Word*>(address); }

class SessionTest : public FakeDriver {
 protected:
  static RanksOptions threads(int ranks) {
    RanksOptions o;
    o.ranks = ranks;
    o.devices.assign(size_t(ranks), 0);
    o.heapStride = uint64_t(256) << 20;
    return o;
  }

  // Runs `body` on a thread for each rank, between enter and leave; returns the exception of each, or nothing.
  std::vector<std::string> run(const RanksOptions& options, const std::function<void(Session&, int)>& body) {
    session_ = makeSession(options);
    std::vector<std::string> errors(size_t(options.ranks));
    std::vector<std::thread> all;
    for (int r = 0; r < options.ranks; ++r) all.emplace_back([&, r] { errors[size_t(r)] = main(r, body); });
    for (std::thread& t : all) t.join();
    session_->finish();
    return errors;
  }
  std::string main(int rank, const std::function<void(Session&, int)>& body) {
    try {
      session_->enter(rank);
      body(*session_, rank);
      session_->leave(rank);
    } catch (const RunStopped& e) {
      session_->leave(rank);
      return e.what();
    } catch (const std::exception& e) {
      session_->abort(rank, e.what());
      return e.what();
    }
    return "";
  }
  std::vector<std::string> none(int ranks) { return std::vector<std::string>(size_t(ranks)); }

  std::unique_ptr<Session> session_;
};

}  // namespace tandem::runtime::cuda
