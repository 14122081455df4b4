// This file turns a kernel's ops into the image of a GPU's code.
#include "compiler/driver/compile_image.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/driver/backend.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/remarks.h"
#include <llvm/Support/raw_ostream.h>

namespace tandem::compiler {
namespace {

void transform(Compilation& c, const target::TargetInfo& target, bool layouts) {
  if (std::string given = c.option("num_stages"); !given.empty()) tile::setNumStages(c.kernel(), std::stoi(given));
  if (std::string given = c.option("maxnreg"); !given.empty()) tile::setMaxRegisters(c.kernel(), std::stoi(given));
  std::string ctas = c.option("num_ctas");
  int blocks = ctas.empty() ? 1 : std::stoi(ctas);
  c.run([&](mlir::OpPassManager& passes) { backendOf(target).addPasses(passes, target, blocks, layouts); });
}

// A failure inside LLVM leaves its context broken: then it is lost, not destroyed.
struct LlvmSide {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
};

const target::TargetInfo& targetOf(Compilation& c) { return target::TargetInfo::named(c.option("target")); }

template <class Work>
void withLlvm(Work work) {
  auto side = std::make_unique<LlvmSide>();
  LlvmSide* s = side.release();
  work(*s);
  side.reset(s);
}

void toLlvm(Compilation& c, const target::TargetInfo& target, LlvmSide& side, abi::KernelImage& image) {
  c.survive("lower-to-llvm",
            [&] { side.module = backendOf(target).lower(c.kernel(), c.sources(), target, *side.context, image); });
}

std::string toAssembly(Compilation& c, const target::TargetInfo& target, LlvmSide& side, abi::KernelImage& image) {
  toLlvm(c, target, side, image);
  return backendOf(target).toAssembly(*side.module, target);
}

}  // namespace

std::string gpuText(Compilation& c, const std::string& stage, bool locations) {
  const target::TargetInfo& target = targetOf(c);
  transform(c, target, stage != "gpu");
  if (stage == "gpu" || stage == "layouts") return c.moduleText(locations);
  std::string text;
  withLlvm([&](LlvmSide& side) {
    abi::KernelImage image;
    if (stage == "ptx") {
      text = toAssembly(c, target, side, image);
      return;
    }
    toLlvm(c, target, side, image);
    llvm::raw_string_ostream stream(text);
    side.module->print(stream, nullptr);
  });
  return text;
}

CompiledImage compileToImage(const std::string& requestJson) {
  CompiledImage out;
  out.diagnostics = guarded(requestJson, [&](Compilation& c) {
    const target::TargetInfo& target = targetOf(c);
    c.emit();
    RemarkCollector remarks(c);
    transform(c, target, true);
    withLlvm([&](LlvmSide& side) {
      auto image = std::make_shared<abi::KernelImage>();
      image->target = target.name();
      image->ptx = toAssembly(c, target, side, *image);
      std::optional<codegen::Cubin> cubin = backendOf(target).assemble(*image, target);
      remarkResources(c, target, *image, cubin ? &*cubin : nullptr);
      image->remarks = remarks.take();
      out.image = image;
    });
  });
  out.error = render(out.diagnostics, Severity::Error);
  if (!out.error.empty()) out.image = nullptr;
  return out;
}

}  // namespace tandem::compiler
