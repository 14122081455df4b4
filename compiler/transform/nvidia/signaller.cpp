// The signaller is a slice of the consumers, as the producer is; mailboxes tell it that tiles are in shared memory, and
// that the writes before a notify have been made.
#include "compiler/transform/nvidia/signaller.h"
#include "compiler/analysis/axis_info.h"
#include "compiler/analysis/boxes.h"
#include "compiler/analysis/host_expr.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/producer.h"
#include "compiler/transform/nvidia/product_layouts.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
namespace {

constexpr int kSlots = 8;  // notifies under way

// Ops that do not publish anything by themselves, so that a notify before them may be late: plain accesses of the program
// and of its threads, and its threads' meetings.
bool publishesNothing(Operation* op) {
  if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op) || isMemoryEffectFree(op)) return true;
  std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
  if (!does || does->waits || isa<tgpu::TgpuDialect>(op->getDialect())) return does.has_value();
  bool areOwn = llvm::all_of(does->accesses, [](const tile::MemoryAccess& access) {
    if (access.memory == tile::Memory::Shared) return true;
    bool isPlain = access.order != tile::AccessOrder::Rule && access.memory == tile::Memory::Global;
    return isPlain && !(access.strong && access.writes);
  });
  return areOwn && !does->releases && !does->meetsOthers;
}

// Returns true if the signaller can store for the program without values that the program knows only when it runs.
bool fitsSignaller(tile::BlockStoreOp store, const analysis::AxisInfoAnalysis& axes) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  if (type.getRank() < 2 || type.getShape().take_back(2)[0] < target::kWgmma.rows || !fitsTma(store) ||
      !isMapOnHost(store) || isDivergent(store))
    return false;
  auto inner = store.getOffsets().take_back(2);
  return llvm::all_of(inner, [&](Value v) { return axes.of(v).nonNegative; }) &&
         axes.of(inner[1]).divisibility(0) % (128 / type.getElementTypeBitWidth()) == 0;
}

