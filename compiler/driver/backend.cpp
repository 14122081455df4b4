// The vendors, in the order of target::Vendor.
#include "compiler/driver/backend.h"
#include "compiler/lower/nvidia/lower.h"
#include "compiler/pipeline/pipeline.h"

namespace tandem::compiler {
namespace {

void addNvidiaPasses(mlir::OpPassManager& passes, const target::TargetInfo& target, int blocks, bool layouts,
                     target::RegisterPlan plan) {
  bool hasProducer = plan != target::RegisterPlan::NoProducer;
  pipeline::addNvidiaPasses(passes, {target.name(), blocks, layouts, hasProducer});
}

std::string toPtx(llvm::Module& module, const target::TargetInfo& target) {
  codegen::linkNvshmem(module);
  codegen::linkLibdevice(module);
  return codegen::toPtx(module, target);
}

std::optional<codegen::Cubin> assembleCubin(abi::KernelImage& image, const target::TargetInfo& target) {
  codegen::CubinOptions options;
  options.lineInfo = true;
  std::optional<codegen::Assembled> code =
      codegen::assemble(image.ptx, target, {image.threads, image.sharedBytes}, options);
  if (!code) return std::nullopt;
  image.cubin = code->cubin.image;
  image.registers = code->cubin.registers;
  image.spillBytes = code->cubin.spillBytes;
  if (code->roomy) image.roomyCubin = code->roomy->image;
  image.roomyBlocks = code->roomyBlocks;
  return code->cubin;
}

constexpr Backend kBackends[] = {
    {addNvidiaPasses, lower::nvidia::lowerToLlvm, toPtx, assembleCubin},
};

}  // namespace

const Backend& backendOf(const target::TargetInfo& target) { return kBackends[int(target.vendor())]; }

}  // namespace tandem::compiler
