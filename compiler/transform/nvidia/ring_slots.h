// The second decision of select-products: how many slots the rings have.
#pragma once
#include "compiler/target/target_info.h"
#include "compiler/transform/nvidia/ring_plan.h"
#include "compiler/transform/nvidia/signaller.h"

namespace tandem::transform::nvidia {

// Gives the rings of `kernel` as many slots as were asked for, or as fit beside the epilogue and the operands of
// `dots` that have no ring. Tiles that a signaller stores stay whole if that leaves slots enough; else `signals` gets
// more pieces, or no stores. Returns false if there is no room for two slots.
bool fitSlots(mlir::func::FuncOp kernel, llvm::ArrayRef<tile::DotOp> dots, llvm::MutableArrayRef<RingPlan> rings,
              std::optional<Signals>& signals, const target::TargetInfo& target);

}  // namespace tandem::transform::nvidia
