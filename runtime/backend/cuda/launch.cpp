// The way of a launch: arguments, tensor maps, attributes, one driver call. It allocates nothing for kernels of usual
// size.
#include "runtime/backend/cuda/context_registry.h"
#include "runtime/backend/cuda/kernel.h"
#include "runtime/grid.h"

namespace tandem::runtime::cuda {
namespace {

constexpr size_t kStackParams = 64, kStackMaps = 8;

// The attributes a launch has, in place.
struct Attributes {
  LaunchAttribute list[3];
  unsigned count = 0;

  LaunchAttribute& add(LaunchAttribute::Id id) {
    LaunchAttribute& a = list[count++];
    a = {};
    a.id = id;
    return a;
  }
};

}  // namespace

// A parameter is read through its address with its own size: the low bytes of its word.
void Kernel::pack(Arguments arguments, void** params, TensorMap* maps) {
  const abi::KernelImage& image = *image_;
  for (size_t i = 0; i < arguments.size(); ++i) params[i] = const_cast<uint64_t*>(&arguments[i]);
  for (size_t i = 0; i < image.tensorMaps.size(); ++i) {
    const abi::TensorMapRecipe& recipe = image.tensorMaps[i];
    TensorMapValues values = evaluate(recipe, image.params, arguments);
    if (!maps_[i].find(values, maps[i])) {
      maps[i] = encode(recipe, values, "tensor map " + std::to_string(i) + " of kernel `" + image.name + "`");
      maps_[i].keep(values, maps[i]);
    }
    params[arguments.size() + i] = &maps[i];
  }
}

void Kernel::run(const OnDevice& scope, const LaunchShape& shape, void** params) {
  const std::array<int, 3>& cluster = image_->cluster;
  Attributes attributes;
  if (cluster[0] * cluster[1] * cluster[2] > 1) {
    LaunchAttribute& a = attributes.add(LaunchAttribute::ClusterDimension);
    for (size_t i = 0; i < 3; ++i) a.size[i] = unsigned(cluster[i]);
  }
  if (shape.cooperative || image_->usesGridBarrier) attributes.add(LaunchAttribute::Cooperative).flag = 1;
  if (shape.dependent) attributes.add(LaunchAttribute::ProgrammaticStreamSerialization).flag = 1;
  DriverLaunch launch{};
  int64_t blocks = 1;
  for (size_t i = 0; i < 3; ++i) blocks *= launch.grid[i] = unsigned(shape.grid[i]) * unsigned(cluster[i]);
  launch.block[0] = unsigned(image_->threads);
  launch.block[1] = launch.block[2] = 1;
  launch.sharedBytes = unsigned(image_->sharedBytes);
  launch.stream = shape.stream;
  launch.attributes = attributes.list;
  launch.attributeCount = attributes.count;
  const LoadedKernel& kernel = loaded(scope);
  Function function = blocks <= kernel.roomyBlocks ? kernel.roomy : kernel.function;
  check(driver().launchKernelEx(&launch, function, params, nullptr), "cuLaunchKernelEx");
}

// Code for the other way to reach peers would read another meaning into the context.
Address Kernel::contextFor(const OnDevice& scope, const LaunchShape& shape) const {
  Address context = shape.rankContext ? shape.rankContext : rankContextOn(scope.device());
  if ((context == nvshmemContext()) != callsNvshmem_)
    throw std::invalid_argument("kernel `" + image_->name + "` is compiled for `" + image_->target +
                                "`, but its rank's run goes " + (callsNvshmem_ ? "without" : "through") + " NVSHMEM");
  return context;
}

void Kernel::launch(int device, const LaunchShape& shape, Arguments arguments) {
  const abi::KernelImage& image = *image_;
  if (arguments.size() != image.params.size())
    throw std::invalid_argument("kernel `" + image.name + "` takes " + std::to_string(image.params.size()) +
                                " arguments, " + std::to_string(arguments.size()) + " given");
  checkGrid(image.name, shape.grid, image.cluster);
  if (!shape.grid[0] || !shape.grid[1] || !shape.grid[2]) return;
  OnDevice scope(device);
  size_t mapCount = image.tensorMaps.size(), paramCount = image.params.size() + mapCount + image.usesRanks;
  Address rankContext = image.usesRanks ? contextFor(scope, shape) : 0;
  if (paramCount <= kStackParams && mapCount <= kStackMaps) {
    void* params[kStackParams];
    TensorMap maps[kStackMaps];
    pack(arguments, params, maps);
    if (image.usesRanks) params[paramCount - 1] = &rankContext;
    run(scope, shape, params);
    return;
  }
  std::vector<void*> params(paramCount);
  std::vector<TensorMap> maps(mapCount);
  pack(arguments, params.data(), maps.data());
  if (image.usesRanks) params.back() = &rankContext;
  run(scope, shape, params.data());
}

}  // namespace tandem::runtime::cuda
