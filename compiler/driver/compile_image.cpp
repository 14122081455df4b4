// The order of the stages for GPUs.
#include "compiler/driver/compile_image.h"
#include "compiler/codegen/nvidia/codegen.h"
#include "compiler/codegen/nvidia/guard.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/driver/compilation.h"
#include "compiler/lower/nvidia/lower.h"
#include "compiler/lower/nvidia/places.h"
#include "compiler/transform/gpu/assign_layouts.h"
#include "compiler/transform/gpu/carry_offsets.h"
#include "compiler/transform/gpu/defer_sums.h"
#include "compiler/transform/gpu/insert_barriers.h"
#include "compiler/transform/gpu/longest_first.h"
#include "compiler/transform/gpu/overlap_products.h"
#include "compiler/transform/gpu/pipeline_loads.h"
#include "compiler/transform/gpu/recognise_blocks.h"
#include "compiler/transform/gpu/select_products.h"
#include "compiler/transform/gpu/split_program.h"
#include <algorithm>
#include <llvm/Support/raw_ostream.h>
#include <map>

namespace tandem::compiler {
namespace {

// An assembler takes minutes for more.
constexpr size_t kMostOperations = 200'000;

// Fails at the line that most operations come from.
void limitSize(Compilation& c) {
  size_t count = 0;
  std::map<std::pair<std::string, unsigned>, std::pair<size_t, mlir::Operation*>> lines;
  c.kernel().walk([&](mlir::Operation*) { ++count; });
  if (count <= kMostOperations) return;
  c.kernel().walk([&](mlir::Operation* op) {
    auto& [ofLine, first] = lines[lower::nvidia::Places::fileAndLine(op->getLoc())];
    if (!ofLine++) first = op;
  });
  auto [most, at] = std::max_element(lines.begin(), lines.end(), [](auto& a, auto& b) { return a.second.first < b.second.first; })->second;
  at->emitError() << "the kernel is too large for a GPU: it has " << count << " operations after unrolling and inlining, of which at most "
                  << kMostOperations << " are compiled, and " << most
                  << " come from this line; loops by `range`, or tiles in place of single elements, make it shorter";
  c.collector().fail("too-large");
}

// 1. A program of several blocks becomes what each of them does: the later stages know one block.
// 2. Blocks of tensors that the program reads and writes by pointer arithmetic.
// 3. Addresses that loops still move on, as offsets.
// 4. Sums of online softmax, in parts that threads hold.
// 5. Products: units, rings and warp roles, while the program is still free of layouts.
// 6. Copies ahead of their loops by the block's own threads, of what no ring takes.
// 7. The order in which programs start.
// 8. Layouts, with the conversions between them.
// 9. Barriers between accesses to the same memory.
void transform(Compilation& c, const target::TargetInfo& target, bool layouts) {
  limitSize(c);
  c.kernel().getContext()->getOrLoadDialect<tgpu::TgpuDialect>();
  for (const char* name : {"num_stages", "maxnreg"})
    if (std::string given = c.option(name); !given.empty())
      c.kernel()->setAttr(std::string("tile.") + name,
                          mlir::IntegerAttr::get(mlir::IntegerType::get(c.kernel().getContext(), 32), std::stoi(given)));
  if (std::string ctas = c.option("num_ctas"); !ctas.empty() && ctas != "1") {
    if (mlir::failed(transform::gpu::splitProgram(c.kernel(), std::stoi(ctas), target))) c.collector().fail("clusters");
    c.canonicalize();
  }
  bool haveBlocks = transform::gpu::recogniseBlocks(c.kernel(), target);
  if (transform::gpu::carryOffsets(c.kernel()) || haveBlocks) c.canonicalize();
  transform::gpu::deferSums(c.kernel(), target);
  transform::gpu::selectProducts(c.kernel(), target);
  transform::gpu::overlapProducts(c.kernel());
  if (transform::gpu::pipelineLoads(c.kernel(), target)) c.canonicalize();
  transform::gpu::longestFirst(c.kernel());
  if (!layouts) return;
  transform::gpu::assignLayouts(c.kernel(), target);
  transform::gpu::insertBarriers(c.kernel());
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

std::string toPtx(Compilation& c, const target::TargetInfo& target, LlvmSide& side, abi::KernelImage& image) {
  side.module = tandem::lower::nvidia::lowerToLlvm(c.kernel(), c.sources(), target, *side.context, image);
  codegen::linkNvshmem(*side.module);
  codegen::linkLibdevice(*side.module);
  return codegen::toPtx(*side.module, target);
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
      text = toPtx(c, target, side, image);
      return;
    }
    side.module = tandem::lower::nvidia::lowerToLlvm(c.kernel(), c.sources(), target, *side.context, image);
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
    c.canonicalize();
    transform(c, target, true);
    withLlvm([&](LlvmSide& side) {
      auto image = std::make_shared<abi::KernelImage>();
      image->target = target.name();
      image->ptx = toPtx(c, target, side, *image);
      codegen::CubinOptions options;
      options.lineInfo = true;
      if (auto cubin = codegen::toCubin(image->ptx, target, options)) {
        image->cubin = cubin->image;
        image->registers = cubin->registers;
        image->spillBytes = cubin->spillBytes;
      }
      out.image = image;
    });
  });
  out.error = render(out.diagnostics, Severity::Error);
  if (!out.error.empty()) out.image = nullptr;
  return out;
}

}  // namespace tandem::compiler
