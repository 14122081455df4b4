// Reads the options of a session: simulated ranks or GPUs.
#include "api/session_options.h"
#include "interpreter/schedule/choice.h"
#include "runtime/backend/cuda/ranks/session.h"
#include "runtime/backend/sim/session.h"
#include <cstdlib>
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

std::unique_ptr<runtime::Session> simulated(const json& o, std::shared_ptr<interpreter::Chooser> chooser) {
  interpreter::WorldOptions w;
  w.rankCount = rankCountOf(o);
  w.seed = o.value("seed", uint64_t(0));
  w.trace = o.value("trace", false);
  w.check = o.value("check", false);
  w.policy = policyOf(o.value("policy", "random"));
  w.logStores = o.value("log_stores", false);
  w.slotsPerRank = o.value("slots_per_rank", w.slotsPerRank);
  if (w.slotsPerRank < 1) throw std::runtime_error("`slots_per_rank` must be at least 1");
  if (!chooser && o.contains("schedule"))
    chooser = std::make_shared<interpreter::ForcedSchedule>(o.at("schedule").get<std::string>());
  w.chooser = std::move(chooser);
  return std::make_unique<runtime::sim::Session>(w);
}

std::unique_ptr<runtime::Session> onGpus(const json& o) {
  runtime::cuda::RanksOptions r;
  r.ranks = rankCountOf(o);
  r.rank = o.value("rank", r.rank);
  r.rendezvous = o.value("rendezvous", r.rendezvous);
  r.devices = o.value("devices", r.devices);
  r.waitTimeoutMs = o.value("wait_timeout_ms", r.waitTimeoutMs);
  r.trace = o.value("trace", !traceFile().empty());
  const char* asked = std::getenv("TANDEM_TRANSPORT");
  r.transport = runtime::cuda::transportOf(o.value("transport", asked && *asked ? asked : "auto"));
  if (r.rank < -1 || r.rank >= r.ranks)
    throw std::runtime_error("`rank` is " + std::to_string(r.rank) + ", but there are " + std::to_string(r.ranks) +
                             " ranks");
  if (r.rank >= 0 && r.ranks > 1 && r.rendezvous.empty())
    throw std::runtime_error("one rank of several needs a `rendezvous`");
  size_t here = r.rank >= 0 ? 1 : size_t(r.ranks);
  if (!r.devices.empty() && r.devices.size() != here)
    throw std::runtime_error("`devices` names " + std::to_string(r.devices.size()) + " for the " +
                             std::to_string(here) + " ranks of this process");
  return runtime::cuda::makeSession(r);
}

}  // namespace

std::string traceFile() {
  const char* file = std::getenv("TANDEM_TRACE");
  return file ? file : "";
}

std::unique_ptr<runtime::Session> sessionFor(const std::string& optionsJson,
                                             std::shared_ptr<interpreter::Chooser> chooser) {
  json o = json::parse(optionsJson);
  std::string target = o.value("target", "sim");
  if (target == "sim") return simulated(o, std::move(chooser));
  if (chooser) throw std::runtime_error("only simulated ranks have a schedule to choose");
  if (target == "cuda") return onGpus(o);
  throw std::runtime_error("`target` is `" + target + "`; it is one of sim, cuda");
}

}  // namespace tandem
