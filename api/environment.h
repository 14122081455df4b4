// Which rank a process is, as the launchers' environment variables say.
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

// torchrun's variables, else Open MPI's; without either the process is alone. Throws std::runtime_error on what does not fit.
RankPlace rankFromEnvironment(const Environment& variable);

}  // namespace tandem
