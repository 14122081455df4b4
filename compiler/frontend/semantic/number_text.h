// Numbers as Python's repr() shows them.
#pragma once
#include <string>

namespace tandem::frontend {

std::string intText(__int128 value);
std::string floatText(double value);

}  // namespace tandem::frontend
