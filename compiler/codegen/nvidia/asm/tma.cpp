// cp.async.bulk and cp.reduce.async.bulk
#include "compiler/codegen/nvidia/asm/tma.h"

namespace tandem::codegen::ptx {
namespace {

// "[map, {c0, c1}]"
std::string tile(Call& call, llvm::Value* map, ValueRange coordinates) {
  std::string text = "[" + call.in(map) + ", {";
  for (size_t i = 0; i < coordinates.size(); ++i) text += (i ? ", " : "") + call.in(coordinates[i]);
  return text + "}]";
}

std::string dimensions(ValueRange coordinates) { return "." + std::to_string(coordinates.size()) + "d"; }

std::string policyOperand(Call& call, llvm::Value* policy) { return policy ? ", " + call.in(policy) : ""; }
std::string policyModifier(llvm::Value* policy) { return policy ? ".L2::cache_hint" : ""; }

}  // namespace

void tensorLoad(llvm::IRBuilderBase& b, const TensorLoad& copy) {
  Call call(b);
  std::string text = call.guard(copy.predicate) + "cp.async.bulk.tensor" + dimensions(copy.coordinates) +
                     ".shared::cluster.global.mbarrier::complete_tx::bytes" +
                     (copy.multicast ? ".multicast::cluster" : "") + policyModifier(copy.l2Policy) + " ";
  text += call.address(copy.shared) + ", ";
  text += tile(call, copy.map, copy.coordinates) + ", ";
  text += call.address(copy.barrier);
  if (copy.multicast) text += ", " + call.in(copy.multicast);
  call.emit(text + policyOperand(call, copy.l2Policy) + ";", Effect::Acts);
}

void tensorStore(llvm::IRBuilderBase& b, const TensorStore& copy, BulkReduction reduction) {
  static constexpr const char* names[] = {"", ".add", ".min", ".max", ".and", ".or", ".xor"};
  bool reduces = reduction != BulkReduction::None;
  Call call(b);
  std::string text = call.guard(copy.predicate) + (reduces ? "cp.reduce.async.bulk.tensor" : "cp.async.bulk.tensor") +
                     dimensions(copy.coordinates) + ".global.shared::cta" + names[int(reduction)] +
                     (reduces ? ".tile" : "") + ".bulk_group" + policyModifier(copy.l2Policy) + " ";
  text += tile(call, copy.map, copy.coordinates) + ", ";
  text += call.address(copy.shared);
  call.emit(text + policyOperand(call, copy.l2Policy) + ";", Effect::Acts);
}

void prefetchTensorMap(llvm::IRBuilderBase& b, llvm::Value* map, llvm::Value* predicate) {
  Call call(b);
  std::string guard = call.guard(predicate);
  call.emit(guard + "prefetch.tensormap " + call.address(map) + ";", Effect::Acts);
}

void fenceTensorMapRelease(llvm::IRBuilderBase& b) {
  Call(b).emit("fence.proxy.tensormap::generic.release.gpu;", Effect::Acts);
}

void fenceTensorMapAcquire(llvm::IRBuilderBase& b, llvm::Value* map) {
  Call call(b);
  std::string at = call.address(map);
  call.emit("fence.proxy.tensormap::generic.acquire.gpu " + at + ", 128;", Effect::Acts);
}

void bulkLoad(llvm::IRBuilderBase& b, llvm::Value* shared, llvm::Value* global, llvm::Value* bytes,
              llvm::Value* barrier, llvm::Value* l2Policy, llvm::Value* predicate) {
  Call call(b);
  std::string text = call.guard(predicate) + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" +
                     policyModifier(l2Policy) + " ";
  text += call.address(shared) + ", ";
  text += call.address(global) + ", ";
  text += call.in(bytes) + ", ";
  text += call.address(barrier);
  call.emit(text + policyOperand(call, l2Policy) + ";", Effect::Acts);
}

void bulkStore(llvm::IRBuilderBase& b, llvm::Value* global, llvm::Value* shared, llvm::Value* bytes,
               llvm::Value* l2Policy, llvm::Value* predicate) {
  Call call(b);
  std::string text =
      call.guard(predicate) + "cp.async.bulk.global.shared::cta.bulk_group" + policyModifier(l2Policy) + " ";
  text += call.address(global) + ", ";
  text += call.address(shared) + ", ";
  text += call.in(bytes);
  call.emit(text + policyOperand(call, l2Policy) + ";", Effect::Acts);
}

void commitBulk(llvm::IRBuilderBase& b) { Call(b).emit("cp.async.bulk.commit_group;", Effect::Acts); }

void waitBulk(llvm::IRBuilderBase& b, int pending, bool readOnly) {
  Call(b).emit(std::string("cp.async.bulk.wait_group") + (readOnly ? ".read " : " ") + std::to_string(pending) + ";",
               Effect::Acts);
}

}  // namespace tandem::codegen::ptx
