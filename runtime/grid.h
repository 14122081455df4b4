// The sizes of a grid that a GPU can launch. Simulated ranks refuse the same ones.
#pragma once
#include <array>
#include <limits>
#include <stdexcept>
#include <string>

namespace tandem::runtime {

// `cluster`: blocks of a program, in each dimension. Throws std::invalid_argument.
inline void checkGrid(const std::string& kernel, const std::array<int, 3>& grid,
                      const std::array<int, 3>& cluster = {1, 1, 1}) {
  constexpr int kMost[] = {std::numeric_limits<int>::max(), 65535, 65535};
  for (int size : grid)
    if (size < 0) throw std::invalid_argument("kernel `" + kernel + "`: the grid has a negative size");
  for (size_t i = 0; i < 3; ++i)
    if (grid[i] > kMost[i] / cluster[i])
      throw std::invalid_argument("kernel `" + kernel + "`: the grid has size " + std::to_string(grid[i]) +
                                  " in dimension " + std::to_string(i) + ", at most " +
                                  std::to_string(kMost[i] / cluster[i]) + " is possible");
}

}  // namespace tandem::runtime
