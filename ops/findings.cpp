// The findings in words. Those on a route's header have the number of its word (ops/device/routes.py) behind 1.
#include "ops/findings.h"
#include "api/handles.h"

namespace tandem::ops {
namespace {

std::string textOf(int what, int64_t seen, int64_t allowed, int64_t first, int64_t second) {
  std::string see = std::to_string(seen), may = std::to_string(allowed), token = "token " + std::to_string(first);
  switch (what) {
    case 1:
      return "`ids`: " + token + ", slot " + std::to_string(second) + " has " + see + ", -1 to " + may +
             " are possible";
    case 2: return "`logits`: " + token + " has one that is no number";
    case 3: return "`route` is of " + see + " tokens, one of " + may + " is needed";
    case 4: return "`route` has " + see + " experts of a token, " + may + " are needed";
    case 5: return "`route` is of " + see + " experts, one of " + may + " is needed";
    case 6: return "`route` has blocks of " + see + " rows, " + may + " are needed: `block_m` must be the same in both";
    case 9: return "`route` is of a team of " + see + " ranks, the operator's has " + may;
    case 11:
      return "`placement`: expert " + std::to_string(first) + ", copy " + std::to_string(second) + " has place " + see +
             ", 0 to " + may + " are possible";
    case 12:
      return "`route` has places of `align` " + see + ", " + may +
             " is needed: the same in dispatch and combine, 0 elsewhere";
    case 10: return "`route` is rank " + see + "'s, that of rank " + may + " is needed";
    default: return "data that it cannot use, finding " + std::to_string(what);
  }
}

}  // namespace

std::string takeFinding(const HostWords& words, const std::string& name) {
  volatile int32_t* w = words.host;
  int what = w ? __atomic_load_n(w, __ATOMIC_ACQUIRE) : 0;
  if (!what) return "";
  std::string text = textOf(what, w[1], w[2], w[3], w[4]);
  __atomic_store_n(w, 0, __ATOMIC_RELEASE);
  return "`" + name + "`: an earlier call found that " + text + "; it computed nothing from it";
}

HostWords findingsOf(Team& team, const std::string& name) {
  HostWords words = team.hostWords(kFindingWords, name + " findings");
  std::lock_guard guard(lookingOf(*team.session()));
  looksOf(*team.session(), team.rank())[words.host] = [words, name] { return takeFinding(words, name); };
  return words;
}

void forget(Team& team, const HostWords& findings) {
  std::lock_guard guard(lookingOf(*team.session()));
  looksOf(*team.session(), team.rank()).erase(findings.host);
}

std::function<std::string(uint64_t)> onTeam(const Team& team, std::function<std::string(uint64_t)> words) {
  std::string ranks;
  for (int r : team.session()->ranksInWhole) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
  if (ranks.empty()) return words;
  return [=](uint64_t offset) { return words(offset) + ", by their numbers in the team of ranks " + ranks; };
}

}  // namespace tandem::ops
