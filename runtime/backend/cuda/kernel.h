// A kernel image on the GPUs of this process: loaded into a context when first launched there, and launched.
#pragma once
#include "runtime/backend/cuda/context.h"
#include "runtime/backend/cuda/tensor_map.h"
#include "runtime/session.h"
#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace tandem::runtime::cuda {

// The image's code in one context.
struct LoadedKernel {
  Context context = nullptr;
  Function function = nullptr, roomy = nullptr;  // roomy: for launches of up to `roomyBlocks` blocks
  int64_t roomyBlocks = 0;
  int registers = 0, localBytes = 0;  // as the driver says
  LoadedKernel* next = nullptr;
};

struct LaunchShape {
  std::array<int, 3> grid{1, 1, 1};  // programs; a program of a cluster is the whole cluster
  Stream stream = nullptr;
  bool cooperative = false;  // all programs must be resident at once, or the launch fails
  bool dependent = false;    // may start before the stream's previous kernel ends (programmatic dependent launch)
  Address rankContext = 0;   // for images with `usesRanks`; 0: as context_registry.h finds it
};

// Thread-safe. Code stays loaded until the process ends: a captured graph may hold the function.
class Kernel final : public GpuKernel {
 public:
  // Throws when the image cannot be carried out.
  explicit Kernel(std::shared_ptr<const abi::KernelImage> image);
  ~Kernel() override;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const abi::KernelImage& image() const override { return *image_; }
  // Loads the code if needed. `device` -1: the current device. Throws OutOfResources when the device is too small.
  const LoadedKernel& on(int device);
  // One 64-bit word for each of the image's params. An empty grid launches nothing.
  void launch(int device, const LaunchShape& shape, Arguments arguments);

 private:
  const LoadedKernel& loaded(const OnDevice& scope);
  Address contextFor(const OnDevice& scope, const LaunchShape& shape) const;
  void pack(Arguments arguments, void** params, TensorMap* maps);
  void run(const OnDevice& scope, const LaunchShape& shape, void** params);

  std::shared_ptr<const abi::KernelImage> image_;
  std::unique_ptr<TensorMapCache[]> maps_;  // one a recipe
  std::atomic<LoadedKernel*> loaded_{nullptr};
  std::mutex loading_;
  bool callsNvshmem_ = false;  // it reaches peers through NVSHMEM's device library
};

}  // namespace tandem::runtime::cuda
