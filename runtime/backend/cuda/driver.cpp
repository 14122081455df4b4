// Opens the driver's library and reads its functions' addresses.
#include "runtime/backend/cuda/driver.h"
#include <cstdlib>
#include <dlfcn.h>

namespace tandem::runtime::cuda {
namespace {

template <class F>
void resolve(void* library, const char* symbol, const char* file, F& place) {
  place = reinterpret_cast<F>(dlsym(library, symbol));
  if (!place) throw Unavailable(std::string("the CUDA driver `") + file + "` is too old: it has no `" + symbol + "`");
}

std::string describe(const Driver& d, Result result) {
  const char *name = nullptr, *text = nullptr;
  if (d.getErrorName(result, &name) || !name) return "error " + std::to_string(result);
  if (d.getErrorString(result, &text) || !text) return name;
  return std::string(text) + " (" + name + ")";
}

Driver open() {
  const char* named = std::getenv("TANDEM_CUDA_DRIVER");
  const char* file = named && *named ? named : "libcuda.so.1";
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Unavailable(std::string("no NVIDIA GPU: the CUDA driver cannot be opened: ") + dlerror());
  Driver d;
#define TANDEM_RESOLVE(member, symbol, parameters) resolve(library, #symbol, file, d.member);
  TANDEM_CUDA_FUNCTIONS(TANDEM_RESOLVE)
#undef TANDEM_RESOLVE
#define TANDEM_RESOLVE(member, symbol, parameters) \
  d.member = reinterpret_cast<Result(*) parameters>(dlsym(library, #symbol));
  TANDEM_CUDA_RANK_FUNCTIONS(TANDEM_RESOLVE)
#undef TANDEM_RESOLVE
  if (Result r = d.init(0)) throw Unavailable("no NVIDIA GPU: `cuInit` failed: " + describe(d, r));
  return d;
}

}  // namespace

const Driver& driver() {
  static const Driver opened = open();
  return opened;
}

void fail(Result result, const char* call) {
  throw DriverError(std::string("`") + call + "` failed: " + describe(driver(), result), result);
}

void fail(Result result, const char* call, const std::string& doing) {
  throw DriverError(doing + ": `" + call + "` failed: " + describe(driver(), result), result);
}

}  // namespace tandem::runtime::cuda
