// Kernels: source text in Triton syntax, compiled when first launched with given argument types.
#pragma once
#include "tandem/error.h"
#include "tandem/tensor.h"
#include <map>
#include <memory>
#include <variant>

namespace tandem {

// A compile-time constant of a kernel.
using Constant = std::variant<bool, int64_t, double, std::string, DType>;

// A run-time argument: a tensor (passed as pointer), an integer (i32 when it fits, else i64), a float (fp32).
using Argument = std::variant<Tensor, int64_t, double>;

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
