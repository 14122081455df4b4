// A kernel compiled ahead of time, launched by a program without a compiler: it links libtandem_runtime alone.
// Arguments: the folder that `tandemc --emit=bundle` filled. Exit code 77: there is no GPU.
#include "tandem/gpu.h"
#include <cstdio>
#include <vector>

namespace {

constexpr int kCount = 10000, kBlock = 1024;

void run(const std::string& folder) {
  namespace gpu = tandem::gpu;
  gpu::Kernel kernel = gpu::Kernel::fromFile(folder + "/add_kernel.tdimage");
  std::vector<float> x(kCount), y(kCount), sum(kCount);
  for (int i = 0; i < kCount; ++i) {
    x[i] = float(i);
    y[i] = float(2 * i);
  }
  const uint64_t bytes = kCount * sizeof(float);
  gpu::Stream stream;
  gpu::Buffer a(bytes), b(bytes), c(bytes);
  a.copyFrom(x.data(), bytes, stream.handle());
  b.copyFrom(y.data(), bytes, stream.handle());

  kernel.launch({.grid = {(kCount + kBlock - 1) / kBlock, 1, 1}, .stream = stream.handle()}, a, b, c, kCount);
  c.copyTo(sum.data(), bytes, stream.handle());
  for (int i = 0; i < kCount; ++i)
    if (sum[i] != float(3 * i)) throw tandem::Error("element " + std::to_string(i) + " is " + std::to_string(sum[i]));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
  try {
    if (tandem::gpu::devices().empty()) {
      std::printf("skipped: there is no GPU\n");
      return 77;
    }
    run(argv[1]);
    std::printf("the bundle's kernel added %d numbers\n", kCount);
  } catch (const tandem::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
