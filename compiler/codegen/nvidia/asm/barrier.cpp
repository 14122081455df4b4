// bar.* and mbarrier.*
#include "compiler/codegen/nvidia/asm/barrier.h"

namespace tandem::codegen::ptx {
namespace {

void numbered(llvm::IRBuilderBase& b, const char* name, llvm::Value* id, llvm::Value* threads) {
  Call call(b);
  std::string which = call.immediateOrIn(id);
  call.emit(std::string(name) + " " + which + ", " + call.immediateOrIn(threads) + ";", Effect::Acts);
}

// `@p name [barrier]` with an optional last operand.
void act(llvm::IRBuilderBase& b, const std::string& name, llvm::Value* barrier, llvm::Value* operand,
         llvm::Value* predicate) {
  Call call(b);
  std::string guard = call.guard(predicate);
  std::string text = guard + name + " " + call.address(barrier);
  if (operand) text += ", " + call.in(operand);
  call.emit(text + ";", Effect::Acts);
}

void loop(llvm::IRBuilderBase& b, const std::string& test, llvm::Value* barrier, llvm::Value* parity,
          llvm::Value* predicate) {
  Call call(b);
  std::string at = call.address(barrier);
  std::string operands = at + ", " + call.in(parity);
  std::string skip = predicate ? "@!" + call.in(predicate) + " bra done_${:uid};\n" : "";
  call.emit("{\n.reg .pred complete;\n" + skip + "wait_${:uid}:\n" + test + " complete, " + operands +
                ";\n@!complete bra wait_${:uid};\ndone_${:uid}:\n}",
            Effect::Acts);
}

}  // namespace

void barrierSync(llvm::IRBuilderBase& b, llvm::Value* id, llvm::Value* threads) {
  numbered(b, "bar.sync", id, threads);
}
void barrierSync(llvm::IRBuilderBase& b, int id, int threads) { barrierSync(b, b.getInt32(id), b.getInt32(threads)); }
void barrierArrive(llvm::IRBuilderBase& b, llvm::Value* id, llvm::Value* threads) {
  numbered(b, "bar.arrive", id, threads);
}
void barrierArrive(llvm::IRBuilderBase& b, int id, int threads) {
  barrierArrive(b, b.getInt32(id), b.getInt32(threads));
}

void mbarrierInit(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* count, llvm::Value* predicate) {
  act(b, "mbarrier.init.shared::cta.b64", barrier, count, predicate);
}

void mbarrierInvalidate(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* predicate) {
  act(b, "mbarrier.inval.shared::cta.b64", barrier, nullptr, predicate);
}

void mbarrierArrive(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* predicate) {
  act(b, "mbarrier.arrive.shared::cta.b64 _,", barrier, nullptr, predicate);
}

void mbarrierArriveRemote(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* predicate, bool publishes) {
  const char* scope = publishes ? "cluster" : "cta";
  act(b, std::string("mbarrier.arrive.release.") + scope + ".shared::cluster.b64 _,", barrier, nullptr, predicate);
}

void mbarrierArriveCopies(llvm::IRBuilderBase& b, llvm::Value* barrier) {
  act(b, "cp.async.mbarrier.arrive.noinc.shared::cta.b64", barrier, nullptr, nullptr);
}
void mbarrierArriveExpect(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* bytes, llvm::Value* predicate) {
  act(b, "mbarrier.arrive.expect_tx.shared::cta.b64 _,", barrier, bytes, predicate);
}

void mbarrierComplete(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* bytes) {
  act(b, "mbarrier.complete_tx.relaxed.cta.shared::cta.b64", barrier, bytes, nullptr);
}

void mbarrierExpect(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* bytes, llvm::Value* predicate) {
  act(b, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64", barrier, bytes, predicate);
}

void mbarrierWait(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* parity, llvm::Value* predicate) {
  loop(b, "mbarrier.try_wait.parity.shared::cta.b64", barrier, parity, predicate);
}

void mbarrierPoll(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* parity, llvm::Value* predicate) {
  loop(b, "mbarrier.test_wait.parity.shared::cta.b64", barrier, parity, predicate);
}

llvm::Value* mbarrierTest(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* parity) {
  Call call(b);
  std::string result = call.out(b.getInt1Ty());
  std::string at = call.address(barrier);
  return call.emit("mbarrier.test_wait.parity.shared::cta.b64 " + result + ", " + at + ", " + call.in(parity) + ";",
                   Effect::Acts)[0];
}

}  // namespace tandem::codegen::ptx
