// `with simt_exec_region() as (tid, n)`: code by thread. Tiles whose elements it touches lie in shared memory
// meanwhile.
#include "compiler/frontend/emit/assigned_names.h"
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {
namespace simt = tandem::simt;

void Emitter::emitWith(const ast::Stmt& s, const Rest* rest) {
  for (const ast::WithItem& item : s.items) {
    bool isCall = item.context->kind == ast::ExprKind::Call;
    Value callee = isCall ? evaluate(*item.context->children[0]) : Value(None{});
    bool isRegion = callee.is<const Builtin*>() && callee.as<const Builtin*>()->name == "dl.simt_exec_region";
    if (!isRegion || s.items.size() != 1)
      failUnsupported(item.context->range, "`with` of anything but `simt_exec_region()`");
  }
  emitSimtRegion(s);
}

void Emitter::emitSimtRegion(const ast::Stmt& s) {
  At at(*this, s.items[0].context->range);
  mlir::OpBuilder& builder = cx.builder;
  ElementAccesses accesses = elementAccesses(s.body);
  std::map<std::string, Local> tiles;
  for (const std::string& name : accesses.accessed) {
    auto it = frame_->locals.find(name);
    if (it == frame_->locals.end() || it->second.undefined || !it->second.value.isTensor()) continue;
    const Tensor tile = it->second.value.as<Tensor>();
    if (!tile.type.isTile()) continue;
    tiles[name] = it->second;
    mlir::Type type = tandem::tile::SmemType::get(builder.getContext(), tile.type.shape,
                                                  tile.type.dtype.toMLIR(builder.getContext()));
    mlir::Value buffer = simt::SmemAllocOp::create(builder, cx.loc(), type, tile.value);
    it->second.value = std::make_shared<SmemBuffer>(SmemBuffer{buffer, tile.type.dtype, tile.type.shape});
  }
  simt::BarrierOp::create(builder, cx.loc());
  if (s.items[0].target) {
    Type type{DType{Scalar::Int32}, {}, 0};
    mlir::Value tid = simt::TidOp::create(builder, cx.loc(), builder.getI32Type(), 0u);
    mlir::Value count = simt::NtidOp::create(builder, cx.loc(), builder.getI32Type(), 0u);
    assign(*s.items[0].target, makeTuple({Value(Tensor{tid, type}), Value(Tensor{count, type})}));
  }
  const char* blocksReturn = std::exchange(frame_->blocksReturn, "a `simt_exec_region`");
  bool inLoop = std::exchange(frame_->inLoop, false);
  emitBody(s.body, 0, nullptr);
  frame_->blocksReturn = blocksReturn;
  frame_->inLoop = inLoop;
  simt::BarrierOp::create(builder, cx.loc());
  for (auto& [name, local] : tiles) {
    const Tensor tile = local.value.as<Tensor>();
    Local& now = frame_->locals[name];
    bool rebound = !now.value.is<std::shared_ptr<SmemBuffer>>();
    if (rebound) continue;
    Value after = tile;
    if (accesses.written.contains(name))
      after = Tensor{simt::SmemReadOp::create(builder, cx.loc(), tile.value.getType(),
                                              now.value.as<std::shared_ptr<SmemBuffer>>()->value),
                     tile.type};
    now = local;
    now.value = after;
  }
}

}  // namespace tandem::frontend
