// The tiles among which operators that multiply choose, and how quickly each multiplies.
#pragma once
#include "ops/gemm_choice.h"
#include "tandem/team.h"

namespace tandem::ops {

struct Tile {
  int m, n, k, warps, stages;
  double rate;  // of the largest tile's, where many are multiplied
};

constexpr Tile kSimulated = {64, 64, 32, 4, 3, 1};

// Tiles for these operands, with inner sizes for their type; `uneven`: also widths that are no power of two.
std::vector<Tile> tilesFor(bool uneven, DType dtype, const GemmPlace& place);
// `given` with the tile where it leaves that open, and with programs.
GemmConfig filled(const GemmConfig& given, const Tile& tile, const GemmPlace& place);
// Returns the rate relative to the largest tile's: a measured one, else one by the operations for each element that is
// read.
double rateOf(const GemmConfig& config, DType dtype, const GemmPlace& place);

// How a kernel of these tiles is launched; `waits`: its programs wait for one another, so all run at once.
LaunchConfig launchOf(const GemmConfig& config, int stream, bool waits);

// The smallest and the largest tile of all choices for any sizes.
struct TileBounds {
  int leastM, leastN, mostM, mostN;
};
TileBounds tileBounds(const GemmConfig& given, const std::string& target);

}  // namespace tandem::ops
