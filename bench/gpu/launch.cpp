// Times a launch by a program that has the runtime library alone, and a bare one by the driver, in turns: `launch
// BUNDLE_FOLDER` prints {"tandem": microseconds a launch, "driver": the same of cuLaunchKernel}.
#include "tandem/gpu.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <stdexcept>
#include <vector>

namespace {

constexpr int kLaunches = 500, kRounds = 21;

// A kernel of as many parameters that does nothing, through the driver's own functions.
class Bare {
 public:
  Bare() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    auto load = reinterpret_cast<int (*)(void**, const void*)>(dlsym(driver, "cuModuleLoadData"));
    auto find = reinterpret_cast<int (*)(void**, void*, const char*)>(dlsym(driver, "cuModuleGetFunction"));
    launch_ = reinterpret_cast<decltype(launch_)>(dlsym(driver, "cuLaunchKernel"));
    void* module = nullptr;
    const char* text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing(.param .u64 x, .param .u64 y, .param .u64 out, "
        ".param .u32 n) { ret; }\n";
    if (load(&module, text) || find(&function_, module, "nothing"))
      throw std::runtime_error("the driver refuses the empty kernel");
  }
  void operator()(uint64_t stream, uint64_t x, uint64_t y, uint64_t out, int n) const {
    void* params[] = {&x, &y, &out, &n};
    if (launch_(function_, 1, 1, 1, 128, 1, 1, 0, reinterpret_cast<void*>(stream), params, nullptr))
      throw std::runtime_error("the driver does not launch the empty kernel");
  }

 private:
  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                 void**) = nullptr;
  void* function_ = nullptr;
};

template <class Launch> double microseconds(const Launch& launch) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) launch();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kLaunches;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: %s BUNDLE_FOLDER\n", argv[0]), 2;
  auto add = tandem::gpu::Kernel::fromFile(std::string(argv[1]) + "/add_kernel.tdimage");
  tandem::gpu::Buffer x(4096), y(4096), out(4096);
  tandem::gpu::Stream stream;
  Bare bare;
  std::vector<double> ours, theirs;
  for (int r = 0; r < kRounds; ++r) {
    ours.push_back(microseconds([&] { add.launch({.grid = {1, 1, 1}, .stream = stream.handle()}, x, y, out, 1024); }));
    stream.synchronize();
    theirs.push_back(microseconds([&] { bare(stream.handle(), x.address(), y.address(), out.address(), 1024); }));
    stream.synchronize();
  }
  std::printf("{\"tandem\": %.3f, \"driver\": %.3f}\n", median(ours), median(theirs));
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
