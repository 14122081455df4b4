// The distance of misspelt words.
#include "compiler/frontend/semantic/spelling.h"
#include <algorithm>

namespace tandem::frontend {
namespace {

// Edits that make one word of another; a swap of neighbours counts one.
size_t editDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

// What others call an element type, and how it is called here.
constexpr std::pair<const char*, const char*> kOthersNames[] = {{"float8e4m3", "float8e4nv"},
                                                                {"float8_e4m3", "float8e4nv"},
                                                                {"float8e4m3fn", "float8e4nv"},
                                                                {"float8_e4m3fn", "float8e4nv"},
                                                                {"float8e5m2", "float8e5"},
                                                                {"float8_e5m2", "float8e5"},
                                                                {"half", "float16"},
                                                                {"double", "float64"}};

}  // namespace

std::string didYouMean(const std::string& near) { return near.empty() ? "" : "did you mean `" + near + "`?"; }

std::string closestName(const std::string& name, const std::vector<std::string>& candidates) {
  if (name.size() > 100) return "";
  for (auto [others, ours] : kOthersNames)
    if (name == others && std::find(candidates.begin(), candidates.end(), ours) != candidates.end()) return ours;
  size_t best = name.size() <= 3 ? 2 : std::min<size_t>(3, name.size() / 3 + 1);
  std::string found;
  for (const std::string& c : candidates) {
    if (c == name || c.size() > name.size() + best) continue;
    size_t d = editDistance(name, c);
    if (d < best) best = d, found = c;
  }
  return found;
}

}  // namespace tandem::frontend
