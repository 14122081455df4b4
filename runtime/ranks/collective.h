// Calls that wait for other ranks: a run that stops meanwhile is settled on this rank before its host hears of it.
#pragma once
#include "runtime/ranks/rank.h"

namespace tandem::runtime::ranks {

template <class Call>
auto Rank::collective(Call call) {
  try {
    return call();
  } catch (const RunStopped&) {
    throwStopped();
  }
}

}  // namespace tandem::runtime::ranks
