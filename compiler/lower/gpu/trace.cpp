// A kernel that is compiled to record writes these records (abi/trace.h). The thread that speaks for a program, a role
// or a warp keeps in a register where its next record goes; only a new chunk costs an atomic operation.
#include "abi/dist_context.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <cstddef>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

constexpr int64_t kChunk = TANDEM_TRACE_CHUNK_BYTES;
static_assert(sizeof(tandem_trace_chunk) == 32 && sizeof(tandem_trace_record) == 16);

// Returns true if a value is computed from the program's place in the grid.
bool dependsOnProgram(mlir::Value value, int depth = 8) {
  Operation* op = value.getDefiningOp();
  if (!op || !depth) return false;
  return isa<tile::ProgramIdOp>(op) || llvm::any_of(op->getOperands(), [&](mlir::Value v) { return dependsOnProgram(v, depth - 1); });
}

// Returns true for the loop of a persistent kernel: the outermost one, over tiles that the program takes for itself, or
// with loops inside.
bool isOverTiles(Operation* loop) {
  for (Operation* up = loop->getParentOp(); up; up = up->getParentOp())
    if (isa<LoopLikeOpInterface>(up)) return false;
  if (auto range = dyn_cast<scf::ForOp>(loop); range && dependsOnProgram(range.getLowerBound())) return true;
  return loop->walk([&](LoopLikeOpInterface inner) {
    return inner.getOperation() != loop ? WalkResult::interrupt() : WalkResult::advance();
  }).wasInterrupted();
}

}  // namespace

void KernelLowering::beginTrace() {
  traceCursor_ = b_.CreateAlloca(b_.getInt64Ty());
  b_.CreateStore(b_.getInt64(0), traceCursor_);
  traceSites_ = new llvm::GlobalVariable(module_, b_.getInt32Ty(), true, llvm::GlobalValue::ExternalLinkage, nullptr, "sites", nullptr,
                                         llvm::GlobalValue::NotThreadLocal, 1);
}

// One thread for a program and for each of its added roles; where threads go ways of their own, the first of each warp that is here.
llvm::Value* KernelLowering::traceWriter(Operation* op) {
  if (role_ >= 2) return nullptr;
  if (isa<func::FuncOp>(op)) return isFirstThread();
  bool apart = threadValues(op).anyDiffers(op->getOperands()) || threadValues(op).isDivergent(op);
  if (!apart) return isFirstThread();
  llvm::Value* first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, ptx::activeMask(b_), b_.getTrue());
  return b_.CreateICmpEQ(laneId(), first);
}

void KernelLowering::traced(const char* kind, Operation* op, llvm::Value* value, llvm::function_ref<void()> body) {
  if (!traceCursor_) return body();
  unsigned site = traceSite(kind, op->getLoc());
  llvm::Value* writer = traceWriter(op);
  record(writer, 2 * site, value);
  body();
  record(writer, 2 * site + 1, nullptr);
}

void KernelLowering::traceInstant(const char* kind, Operation* op, llvm::Value* value) {
  if (traceCursor_) record(traceWriter(op), 2 * traceSite(kind, op->getLoc()), value);
}

void KernelLowering::traceTiles(Operation* loop, llvm::Value* number, llvm::function_ref<void()> body) {
  if (!traceCursor_ || !isOverTiles(loop)) return body();
  traced("tile", loop, number, body);
}

unsigned KernelLowering::traceSite(const char* kind, Location loc) {
  auto at = filePosition(loc);
  std::string place = at ? at.getFilename().str() + ":" + std::to_string(at.getStartLine()) + ":" + std::to_string(at.getStartColumn())
                         : "<unknown>:0:0";
  std::string line = std::string(kind) + " " + place;
  auto known = llvm::find(traceLines_, line);
  unsigned site = unsigned(known - traceLines_.begin());
  if (known == traceLines_.end()) traceLines_.push_back(line);
  return site;
}

