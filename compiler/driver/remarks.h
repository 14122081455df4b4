// Remarks of one compilation, as the image keeps them, and their file form.
#pragma once
#include "abi/kernel_image.h"
#include "compiler/codegen/nvidia/codegen.h"
#include "compiler/driver/compilation.h"
#include <memory>

namespace tandem::compiler {

// Takes the remarks that are raised in the compilation's context while in scope.
class RemarkCollector {
 public:
  explicit RemarkCollector(Compilation& compilation);
  ~RemarkCollector();
  RemarkCollector(const RemarkCollector&) = delete;
  // Gives what has been raised, each remark once, by places.
  std::vector<abi::Remark> all() const;
  size_t count() const { return remarks_->size(); }  // as raised
  // Forgets all but the first so many that were raised.
  void forgetAfter(size_t count) { remarks_->resize(count); }

 private:
  mlir::MLIRContext& context_;
  std::shared_ptr<std::vector<abi::Remark>> remarks_;  // the context's engine writes here
};

// Says what the assembler has found, at the kernel of `c`. `cubin` is null where no assembler was.
void remarkResources(Compilation& c, const target::TargetInfo& target, const abi::KernelImage& image,
                     const codegen::Cubin* cubin);

}  // namespace tandem::compiler
