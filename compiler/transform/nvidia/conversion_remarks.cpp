// The lowering plans a conversion again, by the shared memory that is left then; with less of it than the target has,
// it takes more rounds.
#include "compiler/transform/nvidia/conversion_remarks.h"
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/conversion.h"
#include "compiler/remark/remark.h"
#include <llvm/Support/FormatVariadic.h>
#include <mlir/Interfaces/LoopLikeInterface.h>

namespace tandem::transform::nvidia {
using namespace mlir;

void remarkConversions(func::FuncOp kernel, const target::TargetInfo& target) {
  kernel.walk([&](tgpu::ConvertLayoutOp convert) {
    if (convert->use_empty()) return;
    auto type = cast<RankedTensorType>(convert.getType());
    Type element = type.getElementType();
    unsigned bits = element.isIntOrFloat() ? std::max(8u, element.getIntOrFloatBitWidth()) : 64;
    layout::Conversion plan = layout::plan(tgpu::layoutOf(convert.getSource()), tgpu::layoutOf(convert.getResult()),
                                           bits, target.maxSharedBytes(), {true, target.hasStmatrix()});
    auto* through = std::get_if<layout::ThroughShared>(&plan);
    if (!through) return;
    Operation* reader = *convert->user_begin();
    remark::analysis(convert, {remark::RemarkKind::Conversion, "assign-layouts"},
                     llvm::formatv("{0} bytes change threads through shared memory{1} for the `{2}` in {3}{4}",
                                   type.getNumElements() * bits / 8, through->withinWarp ? ", inside warps," : "",
                                   reader->getName().stripDialect(), remark::lineOf(reader),
                                   convert->getParentOfType<LoopLikeOpInterface>() ? ", in every iteration" : "")
                         .str());
  });
}

}  // namespace tandem::transform::nvidia
