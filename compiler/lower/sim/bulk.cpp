// Mbarriers, bulk copies and tensor maps of the dialect simt: one instruction an op.
#include "compiler/dialect/simt/simt.h"
#include "compiler/lower/sim/function_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;

bool FunctionLowering::lowerSimtBulk(Operation* op) {
  auto plain = [&](Op code, ArrayRef<int64_t> immediates = {}) {
    return emitPlain(op, {code, 0, Elem::I64}, immediates), true;
  };
  auto arrival = [&](Value barrier, Value bytes, bool arrives) {
    return emitValues(op, {Op::MbarrierArrive, 0, Elem::I64}, {barrier, bytes},
                      imm::MbarrierArrive{.arrives = arrives}),
           true;
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<simt::MbarrierInitOp>([&](auto) { return plain(Op::MbarrierInit); })
      .Case<simt::MbarrierArriveOp>([&](auto o) { return arrival(o.getBarrier(), o.getBytes(), true); })
      .Case<simt::MbarrierExpectOp>([&](auto o) { return arrival(o.getBarrier(), o.getBytes(), false); })
      .Case<simt::MbarrierTryWaitOp>([&](auto) { return plain(Op::MbarrierTryWait); })
      .Case<simt::MbarrierWaitOp>([&](auto) { return plain(Op::MbarrierWait); })
      .Case<simt::MbarrierInvalidateOp>([&](auto) { return plain(Op::MbarrierInvalidate); })
      .Case<simt::TmaLoadOp>([&](auto) { return plain(Op::TmaLoad); })
      .Case<simt::TmaStoreOp>([&](auto) { return plain(Op::TmaStore); })
      .Case<simt::BulkLoadOp>([&](auto) { return plain(Op::BulkLoad); })
      .Case<simt::BulkStoreOp>([&](auto) { return plain(Op::BulkStore); })
      .Case<simt::BulkCommitOp>([&](auto) { return plain(Op::BulkCommit); })
      .Case<simt::BulkWaitOp>(
          [&](auto o) { return plain(Op::BulkWait, imm::BulkWait{.pending = o.getPending(), .read = o.getRead()}); })
      .Case<simt::CopyAsyncOp>([&](auto o) {
        return emitValues(op, {Op::CopyAsync, 0, Elem::I64}, {o.getDest(), o.getSource(), o.getRead()},
                          imm::CopyAsync{.bytes = o.getBytes()}),
               true;
      })
      .Case<simt::CopyCommitOp>([&](auto) { return plain(Op::CopyCommit); })
      .Case<simt::CopyWaitOp>([&](auto o) { return plain(Op::CopyWait, imm::CopyWait{.pending = o.getPending()}); })
      .Case<simt::TensormapReplaceOp>([&](auto o) {
        return plain(Op::TensormapReplace,
                     imm::TensormapReplace{.field = static_cast<int64_t>(o.getField()), .ordinal = o.getOrdinal()});
      })
      .Case<simt::TensormapPublishOp>([&](auto) { return plain(Op::TensormapPublish); })
      .Case<simt::TensormapPrefetchOp>([&](auto) { return plain(Op::TensormapPrefetch); })
      .Case<simt::ProxyFenceOp>(
          [&](auto o) { return plain(Op::ProxyFence, imm::ProxyFence{.kind = static_cast<int64_t>(o.getKind())}); })
      .Default([](Operation*) { return false; });
}

}  // namespace tandem::lower
