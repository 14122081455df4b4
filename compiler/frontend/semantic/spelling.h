// The word that a misspelt one was meant to be, for "did you mean" notes.
#pragma once
#include <string>
#include <vector>

namespace tandem::frontend {

// The candidate nearest to `name` by edits, or nothing when none is near.
std::string closestName(const std::string& name, const std::vector<std::string>& candidates);
// The hint "did you mean `near`?"; nothing for nothing.
std::string didYouMean(const std::string& near);

}  // namespace tandem::frontend
