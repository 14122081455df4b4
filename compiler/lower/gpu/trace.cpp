// A kernel that is compiled to record writes these records (abi/trace.h). The thread that speaks for a program, a role
// or a warp keeps in a register where its next record goes; only a new chunk costs an atomic operation.
#include "abi/dist_context.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/lower/gpu/debug.h"
#include "compiler/lower/gpu/dist.h"
#include "compiler/lower/gpu/trace.h"
#include <cstddef>

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

constexpr int64_t kChunk = TANDEM_TRACE_CHUNK_BYTES;
static_assert(sizeof(tandem_trace_chunk) == 32 && sizeof(tandem_trace_record) == 16);

// Returns true if a value is computed from the program's place in the grid.
bool dependsOnProgram(mlir::Value value, int depth = 8) {
  Operation* op = value.getDefiningOp();
  if (!op || !depth) return false;
  return isa<tile::ProgramIdOp>(op) ||
         llvm::any_of(op->getOperands(), [&](mlir::Value v) { return dependsOnProgram(v, depth - 1); });
}

// Returns true for the loop of a persistent kernel: the outermost one, over tiles that the program takes for itself, or
// with loops inside.
bool isOverTiles(Operation* loop) {
  for (Operation* up = loop->getParentOp(); up; up = up->getParentOp())
    if (isa<LoopLikeOpInterface>(up)) return false;
  if (auto range = dyn_cast<scf::ForOp>(loop); range && dependsOnProgram(range.getLowerBound())) return true;
  return loop
      ->walk([&](LoopLikeOpInterface inner) {
        return inner.getOperation() != loop ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace

void beginTrace(KernelContext& cx) {
  cx.trace.cursor = cx.b.CreateAlloca(cx.b.getInt64Ty());
  cx.b.CreateStore(cx.b.getInt64(0), cx.trace.cursor);
  cx.trace.sites = new llvm::GlobalVariable(cx.module, cx.b.getInt32Ty(), true, llvm::GlobalValue::ExternalLinkage,
                                            nullptr, "sites", nullptr, llvm::GlobalValue::NotThreadLocal, 1);
}

// One thread for a program and for each of its added roles; where threads go ways of their own, the first of each warp
// that is here.
static llvm::Value* traceWriter(KernelContext& cx, Operation* op) {
  if (cx.role == Role::Producer && cx.producesByGroup)
    return cx.b.CreateICmpEQ(cx.threadId(), cx.b.getInt32(cx.numThreads()));
  if (cx.isOneThread()) return nullptr;
  if (isa<func::FuncOp>(op)) return cx.isFirstThread();
  bool apart = cx.threadValues(op).anyDiffers(op->getOperands()) || cx.threadValues(op).isDivergent(op);
  if (!apart) return cx.isFirstThread();
  llvm::Value* first = cx.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, cx.emit.activeMask(), cx.b.getTrue());
  return cx.b.CreateICmpEQ(cx.laneId(), first);
}

static unsigned traceSite(KernelContext& cx, const char* kind, Location loc) {
  auto at = filePosition(loc);
  std::string place =
      at ? at.getFilename().str() + ":" + std::to_string(at.getStartLine()) + ":" + std::to_string(at.getStartColumn())
         : "<unknown>:0:0";
  std::string line = std::string(kind) + " " + place;
  auto known = llvm::find(cx.trace.lines, line);
  unsigned site = unsigned(known - cx.trace.lines.begin());
  if (known == cx.trace.lines.end()) cx.trace.lines.push_back(line);
  return site;
}

// Returns the place of the first record of a new chunk. Branches to `none` when nobody traces or there is no room.
static llvm::Value* openChunk(KernelContext& cx, llvm::Value* cursor, llvm::BasicBlock* none) {
  llvm::BasicBlock *take = cx.newBlock("take"), *fill = cx.newBlock("fill");
  llvm::Type* wide = cx.b.getInt64Ty();
  llvm::Value* trace = rankField(cx, offsetof(tandem_dist_context, trace), cx.b.getPtrTy(1));
  cx.b.CreateCondBr(cx.b.CreateIsNull(trace), none, take);
  cx.b.SetInsertPoint(take);
  auto field = [&](size_t offset) { return cx.b.CreateGEP(cx.b.getInt8Ty(), trace, cx.b.getInt64(offset)); };
  llvm::Value* number = cx.emit.atomic(AtomicOp::Add, AtomicType::U64, field(offsetof(tandem_trace, taken)),
                                       cx.b.getInt64(1), {Order::Relaxed, Scope::Device, Space::Global, nullptr});
  llvm::Value* capacity = loadElement(cx, field(offsetof(tandem_trace, capacity)), wide, cx.b.getInt32(0));
  cx.b.CreateCondBr(cx.b.CreateICmpULT(number, capacity), fill, none);
  cx.b.SetInsertPoint(fill);
  llvm::Value* chunk = cx.b.CreateAdd(loadElement(cx, field(offsetof(tandem_trace, chunks)), wide, cx.b.getInt32(0)),
                                      cx.b.CreateMul(number, cx.b.getInt64(kChunk)));
  llvm::Value* header = cx.b.CreateIntToPtr(chunk, cx.b.getPtrTy(1));
  auto put = [&](size_t offset, llvm::ArrayRef<llvm::Value*> values) {
    cx.emit.store(values, cx.b.CreateGEP(cx.b.getInt8Ty(), header, cx.b.getInt64(offset)), nullptr);
  };
  put(offsetof(tandem_trace_chunk, previous), {cursor, cx.b.CreatePtrToInt(cx.trace.sites, wide)});
  Regs words = programIndex(cx);
  words.push_back(cx.b.CreateOr(cx.b.CreateShl(cx.ownWarp(), 16), cx.b.getInt32(int(cx.role))));
  put(offsetof(tandem_trace_chunk, program), words);
  return cx.b.CreateAdd(chunk, cx.b.getInt64(sizeof(tandem_trace_chunk)));
}

static void record(KernelContext& cx, llvm::Value* isWriter, unsigned site, llvm::Value* value) {
  cx.when(isWriter, [&] {
    llvm::Value *time = cx.emit.globalTimer(), *cursor = cx.b.CreateLoad(cx.b.getInt64Ty(), cx.trace.cursor);
    llvm::BasicBlock *before = cx.b.GetInsertBlock(), *open = cx.newBlock("open"), *write = cx.newBlock("record"),
                     *after = cx.newBlock("recorded");
    llvm::Value* isFull = cx.b.CreateICmpEQ(cx.b.CreateAnd(cursor, cx.b.getInt64(kChunk - 1)), cx.b.getInt64(0));
    cx.b.CreateCondBr(isFull, open, write);
    cx.b.SetInsertPoint(open);
    llvm::Value* first = openChunk(cx, cursor, after);
    llvm::BasicBlock* opened = cx.b.GetInsertBlock();
    cx.b.CreateBr(write);
    cx.b.SetInsertPoint(write);
    llvm::PHINode* at = cx.b.CreatePHI(cx.b.getInt64Ty(), 2);
    at->addIncoming(cursor, before);
    at->addIncoming(first, opened);
    llvm::Value* says = value ? cx.b.CreateZExtOrTrunc(value, cx.b.getInt32Ty()) : cx.b.getInt32(-1);
    llvm::Value* words =
        cx.b.CreateOr(cx.b.CreateShl(cx.b.CreateZExt(says, cx.b.getInt64Ty()), 32), cx.b.getInt64(site));
    cx.emit.store({time, words}, cx.b.CreateIntToPtr(at, cx.b.getPtrTy(1)), nullptr);
    cx.b.CreateStore(cx.b.CreateAdd(at, cx.b.getInt64(sizeof(tandem_trace_record))), cx.trace.cursor);
    cx.b.CreateBr(after);
    cx.b.SetInsertPoint(after);
  });
}

void traced(KernelContext& cx, const char* kind, Operation* op, llvm::Value* value, llvm::function_ref<void()> body) {
  if (!cx.trace.cursor) return body();
  unsigned site = traceSite(cx, kind, op->getLoc());
  llvm::Value* writer = traceWriter(cx, op);
  record(cx, writer, 2 * site, value);
  body();
  record(cx, writer, 2 * site + 1, nullptr);
}

void traceInstant(KernelContext& cx, const char* kind, Operation* op, llvm::Value* value) {
  if (cx.trace.cursor) record(cx, traceWriter(cx, op), 2 * traceSite(cx, kind, op->getLoc()), value);
}

void traceTiles(KernelContext& cx, Operation* loop, llvm::Value* number, llvm::function_ref<void()> body) {
  if (!cx.trace.cursor || !isOverTiles(loop)) return body();
  traced(cx, "tile", loop, number, body);
}

// The text of the sites is known when all have been met.
void finishTrace(KernelContext& cx) {
  if (!cx.trace.cursor) return;
  std::string lines = cx.image.name;
  for (const std::string& line : cx.trace.lines) lines += "\n" + line;
  llvm::Constant* length = cx.b.getInt32(unsigned(lines.size()));
  llvm::Constant* table =
      llvm::ConstantStruct::getAnon({length, llvm::ConstantDataArray::getString(cx.context, lines, false)});
  auto* sites = new llvm::GlobalVariable(cx.module, table->getType(), true, llvm::GlobalValue::InternalLinkage, table,
                                         "tandem_trace_sites", nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  cx.trace.sites->replaceAllUsesWith(sites);
  cx.trace.sites->eraseFromParent();
}

}  // namespace tandem::lower::gpu
