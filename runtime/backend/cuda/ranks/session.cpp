// NVIDIA's GPUs as a platform: ranks reach each other by mapped memory or through NVSHMEM.
#include "runtime/backend/cuda/ranks/session.h"
#include "runtime/backend/cuda/capture.h"
#include "runtime/backend/cuda/context_registry.h"
#include "runtime/backend/cuda/device.h"
#include "runtime/backend/cuda/ranks/mapped_heap.h"
#include "runtime/backend/cuda/ranks/nvshmem_heap.h"
#include "runtime/backend/cuda/ranks/rank_device.h"
#include "runtime/backend/cuda/ranks/transport.h"

namespace tandem::runtime::cuda {
namespace {

constexpr const char* kNvshmemSuffix = "+nvshmem";

class MappedFabric final : public ranks::Fabric {
 public:
  MappedFabric(ranks::Rendezvous& ranks, ranks::Device& device, const ranks::RankPlace& place)
      : device_(place.device), heap_(ranks, device, place, ranks::allOf(place)) {}
  ranks::SymmetricHeap& heap() override { return heap_; }
  std::unique_ptr<ranks::SymmetricHeap> heapOf(ranks::Rendezvous& ranks, ranks::Device& device,
                                               const ranks::RankPlace& place,
                                               const std::vector<int>& members) override {
    return std::make_unique<MappedHeap>(ranks, device, place, members);
  }
  std::string targetSuffix() const override { return ""; }
  std::shared_ptr<void> publish(Address context) override {
    return std::make_shared<RegisteredContext>(device_, context);
  }
  void end() override {}

 private:
  int device_;
  MappedHeap heap_;
};

class NvshmemFabric final : public ranks::Fabric {
 public:
  NvshmemFabric(ranks::Rendezvous& ranks, ranks::Device& device, const ranks::RankPlace& place)
      : device_(place.device), world_(ranks, place), heap_(ranks, ranks::allOf(place), place.rank, device) {}
  ranks::SymmetricHeap& heap() override { return heap_; }
  std::unique_ptr<ranks::SymmetricHeap> heapOf(ranks::Rendezvous&, ranks::Device&, const ranks::RankPlace&,
                                               const std::vector<int>&) override {
    throw std::runtime_error(
        "NVSHMEM makes memory for all ranks together: a team of some ranks has none of its own in a "
        "run through it, only in one with the transport `nvlink`");
  }
  std::string targetSuffix() const override { return kNvshmemSuffix; }
  std::shared_ptr<void> publish(Address context) override {
    return std::make_shared<RegisteredContext>(device_, context, true);
  }
  void end() override {
    OnDevice scope(device_);
    world_.end();
  }

 private:
  int device_;
  NvshmemWorld world_;
  NvshmemHeap heap_;
};

class Gpus final : public ranks::Platform {
 public:
  explicit Gpus(Transport wish) : wish_(wish) {}

  int deviceCount() const override {
    if (int count = cuda::deviceCount()) return count;
    throw Unavailable("no NVIDIA GPU: the driver knows no device");
  }
  ranks::DeviceFacts facts(int device) const override {
    checkDevice(device);
    const DeviceProperties& p = propertiesOf(device);
    return {p.name, p.target, p.multiprocessors};
  }
  std::string expectedSuffix() const override { return wish_ == Transport::Nvshmem ? kNvshmemSuffix : ""; }
  std::unique_ptr<ranks::Device> open(int device) const override {
    BesideCapture beside;
    return std::make_unique<RankDevice>(device);
  }
  std::unique_ptr<ranks::Fabric> connect(ranks::Rendezvous& ranks, ranks::Device& device,
                                         const ranks::RankPlace& place) const override {
    OnDevice scope(place.device);
    if (agreeOnNvshmem(ranks, wish_, place)) return std::make_unique<NvshmemFabric>(ranks, device, place);
    return std::make_unique<MappedFabric>(ranks, device, place);
  }

 private:
  Transport wish_;
};

}  // namespace

std::unique_ptr<runtime::Session> makeSession(const RanksOptions& options) {
  return ranks::makeSession(options, std::make_shared<Gpus>(options.transport));
}

}  // namespace tandem::runtime::cuda
