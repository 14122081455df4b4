// The library's C functions and the two structures that its start takes, as its version 3 has them.
#include "runtime/backend/cuda/nvshmem.h"
#include "base/nvshmem_install.h"
#include "runtime/backend/cuda/capture.h"
#include <cstring>
#include <dlfcn.h>

namespace tandem::runtime::cuda {
namespace {

constexpr int versionOf(size_t bytes) { return (1 << 16) + int(bytes); }

struct UniqueId {
  int version = versionOf(128);
  char bytes[124] = {};
};
static_assert(sizeof(UniqueId) == 128);

struct UniqueIdArguments {
  int version = versionOf(24);
  UniqueId* id = nullptr;
  int rank = -1, rankCount = -1;
};
struct StartArguments {
  int version = versionOf(128);
  UniqueIdArguments uniqueId;
  char reserved[96] = {};
};
struct StartAttributes {
  int version = versionOf(144);
  void* mpi = nullptr;
  StartArguments arguments;
};
static_assert(sizeof(UniqueIdArguments) == 24 && sizeof(StartArguments) == 128 && sizeof(StartAttributes) == 144);

constexpr unsigned kWithUniqueId = 1 << 3;
constexpr size_t kAlignment = 512;
constexpr const char* kState = "nvshmemi_device_state_d";  // in modules whose kernels call NVSHMEM

std::string failed(const char* call, int status) {
  return std::string("NVSHMEM: `") + call + "` failed with status " + std::to_string(status) +
         "; NVSHMEM_DEBUG=INFO says more";
}

}  // namespace

#define TANDEM_NVSHMEM_FUNCTIONS(F)                                                                   \
  F(getUniqueId, nvshmemx_get_uniqueid, int, (UniqueId*))                                             \
  F(setUniqueId, nvshmemx_set_attr_uniqueid_args, int, (int, int, const UniqueId*, StartAttributes*)) \
  F(start, nvshmemx_hostlib_init_attr, int, (unsigned, StartAttributes*))                             \
  F(end, nvshmemx_hostlib_finalize, void, ())                                                         \
  F(align, nvshmem_align, void*, (size_t, size_t))                                                    \
  F(pointer, nvshmem_ptr, void*, (const void*, int))                                                  \
  F(moduleInit, nvshmemx_cumodule_init, int, (Module))                                                \
  F(moduleFinalize, nvshmemx_cumodule_finalize, int, (Module))                                        \
  F(version, nvshmemx_vendor_get_version_info, void, (int*, int*, int*))

struct Nvshmem::Functions {
#define TANDEM_MEMBER(member, symbol, result, parameters) result(*member) parameters = nullptr;
  TANDEM_NVSHMEM_FUNCTIONS(TANDEM_MEMBER)
#undef TANDEM_MEMBER
};

Nvshmem::Nvshmem() {
  std::vector<std::string> searched;
  std::optional<NvshmemInstall> install = findNvshmem(searched);
  if (!install)
    throw Unavailable("this run needs NVSHMEM: install `nvidia-nvshmem-cu13` or set TANDEM_NVSHMEM; " +
                      searchedForNvshmem(searched));
  void* library = dlopen(install->host.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Unavailable(std::string("NVSHMEM cannot be opened: ") + dlerror());
  auto* functions = new Functions;
#define TANDEM_RESOLVE(member, symbol, result, parameters)                             \
  functions->member = reinterpret_cast<result(*) parameters>(dlsym(library, #symbol)); \
  if (!functions->member)                                                              \
    throw Unavailable("NVSHMEM `" + install->host + "` has no `" #symbol "`: it is of another version");
  TANDEM_NVSHMEM_FUNCTIONS(TANDEM_RESOLVE)
#undef TANDEM_RESOLVE
  call_ = functions;
}

Nvshmem& nvshmem() {
  static Nvshmem* one = new Nvshmem;  // its library outlives everybody
  return *one;
}

std::string Nvshmem::uniqueId() const {
  UniqueId id;
  if (int status = call_->getUniqueId(&id)) throw std::runtime_error(failed("nvshmemx_get_uniqueid", status));
  return std::string(reinterpret_cast<const char*>(&id), sizeof id);
}

void Nvshmem::start(int rank, int rankCount, const std::string& uniqueId) {
  if (state_ != State::Idle)
    throw std::runtime_error("NVSHMEM starts once in a process, and this one has had a run through it");
  UniqueId id;
  if (uniqueId.size() != sizeof id)
    throw std::runtime_error("NVSHMEM: the unique id has " + std::to_string(uniqueId.size()) + " bytes");
  std::memcpy(&id, uniqueId.data(), sizeof id);
  StartAttributes attributes;
  if (int status = call_->setUniqueId(rank, rankCount, &id, &attributes))
    throw std::runtime_error(failed("nvshmemx_set_attr_uniqueid_args", status));
  state_ = State::Over;  // unless it starts
  if (int status = call_->start(kWithUniqueId, &attributes))
    throw std::runtime_error(failed("nvshmemx_hostlib_init_attr", status));
  state_ = State::Runs;
}

void Nvshmem::end() {
  std::lock_guard lock(mutex_);
  for (Module module : modules_) call_->moduleFinalize(module);
  modules_.clear();
  call_->end();
  state_ = State::Over;
}

std::string Nvshmem::version() const {
  int number[3] = {};
  call_->version(&number[0], &number[1], &number[2]);
  return std::to_string(number[0]) + "." + std::to_string(number[1]) + "." + std::to_string(number[2]);
}

Address Nvshmem::allocate(uint64_t bytes) const { return reinterpret_cast<Address>(call_->align(kAlignment, bytes)); }

Address Nvshmem::onPeer(Address address, int peer) const {
  return reinterpret_cast<Address>(call_->pointer(reinterpret_cast<const void*>(address), peer));
}

void Nvshmem::prepare(Module module) {
  Address state = 0;
  size_t bytes = 0;
  if (needed(driver().moduleGetGlobal, "cuModuleGetGlobal_v2")(&state, &bytes, module, kState) != kSuccess) return;
  if (!runs()) throw std::runtime_error("a kernel for NVSHMEM was loaded outside a run through NVSHMEM");
  BesideCapture beside;
  std::lock_guard lock(mutex_);
  if (int status = call_->moduleInit(module)) throw std::runtime_error(failed("nvshmemx_cumodule_init", status));
  modules_.push_back(module);
}

}  // namespace tandem::runtime::cuda
