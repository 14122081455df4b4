// The table of known assembly texts. Only texts that mean exactly one instruction belong here.
#include "compiler/lower/sim/inline_asm.h"
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>

namespace tandem::lower {
using interpreter::Op;
using interpreter::Scope;
using interpreter::Semantic;
using interpreter::UnaryOp;
namespace {

constexpr int64_t relaxed = static_cast<int64_t>(Semantic::Relaxed), acquire = static_cast<int64_t>(Semantic::Acquire),
                  release = static_cast<int64_t>(Semantic::Release), acqRel = static_cast<int64_t>(Semantic::AcqRel),
                  seqCst = static_cast<int64_t>(Semantic::SeqCst);
constexpr int64_t cta = static_cast<int64_t>(Scope::Cta), gpu = static_cast<int64_t>(Scope::Gpu),
                  sys = static_cast<int64_t>(Scope::Sys);
constexpr uint8_t unary(UnaryOp op) { return static_cast<uint8_t>(op); }

const std::vector<KnownAsm>& table() {
  static const std::vector<KnownAsm> rows = {
      {"mov.u32 $0, %tid.x;", Op::Tid, 0, {0}, true},
      {"mov.u32 $0, %tid.y;", Op::Tid, 0, {1}, true},
      {"mov.u32 $0, %tid.z;", Op::Tid, 0, {2}, true},
      {"mov.u32 $0, %ntid.x;", Op::Ntid, 0, {0}},
      {"mov.u32 $0, %ntid.y;", Op::Ntid, 0, {1}},
      {"mov.u32 $0, %ntid.z;", Op::Ntid, 0, {2}},
      {"mov.u32 $0, %smid;", Op::Special, 0, {0}},
      {"mov.u64 $0, %globaltimer;", Op::Special, 0, {1}},
      {"mov.u64 $0, %clock64;", Op::Special, 0, {2}},
      {"mov.u32 $0, %clock;", Op::Special, 0, {2}},
      {"bar.sync 0;", Op::ThreadBarrier},
      {"barrier.sync 0;", Op::ThreadBarrier},
      {"bar.warp.sync 0xffffffff;", Op::WarpBarrier},
      {"membar.cta;", Op::ThreadFence, 0, {seqCst, cta}},
      {"membar.gl;", Op::ThreadFence, 0, {seqCst, gpu}},
      {"membar.sys;", Op::ThreadFence, 0, {seqCst, sys}},
      {"fence.sc.cta;", Op::ThreadFence, 0, {seqCst, cta}},
      {"fence.sc.gpu;", Op::ThreadFence, 0, {seqCst, gpu}},
      {"fence.sc.sys;", Op::ThreadFence, 0, {seqCst, sys}},
      {"fence.acq_rel.cta;", Op::ThreadFence, 0, {acqRel, cta}},
      {"fence.acq_rel.gpu;", Op::ThreadFence, 0, {acqRel, gpu}},
      {"fence.acq_rel.sys;", Op::ThreadFence, 0, {acqRel, sys}},
      {"ld.global.relaxed.gpu.b32 $0, [$1];", Op::Ld, 0, {relaxed, gpu, 0}},
      {"ld.global.relaxed.sys.b32 $0, [$1];", Op::Ld, 0, {relaxed, sys, 0}},
      {"ld.global.acquire.gpu.b32 $0, [$1];", Op::Ld, 0, {acquire, gpu, 0}},
      {"ld.global.acquire.sys.b32 $0, [$1];", Op::Ld, 0, {acquire, sys, 0}},
      {"st.global.relaxed.gpu.b32 [$1], $2;", Op::St, 0, {relaxed, gpu, 0}},
      {"st.global.relaxed.sys.b32 [$1], $2;", Op::St, 0, {relaxed, sys, 0}},
      {"st.global.release.gpu.b32 [$1], $2;", Op::St, 0, {release, gpu, 0}},
      {"st.global.release.sys.b32 [$1], $2;", Op::St, 0, {release, sys, 0}},
      {"tanh.approx.f32 $0, $1;", Op::Unary, unary(UnaryOp::Tanh)},
      {"ex2.approx.f32 $0, $1;", Op::Unary, unary(UnaryOp::Exp2)},
      {"ex2.approx.ftz.f32 $0, $1;", Op::Unary, unary(UnaryOp::Exp2)},
      {"lg2.approx.f32 $0, $1;", Op::Unary, unary(UnaryOp::Log2)},
      {"rsqrt.approx.f32 $0, $1;", Op::Unary, unary(UnaryOp::Rsqrt)},
      {"sqrt.approx.f32 $0, $1;", Op::Unary, unary(UnaryOp::Sqrt)},
  };
  return rows;
}

std::string normalised(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words, " \t\n\r\v\f");
  return llvm::join(words, " ");
}

}  // namespace

const KnownAsm* findKnownAsm(llvm::StringRef text) {
  static const llvm::StringMap<const KnownAsm*> byText = [] {
    llvm::StringMap<const KnownAsm*> map;
    for (const KnownAsm& row : table()) map[row.text] = &row;
    return map;
  }();
  auto it = byText.find(normalised(text));
  return it == byText.end() ? nullptr : it->second;
}

}  // namespace tandem::lower