// Returns true if the op tells other programs, by an atomic whose old value nobody asks for, of a kernel that adds blocks to
// memory.
bool tellsOfSums(Operation* op) {
  auto update = dyn_cast<tile::AtomicRmwOp>(op);
  if (!update || update.getSem() != tile::Semantic::Release || !update.use_empty() || update.getMask() ||
      isa<RankedTensorType>(update.getPointer().getType()) || isDivergent(op))
    return false;
  return op->getParentOfType<func::FuncOp>()
      .walk(
          [](tile::BlockStoreOp store) { return store.getReduce() ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

bool addsToMemory(tile::BlockStoreOp store) { return store.getReduce().has_value(); }

class Search {
 public:
  explicit Search(Block& body) : body_(body) {}

  std::optional<Signals> run() {
    body_.walk([&](Operation* op) {
      if (isa<dist::NotifyOp>(op) || tellsOfSums(op)) found_.notifies.push_back(op);
    });
    if (found_.notifies.empty()) return std::nullopt;
    findStores();
    if (llvm::none_of(found_.stores, addsToMemory)) found_.leaveAtomics();
    if (!findPublications()) found_.leaveStores();
    if (found_.notifies.empty() || !findPublications()) return std::nullopt;
    findWaits();
    return found_;
  }

 private:
  void findStores() {
    auto kernel = dyn_cast<func::FuncOp>(body_.getParentOp());
    if (!kernel) return;
    analysis::AxisInfoAnalysis axes(kernel);
    SmallVector<Operation*> fitting;
    kernel.walk([&](tile::BlockStoreOp store) {
      if (!fitsSignaller(store, axes)) return;
      auto type = analysis::matrixOf(cast<RankedTensorType>(store.getValue().getType()));
      if (fitting.empty() ||
          type == analysis::matrixOf(cast<RankedTensorType>(cast<tile::BlockStoreOp>(fitting[0]).getValue().getType())))
        fitting.push_back(store);
    });
    for (Operation* op : fitting) {
      auto store = cast<tile::BlockStoreOp>(op);
      BlockArgument base = argumentBehind(store.getBase());
      if (base && areOnlyAccesses(fitting, base)) found_.stores.push_back(store);
    }
  }

  // Waits for a sum's turn: what their tokens reach is stored by the signaller, some of it added to memory.
  void findWaits() {
    body_.walk([&](dist::WaitOp wait) {
      bool adds = false;
      if (isForStores(wait, adds) && adds) found_.waits.push_back(wait);
    });
  }

  // Returns true if all that is computed from what the op gives are places of the signaller's stores.
  bool isForStores(Operation* op, bool& adds) const {
    return llvm::all_of(op->getUsers(), [&](Operation* user) {
      auto store = dyn_cast<tile::BlockStoreOp>(user);
      if (store) adds |= addsToMemory(store);
      if (store) return llvm::is_contained(found_.stores, store);
      bool isPure = isMemoryEffectFree(user) && !user->getNumRegions() && !user->hasTrait<OpTrait::IsTerminator>();
      return isPure && isForStores(user, adds);
    });
  }

  // Ops that publish after the signals wait until these are sent. If such an op lies among the signals, that would be
  // often: then nothing is gained; nor if it is some threads' alone. Those before all signals wait for none.
  bool findPublications() {
    found_.publications.clear();
    SmallVector<Operation*> moved(found_.notifies);
    llvm::append_range(moved, found_.stores);
    auto placeOf = [&](Operation* op) { return body_.findAncestorOpInBlock(*op); };
    return !body_
                .walk([&](Operation* op) {
                  if (op->hasTrait<OpTrait::IsTerminator>() || llvm::is_contained(moved, op) || publishesNothing(op))
                    return WalkResult::advance();
                  bool isAfter = false, isAmong = false;
                  for (Operation* signal : moved) {
                    isAmong |= placeOf(signal) == placeOf(op);
                    isAfter |= placeOf(signal)->isBeforeInBlock(placeOf(op));
                  }
                  if (isAfter) found_.publications.push_back(op);
                  isAmong |= isAfter && isDivergent(op);
                  return isAmong ? WalkResult::interrupt() : WalkResult::advance();
                })
                .wasInterrupted();
  }

  Block& body_;
  Signals found_;
};

class Delegation {
 public:
  Delegation(tgpu::WarpSpecializeOp roles, const Signals& signals)
      : roles_(roles), consumer_(roles.getConsumer().front()), signals_(signals) {}

  void run() {
    SmallVector<Operation*> moved(signals_.notifies);
    llvm::append_range(moved, signals_.stores);
    auto needed = neededFor(consumer_, moved, signals_.publications);
    if (!needed || llvm::any_of(needed->ops, [](Operation* op) { return isa<dist::SignalWaitOp>(op); })) return;
    OpBuilder builder(roles_);
    Location loc = roles_.getLoc();
    mailbox_ = tgpu::RingOp::create(builder, loc, builder.getI32Type(), kSlots, 0, false, true);
    if (!signals_.publications.empty()) answer_ = tgpu::RingOp::create(builder, loc, builder.getI32Type(), 1, 0);
    if (!signals_.stores.empty()) makeStaging(builder, loc);
    OpBuilder inSignaller = OpBuilder::atBlockEnd(&roles_.getSignaller().emplaceBlock());
    IRMapping mapping;
    cloneNeeded(consumer_, *needed, inSignaller, mapping,
                [&](Operation* op, OpBuilder& b, IRMapping& map) { return receive(op, b, map); });
    for (tile::BlockStoreOp store : signals_.stores) stage(store);
    for (tile::BlockStoreOp store : signals_.stores) store.erase();
    for (dist::WaitOp wait : signals_.waits) eraseWithUsers(wait);
    for (Operation* op : signals_.notifies) {
      post(op);
      op->erase();
    }
    for (Operation* op : signals_.publications) {
      post(op);
      OpBuilder b(op);
      tgpu::AwaitOp::create(b, op->getLoc(), answer_);
      tgpu::AdvanceOp::create(b, op->getLoc(), answer_);
      tgpu::ReleaseOp::create(b, op->getLoc(), answer_);
    }
  }

 private:
  void makeStaging(OpBuilder& builder, Location loc) {
    RankedTensorType piece = signals_.piece();
    staged_ = tgpu::RingOp::create(builder, loc, builder.getI32Type(), 1, 0, false, true);
    buffer_ = tgpu::AllocOp::create(
        builder, loc, tile::SmemType::get(builder.getContext(), piece.getShape(), piece.getElementType()),
        builder.getI32IntegerAttr(1), builder.getI32IntegerAttr(analysis::panelBytes(*analysis::panelSwizzle(piece))),
        nullptr);
  }

  // What is computed from the token is nobody's any more but the signaller's.
  static void eraseWithUsers(Operation* op) {
    for (Operation* user : llvm::make_early_inc_range(op->getUsers())) eraseWithUsers(user);
    op->erase();
  }

  // Makes the op in the signaller.
  bool receive(Operation* op, OpBuilder& b, IRMapping& mapping) {
    if (auto wait = dyn_cast<dist::WaitOp>(op)) {
      if (llvm::is_contained(signals_.waits, wait)) return false;
      // The program has waited before it wrote to the mailbox.
      mapping.map(wait.getToken(), arith::ConstantIntOp::create(b, op->getLoc(), 0, 32));
      return true;
    }
    if (auto store = dyn_cast<tile::BlockStoreOp>(op); store && llvm::is_contained(signals_.stores, store))
      return send(store, b, mapping);
    bool isSignal = llvm::is_contained(signals_.notifies, op);
    if (!isSignal && !llvm::is_contained(signals_.publications, op)) return false;
    tgpu::AwaitOp::create(b, op->getLoc(), mailbox_);
    if (isSignal) b.clone(*op, mapping);
    tgpu::ReleaseOp::create(b, op->getLoc(), mailbox_);
    tgpu::AdvanceOp::create(b, op->getLoc(), mailbox_);
    if (isSignal) return true;
    tgpu::AcquireOp::create(b, op->getLoc(), answer_, IntegerAttr());
    tgpu::CommitOp::create(b, op->getLoc(), answer_);
    return true;
  }

  bool send(tile::BlockStoreOp store, OpBuilder& b, IRMapping& mapping) {
    Location loc = store.getLoc();
    auto here = [&](ValueRange values) {
      return llvm::map_to_vector(values, [&](Value v) { return mapping.lookupOrDefault(v); });
    };
    // Memory that blocks are combined with is the device's own: no link is to be shared.
    bool isPaced = llvm::none_of(signals_.stores, addsToMemory);
    for (int piece = 0; piece < signals_.pieces; ++piece) {
      SmallVector<Value> offsets = here(store.getOffsets());
      if (piece) {
        Value from = arith::ConstantIntOp::create(b, loc, piece * signals_.piece().getDimSize(1), 32);
        offsets.back() = arith::AddIOp::create(b, loc, offsets.back(), from);
      }
      tgpu::AwaitOp::create(b, loc, staged_);
      tgpu::TmaStoreOp::create(b, loc, mapping.lookupOrDefault(store.getBase()), here(store.getShape()),
                               here(store.getStrides()), offsets, buffer_, staged_, store.getReduceAttr(), isPaced);
      tgpu::ReleaseOp::create(b, loc, staged_);
      tgpu::AdvanceOp::create(b, loc, staged_);
    }
    return true;
  }

  void stage(tile::BlockStoreOp store) {
    OpBuilder b(store);
    Location loc = store.getLoc();
    Value tile = matrixBehind(store.getValue(), b);
    for (int piece = 0; piece < signals_.pieces; ++piece) {
      tgpu::AcquireOp::create(b, loc, staged_, IntegerAttr());
      tgpu::StageOp::create(b, loc, tile, buffer_, staged_,
                            b.getI32IntegerAttr(piece * signals_.piece().getDimSize(1)));
      tgpu::CommitOp::create(b, loc, staged_);
    }
  }

  static Value matrixBehind(Value tile, OpBuilder& b) {
    auto type = cast<RankedTensorType>(tile.getType());
    RankedTensorType matrix = analysis::matrixOf(type);
    if (type == matrix) return tile;
    Operation* op = tile.getDefiningOp();
    if (isa_and_nonnull<tile::ReshapeOp, tile::ExpandDimsOp>(op) && op->getOperand(0).getType() == matrix)
      return op->getOperand(0);
    return tile::ReshapeOp::create(b, tile.getLoc(), matrix, tile);
  }

  void post(Operation* before) {
    OpBuilder b(before);
    tgpu::AcquireOp::create(b, before->getLoc(), mailbox_, IntegerAttr());
    tgpu::CommitOp::create(b, before->getLoc(), mailbox_);
  }

  tgpu::WarpSpecializeOp roles_;
  Block& consumer_;
  const Signals& signals_;
  Value mailbox_, answer_, staged_, buffer_;
};

}  // namespace

RankedTensorType Signals::tile() const {
  tile::BlockStoreOp store = stores.front();
  return analysis::matrixOf(cast<RankedTensorType>(store.getValue().getType()));
}

RankedTensorType Signals::piece() const {
  return RankedTensorType::get({tile().getDimSize(0), tile().getDimSize(1) / pieces}, tile().getElementType());
}

void Signals::leaveAtomics() {
  llvm::erase_if(notifies, [](Operation* op) { return !isa<dist::NotifyOp>(op); });
}

void Signals::leaveStores() {
  stores.clear();
  waits.clear();
  leaveAtomics();
}

int64_t Signals::stagedBytes() const { return stores.empty() ? 0 : llvm::alignTo(bytesOf(piece()), 1024); }

std::optional<Signals> findSignals(Block& body) { return Search(body).run(); }

bool canStage(RankedTensorType tile, int pieces, int numWarps) {
  int64_t width = tile.getDimSize(1) / pieces;
  if (!width || !analysis::panelSwizzle(RankedTensorType::get({tile.getDimSize(0), width}, tile.getElementType())))
    return false;
  layout::LinearLayout layout = wgmmaResult(tile, numWarps);
  auto isInside = [&](uint64_t basis) { return layout.coordinates(basis)[1] < width; };
  return llvm::all_of(layout.bases(layout::Dim::Lane), isInside) &&
         llvm::all_of(layout.bases(layout::Dim::Warp), isInside);
}

void delegateSignals(tgpu::WarpSpecializeOp roles, const Signals& signals) { Delegation(roles, signals).run(); }

}  // namespace tandem::transform::nvidia
