// `tandem doctor` asks here for the features of the machine's GPUs that ranks need. Each question is asked on its own,
// and an error is an answer too. No exception leaves this file.
#include "api/guarded.h"
#include "api/required.h"
#include "api/text_out.h"
#include "runtime/backend/cuda/device.h"
#include "tandem/gpu_c_api.h"
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

using namespace tandem;
using nlohmann::json;
namespace cuda = runtime::cuda;

namespace {

// The numbers by which the driver names these device attributes.
constexpr int kVirtualMemory = 102, kPosixDescriptors = 103, kMulticast = 132, kStreamWaitNor = 123;
constexpr int kAccess = 2, kAtomics = 3, kPerformanceRank = 1;

// This is CUmemAllocationProp for a pinned allocation on a device that can be exported as a file descriptor.
struct Allocation {
  int type = 1, handle = 1, locationType = 1, device = 0;
  void* attributes = nullptr;
  uint64_t flags = 0;
};
static_assert(sizeof(Allocation) == 32);

// The driver's library again, for functions that an old one may lack.
class Library {
 public:
  Library() {
    const char* named = std::getenv("TANDEM_CUDA_DRIVER");
    handle_ = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  }
  ~Library() {
    if (handle_) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class... P, class... A>
  void call(const char* symbol, int (*)(P...), A... arguments) const {
    auto function = reinterpret_cast<int (*)(P...)>(handle_ ? dlsym(handle_, symbol) : nullptr);
    if (!function) throw std::runtime_error(std::string("the driver has no `") + symbol + "`");
    cuda::check(function(arguments...), symbol);
  }

 private:
  void* handle_ = nullptr;
};

// The function types; there is nothing behind the names.
using GetInt = int (*)(int*, int, int);
using GetPair = int (*)(int*, int, int, int);
using GetText = int (*)(char*, int, int);
using Granularity = int (*)(size_t*, const void*, int);
using Create = int (*)(uint64_t*, size_t, const void*, unsigned long long);
using Export = int (*)(void*, uint64_t, int, unsigned long long);
using Release = int (*)(uint64_t);

template <class Body>
json answer(Body&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    return {{"error", e.what()}};
  }
}

json attribute(const Library& library, int number, int device) {
  return answer([&]() -> json {
    int value = 0;
    library.call("cuDeviceGetAttribute", GetInt(), &value, number, device);
    return value != 0;
  });
}

json pairAttribute(const Library& library, int number, int from, int to) {
  return answer([&]() -> json {
    int value = 0;
    library.call("cuDeviceGetP2PAttribute", GetPair(), &value, number, from, to);
    return value;
  });
}

json granularity(const Library& library, int device) {
  return answer([&]() -> json {
    Allocation what{.device = device};
    size_t bytes = 0;
    library.call("cuMemGetAllocationGranularity", Granularity(), &bytes, static_cast<const void*>(&what), 0);
    return bytes;
  });
}

// Makes one allocation, exports it and gives both back.
json exportsDescriptors(const Library& library, int device, const json& bytes) {
  return answer([&]() -> json {
    if (!bytes.is_number()) throw std::runtime_error("the granularity is not known");
    Allocation what{.device = device};
    uint64_t handle = 0;
    library.call("cuMemCreate", Create(), &handle, bytes.get<size_t>(), static_cast<const void*>(&what), 0ULL);
    int descriptor = -1;
    json result = answer([&]() -> json {
      library.call("cuMemExportToShareableHandle", Export(), static_cast<void*>(&descriptor), handle, 1, 0ULL);
      return true;
    });
    if (descriptor >= 0) close(descriptor);
    library.call("cuMemRelease", Release(), handle);
    return result;
  });
}

json describeDevice(const Library& library, int device) {
  json out = answer([&]() -> json {
    const cuda::DeviceProperties& p = cuda::propertiesOf(device);
    return {{"name", p.name},
            {"target", p.target},
            {"memory_bytes", p.memoryBytes},
            {"multiprocessors", p.multiprocessors}};
  });
  out["index"] = device;
  out["pci"] = answer([&]() -> json {
    char text[32] = "";
    library.call("cuDeviceGetPCIBusId", GetText(), text, int(sizeof text), device);
    return text;
  });
  out["virtual_memory"] = attribute(library, kVirtualMemory, device);
  out["posix_descriptors"] = attribute(library, kPosixDescriptors, device);
  out["multicast"] = attribute(library, kMulticast, device);
  out["stream_wait_nor"] = attribute(library, kStreamWaitNor, device);
  out["granularity"] = granularity(library, device);
  out["exports_descriptors"] = exportsDescriptors(library, device, out["granularity"]);
  return out;
}

json describePeers(const Library& library, int count) {
  json rows = json::array();
  for (int from = 0; from < count; ++from) {
    json row = json::array();
    for (int to = 0; to < count; ++to)
      row.push_back(from == to ? json(nullptr)
                               : json{{"access", pairAttribute(library, kAccess, from, to)},
                                      {"atomics", pairAttribute(library, kAtomics, from, to)},
                                      {"performance_rank", pairAttribute(library, kPerformanceRank, from, to)}});
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

int td_gpu_probe(char** out) {
  return guarded([&] {
    char*& place = required(out, "json");
    json found = answer([&]() -> json {
      int version = 0;
      cuda::check(cuda::driver().driverGetVersion(&version), "cuDriverGetVersion");
      Library library;
      int count = cuda::deviceCount();
      json devices = json::array();
      for (int device = 0; device < count; ++device) devices.push_back(describeDevice(library, device));
      return {{"driver", std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)},
              {"devices", devices},
              {"peers", describePeers(library, count)}};
    });
    place = copyOut(found);
  });
}
