// Reads the options of a session: simulated ranks or GPUs.
#include "api/session_options.h"
#include "runtime/backend/sim/session.h"
#include <iterator>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using nlohmann::json;

interpreter::SchedulePolicy policyOf(const std::string& word) {
  static const char* const words[] = {"random", "round-robin", "priority", "slowest-rank"};
  for (size_t k = 0; k < std::size(words); ++k)
    if (word == words[k]) return interpreter::SchedulePolicy(k);
  throw std::runtime_error("`policy` is `" + word + "`; it is one of random, round-robin, priority, slowest-rank");
}

int rankCountOf(const json& o) {
  int ranks = o.value("ranks", 1);
  if (ranks < 1 || ranks > 1024) throw std::runtime_error("`ranks` must be 1 to 1024, not " + std::to_string(ranks));
  return ranks;
}

std::unique_ptr<runtime::Session> simulated(const json& o) {
  interpreter::WorldOptions w;
  w.rankCount = rankCountOf(o);
  w.seed = o.value("seed", uint64_t(0));
  w.trace = o.value("trace", false);
  w.check = o.value("check", false);
  w.policy = policyOf(o.value("policy", "random"));
  w.logStores = o.value("log_stores", false);
  w.slotsPerRank = o.value("slots_per_rank", w.slotsPerRank);
  if (w.slotsPerRank < 1) throw std::runtime_error("`slots_per_rank` must be at least 1");
  return std::make_unique<runtime::sim::Session>(w);
}

}  // namespace

std::unique_ptr<runtime::Session> sessionFor(const std::string& optionsJson) {
  json o = json::parse(optionsJson);
  std::string target = o.value("target", "sim");
  if (target == "sim") return simulated(o);
  throw std::runtime_error("`target` is `" + target + "`; it is one of sim");
}

}  // namespace tandem
