// The C ABI for GPUs: kernels that are compiled already. No exception leaves this file.
#include "abi/kernel_image_io.h"
#include "api/gpu_handles.h"
#include "api/guarded.h"
#include "api/required.h"
#include "api/text_out.h"
#include <fstream>
#include <sstream>

using namespace tandem;
using nlohmann::json;

const char* tandem::wordOf(abi::ParamType type) {
  static const char* const words[] = {"pointer", "i1", "i8", "i16", "i32", "i64", "fp16", "bf16", "fp32", "fp64"};
  static_assert(std::size(words) == size_t(abi::ParamType::F64) + 1);
  return words[size_t(type)];
}

namespace {

const abi::KernelImage& imageOf(td_gpu_kernel* kernel) { return required(kernel, "kernel").kernel.image(); }

void load(std::string_view bytes, const std::string& where, td_gpu_kernel** kernel) {
  std::string why;
  std::optional<abi::KernelImage> image = abi::readImage(bytes, why);
  if (!image) throw std::runtime_error(where + why);
  auto& place = required(kernel, "kernel");
  place = new td_gpu_kernel(std::make_shared<abi::KernelImage>(std::move(*image)));
}

}  // namespace

extern "C" {

int td_gpu_load(const void* image, uint64_t bytes, td_gpu_kernel** kernel) {
  return guarded([&] { load({&required(static_cast<const char*>(image), "image"), size_t(bytes)}, "", kernel); });
}
int td_gpu_load_file(const char* path, td_gpu_kernel** kernel) {
  return guarded([&] {
    std::ifstream in(&required(path, "path"), std::ios::binary);
    std::ostringstream bytes;
    if (!in || !(bytes << in.rdbuf())) throw std::runtime_error(std::string("cannot read `") + path + "`");
    load(bytes.view(), std::string("`") + path + "`: ", kernel);
  });
}
void td_gpu_kernel_release(td_gpu_kernel* kernel) { delete kernel; }

int td_gpu_kernel_info(td_gpu_kernel* kernel, char** out) {
  return guarded([&] {
    const abi::KernelImage& i = imageOf(kernel);
    json params = json::array(), remarks = json::array();
    for (abi::ParamType t : i.params) params.push_back(wordOf(t));
    for (const abi::Remark& r : i.remarks)
      remarks.push_back({{"kind", wordOf(r.kind)},
                         {"outcome", wordOf(r.outcome)},
                         {"stage", r.stage},
                         {"message", r.message},
                         {"help", r.help},
                         {"file", r.file},
                         {"line", r.line},
                         {"column", r.column},
                         {"text", r.text()}});
    required(out, "json") = copyOut(json{{"name", i.name},
                                         {"target", i.target},
                                         {"params", params},
                                         {"threads", i.threads},
                                         {"shared_bytes", i.sharedBytes},
                                         {"cluster", i.cluster},
                                         {"registers", i.registers},
                                         {"spill_bytes", i.spillBytes},
                                         {"tensor_maps", i.tensorMaps.size()},
                                         {"folds", i.folds},
                                         {"apart", i.apart},
                                         {"remarks", remarks}});
  });
}
int td_gpu_kernel_ptx(td_gpu_kernel* kernel, char** text) {
  return guarded([&] { required(text, "text") = copyOut(imageOf(kernel).ptx); });
}
int td_gpu_kernel_cubin(td_gpu_kernel* kernel, const void** bytes, uint64_t* count) {
  return guarded([&] {
    const std::string& cubin = imageOf(kernel).cubin;
    required(count, "count") = cubin.size();
    required(bytes, "bytes") = cubin.data();
  });
}
int td_gpu_kernel_image(td_gpu_kernel* kernel, char** bytes, uint64_t* count) {
  return guarded([&] {
    std::string image = abi::writeImage(imageOf(kernel));
    required(count, "count") = image.size();
    required(bytes, "bytes") = copyOut(image);
  });
}
int td_gpu_kernel_prepare(td_gpu_kernel* kernel, int device, int* registers, int* localBytes) {
  return guarded([&] {
    const auto& loaded = required(kernel, "kernel").kernel.on(device);
    if (registers) *registers = loaded.registers;
    if (localBytes) *localBytes = loaded.localBytes;
  });
}

int td_gpu_launch(td_gpu_kernel* kernel, int device, uint64_t stream, int gridX, int gridY, int gridZ,
                  const uint64_t* arguments, int count, int flags) {
  return guarded([&] {
    if (flags & ~(TD_GPU_COOPERATIVE | TD_GPU_DEPENDENT))
      throw std::invalid_argument("unknown launch flags " + std::to_string(flags));
    if (count < 0) throw std::invalid_argument("a negative count of arguments");
    if (count) required(arguments, "arguments");
    required(kernel, "kernel")
        .kernel.launch(device,
                       {.grid = {gridX, gridY, gridZ},
                        .stream = reinterpret_cast<runtime::cuda::Stream>(stream),
                        .cooperative = (flags & TD_GPU_COOPERATIVE) != 0,
                        .dependent = (flags & TD_GPU_DEPENDENT) != 0},
                       {arguments, size_t(count)});
  });
}

}  // extern "C"
