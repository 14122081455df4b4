// Calls that wait for other ranks: a run that stops meanwhile is settled on this rank before its host hears of it.
#pragma once
#include "runtime/backend/cuda/ranks/rank.h"

namespace tandem::runtime::cuda {

template <class Call>
auto Rank::collective(Call call) {
  try {
    return call();
  } catch (const RunStopped&) {
    throwStopped();
  }
}

}  // namespace tandem::runtime::cuda
