// This file turns a kernel's ops into the image of a GPU's code.
#include "compiler/driver/compile_image.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/driver/backend.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/remarks.h"
#include "compiler/target/nvidia_units.h"
#include <llvm/Support/raw_ostream.h>

namespace tandem::compiler {
using target::RegisterPlan;
namespace {

void transform(Compilation& c, const target::TargetInfo& target, bool layouts, RegisterPlan plan) {
  if (std::string given = c.option("num_stages"); !given.empty()) tile::setNumStages(c.kernel(), std::stoi(given));
  if (std::string given = c.option("maxnreg"); !given.empty()) tile::setMaxRegisters(c.kernel(), std::stoi(given));
  std::string ctas = c.option("num_ctas");
  int blocks = ctas.empty() ? 1 : std::stoi(ctas);
  c.run([&](mlir::OpPassManager& passes) { backendOf(target).addPasses(passes, target, blocks, layouts, plan); });
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

void toLlvm(Compilation& c, const target::TargetInfo& target, LlvmSide& side, abi::KernelImage& image,
            RegisterPlan plan) {
  c.survive("lower-to-llvm", [&] {
    side.module = backendOf(target).lower(c.kernel(), c.sources(), target, *side.context, image, plan);
  });
}

std::string toAssembly(Compilation& c, const target::TargetInfo& target, LlvmSide& side, abi::KernelImage& image,
                       RegisterPlan plan) {
  toLlvm(c, target, side, image, plan);
  return backendOf(target).toAssembly(*side.module, target);
}

// A kernel's code by one plan, and what the assembler says of it: nothing if none is found.
struct Code {
  std::shared_ptr<abi::KernelImage> image;
  std::optional<codegen::Cubin> cubin;
};

Code toCode(Compilation& c, const target::TargetInfo& target, RemarkCollector& remarks, RegisterPlan plan) {
  Code code{std::make_shared<abi::KernelImage>(), {}};
  code.image->target = target.name();
  withLlvm([&](LlvmSide& side) { code.image->ptx = toAssembly(c, target, side, *code.image, plan); });
  code.cubin = backendOf(target).assemble(*code.image, target);
  remarkResources(c, target, *code.image, code.cubin ? &*code.cubin : nullptr);
  code.image->remarks = remarks.all();
  return code;
}

// Where registers were divided among blocks and roles, and the code spills, other plans have fewer blocks, or no
// producer. They are taken where they at least halve the spills, and products stay asynchronous; a few are not worth the
// producer of TMA's copies.
Code withFewestSpills(Compilation& c, const target::TargetInfo& target) {
  constexpr int kFew = 64, kFewBesideTma = 192;
  RemarkCollector remarks(c);
  mlir::OwningOpRef<mlir::ModuleOp> emitted = c.module().clone();
  transform(c, target, true, RegisterPlan::ManyBlocks);
  size_t ofPasses = remarks.count();
  Code code = toCode(c, target, remarks, RegisterPlan::ManyBlocks);
  auto spills = [&](int few) { return code.cubin && code.cubin->spillBytes > few; };
  auto tryPlan = [&](RegisterPlan plan) {
    Code other = toCode(c, target, remarks, plan);
    bool isSerialised = other.cubin && !other.cubin->serialised.empty() && code.cubin->serialised.empty();
    if (other.cubin && !isSerialised && other.cubin->spillBytes * 2 <= code.cubin->spillBytes) code = std::move(other);
  };

  int warps = tile::numWarps(c.kernel());
  if (spills(kFew) && codegen::blocksAskedFor(code.image->ptx) > target::roomyBlocks(target, warps)) {
    remarks.forgetAfter(ofPasses);
    tryPlan(RegisterPlan::FewBlocks);
  }
  bool hasProducer = code.image->threads > warps * target.warpSize();
  if (spills(kFewBesideTma) && hasProducer && warps == target::kWgmma.warps) {
    remarks.forgetAfter(0);
    c.beginAgain(std::move(emitted));
    transform(c, target, true, RegisterPlan::NoProducer);
    tryPlan(RegisterPlan::NoProducer);
  }
  return code;
}

}  // namespace

std::string gpuText(Compilation& c, const std::string& stage, bool locations) {
  const target::TargetInfo& target = targetOf(c);
  transform(c, target, stage != "gpu", RegisterPlan::ManyBlocks);
  if (stage == "gpu" || stage == "layouts") return c.moduleText(locations);
  std::string text;
  withLlvm([&](LlvmSide& side) {
    abi::KernelImage image;
    if (stage == "ptx") {
      text = toAssembly(c, target, side, image, RegisterPlan::ManyBlocks);
      return;
    }
    toLlvm(c, target, side, image, RegisterPlan::ManyBlocks);
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
    out.image = withFewestSpills(c, target).image;
  });
  out.error = render(out.diagnostics, Severity::Error);
  if (!out.error.empty()) out.image = nullptr;
  return out;
}

}  // namespace tandem::compiler