void KernelLowering::record(llvm::Value* isWriter, unsigned site, llvm::Value* value) {
  when(isWriter, [&] {
    llvm::Value *time = ptx::globalTimer(b_), *cursor = b_.CreateLoad(b_.getInt64Ty(), traceCursor_);
    llvm::BasicBlock *before = b_.GetInsertBlock(), *open = newBlock("open"), *write = newBlock("record"), *after = newBlock("recorded");
    llvm::Value* isFull = b_.CreateICmpEQ(b_.CreateAnd(cursor, b_.getInt64(kChunk - 1)), b_.getInt64(0));
    b_.CreateCondBr(isFull, open, write);
    b_.SetInsertPoint(open);
    llvm::Value* first = openChunk(cursor, after);
    llvm::BasicBlock* opened = b_.GetInsertBlock();
    b_.CreateBr(write);
    b_.SetInsertPoint(write);
    llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2);
    at->addIncoming(cursor, before);
    at->addIncoming(first, opened);
    llvm::Value* says = value ? b_.CreateZExtOrTrunc(value, b_.getInt32Ty()) : b_.getInt32(-1);
    llvm::Value* words = b_.CreateOr(b_.CreateShl(b_.CreateZExt(says, b_.getInt64Ty()), 32), b_.getInt64(site));
    ptx::store(b_, {time, words}, b_.CreateIntToPtr(at, b_.getPtrTy(1)), nullptr);
    b_.CreateStore(b_.CreateAdd(at, b_.getInt64(sizeof(tandem_trace_record))), traceCursor_);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  });
}

// Returns the place of the first record of a new chunk. Branches to `none` when nobody traces or there is no room.
llvm::Value* KernelLowering::openChunk(llvm::Value* cursor, llvm::BasicBlock* none) {
  llvm::BasicBlock *take = newBlock("take"), *fill = newBlock("fill");
  llvm::Type* wide = b_.getInt64Ty();
  llvm::Value* trace = rankField(offsetof(tandem_dist_context, trace), b_.getPtrTy(1));
  b_.CreateCondBr(b_.CreateIsNull(trace), none, take);
  b_.SetInsertPoint(take);
  auto field = [&](size_t offset) { return b_.CreateGEP(b_.getInt8Ty(), trace, b_.getInt64(offset)); };
  llvm::Value* number = ptx::atomic(b_, ptx::AtomicOp::Add, ptx::AtomicType::U64, field(offsetof(tandem_trace, taken)), b_.getInt64(1),
                                    {ptx::Order::Relaxed, ptx::Scope::Device, ptx::Space::Global, nullptr});
  llvm::Value* capacity = loadElement(field(offsetof(tandem_trace, capacity)), wide, b_.getInt32(0));
  b_.CreateCondBr(b_.CreateICmpULT(number, capacity), fill, none);
  b_.SetInsertPoint(fill);
  llvm::Value* chunk = b_.CreateAdd(loadElement(field(offsetof(tandem_trace, chunks)), wide, b_.getInt32(0)),
                                    b_.CreateMul(number, b_.getInt64(kChunk)));
  llvm::Value* header = b_.CreateIntToPtr(chunk, b_.getPtrTy(1));
  auto put = [&](size_t offset, llvm::ArrayRef<llvm::Value*> values) {
    ptx::store(b_, values, b_.CreateGEP(b_.getInt8Ty(), header, b_.getInt64(offset)), nullptr);
  };
  put(offsetof(tandem_trace_chunk, previous), {cursor, b_.CreatePtrToInt(traceSites_, wide)});
  Regs words = programIndex();
  words.push_back(b_.CreateOr(b_.CreateShl(b_.CreateLShr(threadId(), 5), 16), b_.getInt32(role_)));
  put(offsetof(tandem_trace_chunk, program), words);
  return b_.CreateAdd(chunk, b_.getInt64(sizeof(tandem_trace_chunk)));
}

// The text of the sites is known when all have been met.
void KernelLowering::finishTrace() {
  if (!traceCursor_) return;
  std::string lines = image_.name;
  for (const std::string& line : traceLines_) lines += "\n" + line;
  llvm::Constant* length = b_.getInt32(unsigned(lines.size()));
  llvm::Constant* table = llvm::ConstantStruct::getAnon({length, llvm::ConstantDataArray::getString(context_, lines, false)});
  auto* sites = new llvm::GlobalVariable(module_, table->getType(), true, llvm::GlobalValue::InternalLinkage, table, "tandem_trace_sites",
                                         nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  traceSites_->replaceAllUsesWith(sites);
  traceSites_->eraseFromParent();
}

}  // namespace tandem::lower::nvidia
