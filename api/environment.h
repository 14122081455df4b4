// A process learns from the launchers' environment variables which rank it is.
#pragma once
#include <functional>
#include <string>

namespace tandem {

struct RankPlace {
  int rank = 0, size = 1;
  int device = 0;          // of this host
  std::string rendezvous;  // names the group; empty: the process is alone
};

// The value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;

// Reads torchrun's variables, else Open MPI's; without either the process is the only rank. Throws std::runtime_error
// if the variables contradict one another.
RankPlace rankFromEnvironment(const Environment& variable);

}  // namespace tandem
