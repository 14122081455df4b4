// The text of the profiles that come with Tandem (profiles/*.json), which the build puts into the library.
#pragma once
#include <utility>
#include <vector>

namespace tandem::model {

// Names and texts; the first one has every speed.
const std::vector<std::pair<const char*, const char*>>& profileTexts();

}  // namespace tandem::model
