// The C++ classes over the C ABI; a launch goes straight to the runtime.
#include "tandem/gpu.h"
#include "api/gpu_handles.h"
#include "runtime/backend/cuda/device.h"
#include <bit>
#include <cmath>

namespace tandem::gpu {
namespace {

void check(int status) {
  if (status) throw Error(td_last_error());
}

// Rounds to nearest even by the double's own bits: `mantissa` and `exponent` bits of the small format.
uint64_t narrow(double value, int exponentBits, int mantissaBits) {
  uint64_t sign = std::signbit(value) ? uint64_t(1) << (exponentBits + mantissaBits) : 0;
  uint64_t infinity = ((uint64_t(1) << exponentBits) - 1) << mantissaBits;
  if (std::isnan(value)) return sign | infinity | uint64_t(1) << (mantissaBits - 1);
  double magnitude = std::fabs(value);
  int bias = (1 << (exponentBits - 1)) - 1;
  if (magnitude >= std::ldexp(2 - std::ldexp(1, -mantissaBits - 1), bias)) return sign | infinity;
  int exponent = magnitude == 0 ? 1 - bias : std::max(std::ilogb(magnitude), 1 - bias);
  auto steps = uint64_t(std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent)));
  return sign | (steps + (uint64_t(exponent + bias - 1) << mantissaBits));  // a carry moves on into the exponent
}

// Returns true if the value fits the type, read as signed or as unsigned.
bool fits(int64_t value, abi::ParamType type) {
  int bits = type == abi::ParamType::I1 ? 1 : type == abi::ParamType::I8 ? 8 : type == abi::ParamType::I16 ? 16 : 32;
  bool isWide = type == abi::ParamType::I64 || type == abi::ParamType::Pointer;
  return isWide || (value >= -(int64_t(1) << (bits - 1)) && value < int64_t(1) << bits);
}

uint64_t bitsOf(abi::ParamType type, const Word& word) {
  double number = word.isNumber() ? word.number() : double(int64_t(word.integer()));
  switch (type) {
    case abi::ParamType::F16: return narrow(number, 5, 10);
    case abi::ParamType::BF16: return narrow(number, 8, 7);
    case abi::ParamType::F32: return std::bit_cast<uint32_t>(float(number));
    case abi::ParamType::F64: return std::bit_cast<uint64_t>(number);
    default:
      if (word.isNumber()) throw Error("a kernel's integer or pointer is given the number " + std::to_string(number));
      if (!fits(int64_t(word.integer()), type))
        throw Error("a kernel's " + std::string(wordOf(type)) + " is given " + std::to_string(int64_t(word.integer())));
      return word.integer();
  }
}

}  // namespace

std::vector<Device> devices() {
  std::vector<Device> all;
  try {
    for (int i = 0; i < runtime::cuda::deviceCount(); ++i) {
      const runtime::cuda::DeviceProperties& p = runtime::cuda::propertiesOf(i);
      all.push_back({i, p.name, p.target, p.major, p.minor, p.memoryBytes, p.multiprocessors, p.maxSharedBytes});
    }
  } catch (const runtime::cuda::Unavailable&) {
    return {};
  } catch (const std::exception& e) {
    throw Error(e.what());
  }
  return all;
}

void synchronize(int device) { check(td_gpu_synchronize(device)); }

Stream::Stream(int device) : device_(device) { check(td_gpu_stream_create(device, &handle_)); }
Stream::~Stream() {
  if (handle_) td_gpu_stream_destroy(device_, handle_);
}
void Stream::synchronize() const { check(td_gpu_stream_synchronize(device_, handle_)); }

Buffer::Buffer(uint64_t bytes, int device) : device_(device), bytes_(bytes) {
  check(td_gpu_malloc(device, bytes, &address_));
}
Buffer::~Buffer() { td_gpu_free(device_, address_); }
void Buffer::copyFrom(const void* host, uint64_t bytes, uint64_t stream) {
  if (bytes > bytes_)
    throw Error("copy of " + std::to_string(bytes) + " bytes into a buffer of " + std::to_string(bytes_));
  check(td_gpu_copy_from_host(device_, stream, address_, host, bytes));
}
void Buffer::copyTo(void* host, uint64_t bytes, uint64_t stream) const {
  if (bytes > bytes_)
    throw Error("copy of " + std::to_string(bytes) + " bytes out of a buffer of " + std::to_string(bytes_));
  check(td_gpu_copy_to_host(device_, stream, host, address_, bytes));
  check(td_gpu_stream_synchronize(device_, stream));
}
void Buffer::fill(int byte, uint64_t stream) { check(td_gpu_memset(device_, stream, address_, byte, bytes_)); }

Kernel Kernel::fromFile(const std::string& path) {
  td_gpu_kernel* kernel = nullptr;
  check(td_gpu_load_file(path.c_str(), &kernel));
  return Kernel(kernel);
}
Kernel Kernel::fromImage(std::string_view bytes) {
  td_gpu_kernel* kernel = nullptr;
  check(td_gpu_load(bytes.data(), bytes.size(), &kernel));
  return Kernel(kernel);
}

const std::string& Kernel::name() const { return handle_->kernel.image().name; }
const std::string& Kernel::ptx() const { return handle_->kernel.image().ptx; }
int Kernel::threads() const { return handle_->kernel.image().threads; }
int Kernel::sharedBytes() const { return handle_->kernel.image().sharedBytes; }
size_t Kernel::argumentCount() const { return handle_->kernel.image().params.size(); }

void Kernel::launchWords(const LaunchConfig& config, const Word* words, size_t count) const {
  constexpr size_t stackWords = 64;
  const std::vector<abi::ParamType>& types = handle_->kernel.image().params;
  if (count != types.size())
    throw Error("kernel `" + name() + "` takes " + std::to_string(types.size()) + " arguments, " +
                std::to_string(count) + " given");
  uint64_t place[stackWords];
  std::vector<uint64_t> many(count > stackWords ? count : 0);
  uint64_t* bits = count > stackWords ? many.data() : place;
  for (size_t i = 0; i < count; ++i) bits[i] = bitsOf(types[i], words[i]);
  int flags = (config.cooperative ? TD_GPU_COOPERATIVE : 0) | (config.dependent ? TD_GPU_DEPENDENT : 0);
  const auto& [x, y, z] = config.grid;
  check(td_gpu_launch(handle_.get(), config.device, config.stream, x, y, z, bits, int(count), flags));
}

}  // namespace tandem::gpu
