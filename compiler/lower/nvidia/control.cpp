// Loops and regions do more here than on any GPU: rings end with their loops, warps have roles.
#include "compiler/lower/gpu/control.h"
#include "compiler/dialect/tgpu/products.h"
#include "compiler/lower/nvidia/made_maps.h"
#include "compiler/lower/nvidia/roles.h"

namespace tandem::lower::nvidia {
using namespace mlir;

void registerControl(Lowerings& table) {
  // A sum that begins at zero is overwritten by its first product.
  on<scf::ForOp>(table, [](KernelContext& cx, auto o) {
    makeMapsBefore(cx, o);
    lowerFor(cx, o, tgpu::beginsAtZero);
    for (auto await : o.getBody()->template getOps<tgpu::AwaitOp>())
      cx.liveRings -= cx.ringOf(await.getRing()).isCopied;
  });
  on<tgpu::WarpSpecializeOp>(table, [](KernelContext& cx, auto o) { lowerWarpSpecialize(cx, o); });
}

}  // namespace tandem::lower::nvidia
