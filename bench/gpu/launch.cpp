// Times a launch by a program that has the runtime library alone: `launch BUNDLE_FOLDER` prints microseconds a launch.
#include "tandem/gpu.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: %s BUNDLE_FOLDER\n", argv[0]), 2;
  auto add = tandem::gpu::Kernel::fromFile(std::string(argv[1]) + "/add_kernel.tdimage");
  tandem::gpu::Buffer x(4096), y(4096), out(4096);
  tandem::gpu::Stream stream;
  constexpr int kLaunches = 500, kRounds = 21;
  std::vector<double> rounds;
  for (int r = 0; r < kRounds; ++r) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) add.launch({.grid = {1, 1, 1}, .stream = stream.handle()}, x, y, out, 1024);
    rounds.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
                     kLaunches);
    stream.synchronize();
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  std::printf("%.3f\n", rounds[kRounds / 2]);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
