// Kernels: source text in Triton syntax, compiled when first launched with given argument types.
#pragma once
#include "tandem/error.h"
#include "tandem/tensor.h"
#include <bit>
#include <concepts>
#include <initializer_list>
#include <map>
#include <memory>
#include <utility>
#include <variant>

namespace tandem {

// A compile-time constant of a kernel.
using Constant = std::variant<bool, int64_t, double, std::string, DType>;

// The constants of a launch, each name once.
class TANDEM_API Constants {
 public:
  using Entry = std::pair<std::string, Constant>;
  Constants() = default;
  // The first value counts where a name comes twice.
  Constants(std::initializer_list<Entry> entries) { insert(entries); }
  // Adds what has no value yet.
  void insert(std::initializer_list<Entry> entries);
  // The value of that name, which is added if it is not there.
  Constant& operator[](const std::string& name);

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

// A run-time argument: a tensor (passed as pointer), an integer (i32 when it fits, else i64), a float (fp32).
struct Argument {
  Argument(const Tensor& t) : bits(t.address), dtype(t.dtype), isPointer(true) {}
  template <std::signed_integral T>
  Argument(T v) : bits(uint64_t(int64_t(v))), dtype(int64_t(v) == int32_t(v) ? DType::Int32 : DType::Int64) {}
  template <std::floating_point T>
  Argument(T v) : bits(std::bit_cast<uint32_t>(float(v))), dtype(DType::Float32) {}

  uint64_t bits;
  DType dtype;  // of the value, or of what the pointer points to
  bool isPointer = false;
};

// A kernel of a Python file or text. Cheap to copy; thread-safe. Specialisations are compiled once and kept.
class TANDEM_API Kernel {
 public:
  // `name` may be empty when the file has one kernel. Throws Error when the file cannot be read.
  static Kernel fromFile(const std::string& path, const std::string& name = "");
  // Diagnostics name the text by `fileName`. `modules`: files that it may import from, by path ("ops/packets.py" is
  // `ops.words`). A file imports those below its own folder and the folders that hold it.
  static Kernel fromText(const std::string& text, const std::string& fileName, const std::string& name = "",
                         const std::map<std::string, std::string>& modules = {});

  const std::string& name() const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  explicit Kernel(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace tandem
