// The variables of torchrun and of Open MPI's mpirun.
#include "api/environment.h"
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace tandem {
namespace {

// One launcher's names.
struct Names {
  const char *rank, *size, *localRank, *localSize;
};
constexpr Names kTorchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kMpirun{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                        "OMPI_COMM_WORLD_LOCAL_SIZE"};

std::optional<int> number(const Environment& variable, const char* name) {
  const char* text = variable(name);
  if (!text || !*text) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < 0)
    throw std::runtime_error("`" + std::string(name) + "` is `" + text + "`, not a number from 0");
  return value;
}

std::string firstOf(const Environment& variable, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* text = variable(name); text && *text) return text;
  return "";
}

std::optional<RankPlace> readRank(const Environment& variable, const Names& names) {
  std::optional<int> rank = number(variable, names.rank), size = number(variable, names.size);
  if (!rank && !size) return std::nullopt;
  if (!rank || !size)
    throw std::runtime_error("`" + std::string(rank ? names.rank : names.size) + "` is set, but `" +
                             (rank ? names.size : names.rank) + "` is not");
  if (*rank >= *size)
    throw std::runtime_error("`" + std::string(names.rank) + "` is " + std::to_string(*rank) + ", but there are " +
                             std::to_string(*size) + " ranks");
  int here = number(variable, names.localSize).value_or(*size);
  if (here != *size)
    throw std::runtime_error(std::to_string(here) + " of the " + std::to_string(*size) + " ranks are on this host (`" +
                             names.localSize + "`): a group lives on one host");
  return RankPlace{*rank, *size, number(variable, names.localRank).value_or(*rank), ""};
}

}  // namespace

RankPlace rankFromEnvironment(const Environment& variable) {
  std::string group = firstOf(variable, {"MASTER_PORT"});
  std::optional<RankPlace> place = readRank(variable, kTorchrun);
  if (!place && (place = readRank(variable, kMpirun)))
    if (std::string job = firstOf(variable, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}); !job.empty()) group = job;
  if (!place || place->size == 1) return place.value_or(RankPlace{});
  if (group.empty())
    throw std::runtime_error("the ranks do not know where to meet: set `MASTER_PORT` to one number for all of them");
  place->rendezvous = "tandem-" + group;
  return *place;
}

}  // namespace tandem
