// The one part of the GPU interface that needs the compiler. No exception of the C function leaves this file.
#include "api/gpu_handles.h"
#include "api/guarded.h"
#include "api/required.h"
#include "compiler/driver/image_cache.h"
#include "tandem/gpu.h"

int td_gpu_compile(const char* request, td_gpu_kernel** kernel) {
  using namespace tandem;
  return guarded([&] {
    compiler::CompiledImage compiled = compiler::compileCached(&required(request, "request"));
    if (!compiled.image) throw std::runtime_error(compiled.error);
    auto& place = required(kernel, "kernel");
    place = new td_gpu_kernel(std::move(compiled.image));
  });
}

namespace tandem::gpu {

Kernel Kernel::compile(const std::string& request) {
  td_gpu_kernel* compiled = nullptr;
  if (td_gpu_compile(request.c_str(), &compiled)) throw Error(td_last_error());
  return Kernel(compiled);
}

}  // namespace tandem::gpu
