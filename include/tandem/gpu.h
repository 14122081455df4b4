// Kernels on NVIDIA GPUs from C++: devices, memory, streams, launches. Link libtandem, or libtandem_runtime when every
// kernel comes from a file. Every call throws Error with the reason when it fails.
#pragma once
#include "tandem/error.h"
#include "tandem/gpu_c_api.h"
#include "tandem/version.h"
#include <array>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tandem::gpu {

struct Device {
  int index = 0;
  std::string name;
  std::string target;  // the target of its kernels: "sm_90a"
  int major = 0, minor = 0;
  uint64_t memoryBytes = 0;
  int multiprocessors = 0;
  int maxSharedBytes = 0;  // of one program
};
// Empty when there is no GPU or no driver.
TANDEM_API std::vector<Device> devices();
TANDEM_API void synchronize(int device = -1);

// An ordered queue of work. The default one is 0, the device's default stream.
class TANDEM_API Stream {
 public:
  explicit Stream(int device = -1);
  Stream(Stream&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, 0)) {}
  ~Stream();
  uint64_t handle() const { return handle_; }
  void synchronize() const;

 private:
  int device_;
  uint64_t handle_ = 0;
};

// Device memory, freed at the end of its life.
class TANDEM_API Buffer {
 public:
  explicit Buffer(uint64_t bytes, int device = -1);
  Buffer(Buffer&& other) noexcept
      : device_(other.device_), address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}
  ~Buffer();
  uint64_t address() const { return address_; }
  uint64_t bytes() const { return bytes_; }
  void copyFrom(const void* host, uint64_t bytes, uint64_t stream = 0);
  void copyTo(void* host, uint64_t bytes, uint64_t stream = 0) const;  // also waits for the stream
  void fill(int byte, uint64_t stream = 0);

 private:
  int device_;
  uint64_t address_ = 0, bytes_;
};

// A launch's argument: an address or integer, or a number that becomes the parameter's float type.
class Word {
 public:
  template <class T>
    requires std::is_integral_v<T>
  Word(T value) : integer_(uint64_t(int64_t(value))) {}
  template <class T>
    requires std::is_floating_point_v<T>
  Word(T value) : number_(double(value)), isNumber_(true) {}
  Word(const void* address) : integer_(reinterpret_cast<uintptr_t>(address)) {}
  Word(const Buffer& buffer) : integer_(buffer.address()) {}

  bool isNumber() const { return isNumber_; }
  uint64_t integer() const { return integer_; }
  double number() const { return number_; }

 private:
  uint64_t integer_ = 0;
  double number_ = 0;
  bool isNumber_ = false;
};

struct LaunchConfig {
  std::array<int, 3> grid{1, 1, 1};  // programs
  uint64_t stream = 0;
  int device = -1;
  bool cooperative = false, dependent = false;
};

// A compiled kernel. Cheap to copy; thread-safe.
class TANDEM_API Kernel {
 public:
  static Kernel fromFile(const std::string& path);  // NAME.tdimage
  static Kernel fromImage(std::string_view bytes);
  static Kernel compile(const std::string& request);  // libtandem only; docs/guide/compile_request.md

  const std::string& name() const;
  const std::string& ptx() const;
  int threads() const;
  int sharedBytes() const;
  size_t argumentCount() const;

  template <class... Arguments> void launch(const LaunchConfig& config, const Arguments&... arguments) const {
    const Word words[sizeof...(Arguments) + 1] = {Word(arguments)..., Word(0)};
    launchWords(config, words, sizeof...(Arguments));
  }
  void launchWords(const LaunchConfig& config, const Word* words, size_t count) const;

  td_gpu_kernel* handle() const { return handle_.get(); }
  explicit Kernel(td_gpu_kernel* handle) : handle_(handle, td_gpu_kernel_release) {}  // takes it over

 private:
  std::shared_ptr<td_gpu_kernel> handle_;
};

}  // namespace tandem::gpu
