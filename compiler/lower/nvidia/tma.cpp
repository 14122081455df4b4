// Copies by the tensor memory accelerator: their tensor maps, loads into rings, stores from staging panels.
#include "compiler/analysis/boxes.h"
#include "compiler/analysis/host_expr.h"
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tgpu/bulk_store.h"
#include "compiler/layout/shape.h"
#include "compiler/lower/gpu/block_memory.h"
#include "compiler/lower/gpu/convert.h"
#include "compiler/lower/gpu/trace.h"
#include "compiler/lower/nvidia/made_maps.h"
#include "compiler/lower/nvidia/matrix.h"
#include "compiler/lower/nvidia/ring.h"
#include "compiler/lower/nvidia/tma.h"

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
namespace {

abi::TensorMapRecipe::Element elementOf(mlir::Type type) {
  using E = abi::TensorMapRecipe::Element;
  if (type.isF16()) return E::F16;
  if (type.isBF16()) return E::BF16;
  if (type.isF32()) return E::F32;
  if (type.isF64()) return E::F64;
  switch (type.getIntOrFloatBitWidth()) {
    case 8: return E::U8;
    case 16: return E::U16;
    case 32: return E::U32;
    default: return E::U64;
  }
}

bool same(const abi::HostExpr& a, const abi::HostExpr& b) {
  return llvm::equal(a.steps, b.steps, [](const auto& x, const auto& y) { return x.op == y.op && x.value == y.value; });
}
bool same(const std::vector<abi::HostExpr>& a, const std::vector<abi::HostExpr>& b) {
  return llvm::equal(a, b, [](const auto& x, const auto& y) { return same(x, y); });
}
bool same(const abi::TensorMapRecipe& a, const abi::TensorMapRecipe& b) {
  return a.element == b.element && same(a.base, b.base) && same(a.shape, b.shape) && same(a.strides, b.strides) &&
         a.box == b.box && a.swizzleBytes == b.swizzleBytes && a.nanFill == b.nanFill;
}

// All but the expressions.
abi::TensorMapRecipe formOf(size_t rank, RankedTensorType tile, ArrayRef<int64_t> box) {
  abi::TensorMapRecipe recipe;
  recipe.element = elementOf(tile.getElementType());
  recipe.box.assign(rank - box.size(), 1);
  recipe.box.insert(recipe.box.end(), box.begin(), box.end());
  recipe.swizzleBytes = analysis::panelBytes(*analysis::panelSwizzle(tile));
  return recipe;
}

// Adds the expressions by which the launcher makes the map. Returns false if it cannot.
template <class Op>
bool addExpressions(Op op, abi::TensorMapRecipe& recipe) {
  auto add = [](mlir::ValueRange values, std::vector<abi::HostExpr>& to) {
    return llvm::all_of(values, [&](mlir::Value v) {
      std::optional<abi::HostExpr> expression = analysis::hostExpr(v);
      if (expression) to.push_back(std::move(*expression));
      return expression.has_value();
    });
  };
  std::optional<abi::HostExpr> base = analysis::hostExpr(op.getBase());
  if (!base || !add(op.getShape(), recipe.shape) || !add(op.getStrides(), recipe.strides)) return false;
  recipe.base = std::move(*base);
  return true;
}

RankedTensorType tileOf(mlir::Value buffer) {
  auto type = cast<tile::SmemType>(buffer.getType());
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

// Returns the box that the signaller stores at once: as little as the swizzle's pattern allows, so that loads need not
// wait long behind it.
SmallVector<int64_t> boxOf(tgpu::TmaStoreOp op) {
  constexpr int64_t kSwizzledRows = 8;
  SmallVector<int64_t> box = analysis::tmaStoreBox(tileOf(op.getBuffer()));
  if (op.getPaced()) box[0] = kSwizzledRows;
  return box;
}

SmallVector<int64_t> loadBox(tgpu::TmaLoadOp op, int64_t blocks) {
  RankedTensorType tile = tileOf(op.getBuffer());
  SmallVector<int64_t> box = op.getMulticast() ? *analysis::multicastBox(tile, blocks) : analysis::tmaBox(tile);
  if (std::optional<int64_t> rows = tgpu::rowsCopied(op)) box[0] = *rows;
  return box;
}

}  // namespace

namespace {

// Calls `copy` with each box's offset in the slot, in bytes, and its row and column in the tile.
void forEachBox(RankedTensorType tile, ArrayRef<int64_t> box,
                llvm::function_ref<void(int64_t, int64_t, int64_t)> copy) {
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  for (int64_t c = 0; c < tile.getDimSize(1); c += box[1])
    for (int64_t r = 0; r < tile.getDimSize(0); r += box[0]) copy((c * tile.getDimSize(0) + r * box[1]) * bytes, r, c);
}

}  // namespace

void collectTensorMaps(KernelContext& cx, func::FuncOp kernel) {
  auto add = [&](auto op, RankedTensorType tile, ArrayRef<int64_t> box, unsigned makers, bool isStored) {
    abi::TensorMapRecipe recipe = formOf(op.getShape().size(), tile, box);
    if (!addExpressions(op, recipe)) {
      MadeMap made;
      made.base = op.getBase();
      made.shape = llvm::to_vector(op.getShape());
      made.strides = llvm::to_vector(op.getStrides());
      made.form = formOf(op.getShape().size(), tile, box);
      made.makers = makers;
      made.isStored = isStored;
      return addMadeMap(cx, op, std::move(made));
    }
    auto& maps = cx.image.tensorMaps;
    auto it = llvm::find_if(maps, [&](const auto& known) { return same(known, recipe); });
    cx.tensorMaps[op] = it - maps.begin();
    if (it == maps.end()) maps.push_back(recipe);
  };
  kernel.walk([&](tgpu::TmaLoadOp op) {
    RankedTensorType tile = tileOf(op.getBuffer());
    add(op, tile, loadBox(op, cx.blocks), 1, false);
  });
  kernel.walk([&](tgpu::TmaStoreOp op) {
    add(op, tileOf(op.getBuffer()), boxOf(op), 1, true);
    cx.signallerStores = true;
  });
  kernel.walk([&](tile::BlockStoreOp op) {
    if (!tgpu::isBulk(op)) return;
    RankedTensorType tile = analysis::matrixOf(cast<RankedTensorType>(op.getValue().getType()));
    add(op, tile, analysis::tmaStoreBox(tile), std::max(1, cx.numWarps / 4), true);
  });
}

// The address of a map that the launcher makes.
static llvm::Value* tensorMapOf(KernelContext& cx, Operation* op) {
  return cx.function->getArg(cx.image.params.size() + cx.tensorMaps.lookup(op));
}

// Innermost first.
static Regs boxCoordinates(KernelContext& cx, mlir::ValueRange offsets, llvm::Value* row, llvm::Value* column) {
  Regs at;
  for (mlir::Value offset : llvm::reverse(offsets)) at.push_back(cx.useScalar(offset));
  at[0] = cx.b.CreateAdd(at[0], column);
  at[1] = cx.b.CreateAdd(at[1], row);
  return at;
}

// The boxes lie in the slot one after the other, down the columns. If the boxes are for all blocks, each block copies
// an equal number of them, to the same place in each block; every block's barrier counts the bytes that come to it.
static void lowerTmaLoad(KernelContext& cx, tgpu::TmaLoadOp op) {
  Ring& ring = cx.ringOf(op.getRing());
  RankedTensorType tile = tileOf(op.getBuffer());
  SmallVector<int64_t> box = loadBox(op, cx.blocks);
  std::optional<int64_t> rows = tgpu::rowsCopied(op);  // of all boxes, the first in each panel of columns
  int64_t down = rows ? 1 : tile.getDimSize(0) / box[0], boxes = down * tile.getDimSize(1) / box[1];
  int64_t boxBytes = (rows ? tile.getDimSize(0) : box[0]) * box[1] * tile.getElementTypeBitWidth() / 8;
  llvm::Value *first = cx.b.getInt32(0), *toAll = nullptr;
  if (op.getMulticast()) {
    boxes /= cx.blocks;
    first = cx.b.CreateMul(cx.emit.blockRank(), cx.b.getInt32(boxes));
    toAll = cx.b.getInt16((1 << cx.blocks) - 1);
  }
  llvm::Value* slot = slotOffset(cx, op.getBuffer(), op.getRing(), 0);
  llvm::Value* barrier = barrierOf(cx, ring, ring.full, 0);
  // The policy is made at the kernel's begin. Copies that need none name none: the normal policy, named, is slower.
  llvm::BasicBlock& entry = cx.function->getEntryBlock();
  llvm::IRBuilder<> early(&entry, entry.begin());
  llvm::Value* policy = op.getEvictFirst() ? ptx::cachePolicy(early, ptx::Evict::First) : nullptr;
  bool isMade = cx.madeMapOf.contains(op);
  llvm::Value* map = isMade ? mapOfLoad(cx, op) : tensorMapOf(cx, op);
  for (int64_t i = 0; i < boxes; ++i) {
    llvm::Value* index = cx.b.CreateAdd(first, cx.b.getInt32(i));
    llvm::Value* row = cx.b.CreateMul(cx.b.CreateAnd(index, cx.b.getInt32(down - 1)), cx.b.getInt32(box[0]));
    llvm::Value* column = cx.b.CreateMul(cx.b.CreateLShr(index, llvm::Log2_64(down)), cx.b.getInt32(box[1]));
    llvm::Value* offset = cx.b.CreateMul(index, cx.b.getInt32(boxBytes));
    Regs at = boxCoordinates(cx, op.getOffsets(), row, column);
    if (isMade) at[0] = unlessEmpty(cx, op, at[0]);
    ptx::tensorLoad(cx.b, {map, at, cx.sharedAddress(cx.b.CreateAdd(slot, offset)), barrier, toAll, policy});
  }
  if (!rows) return;
  int64_t left = (tile.getDimSize(0) - *rows) * tile.getDimSize(1) * tile.getElementTypeBitWidth() / 8;
  ptx::mbarrierComplete(cx.b, barrier, cx.b.getInt32(left));
}

static ptx::BulkReduction reductionOf(std::optional<tile::Rmw> how) {
  using R = tile::Rmw;
  using B = ptx::BulkReduction;
  if (!how) return B::None;
  return *how == R::And ? B::And : *how == R::Or ? B::Or : *how == R::Xor ? B::Xor : B::Add;
}

// The signaller executes this. Everything that the program has seen by ordinary accesses comes before the copies'
// writes. Where copies are paced, each waits until the one before has left shared memory: more of them to a busy link
// would hold up the loads behind them.
static void lowerTmaStore(KernelContext& cx, tgpu::TmaStoreOp op) {
  llvm::Value* slot = slotOffset(cx, op.getBuffer(), op.getRing(), 1);
  ptx::fenceProxyAsync(cx.b);
  RankedTensorType tile = tileOf(op.getBuffer());
  bool isPaced = op.getPaced();
  forEachBox(tile, boxOf(op), [&](int64_t offset, int64_t row, int64_t column) {
    Regs at = boxCoordinates(cx, op.getOffsets(), cx.b.getInt32(row), cx.b.getInt32(column));
    ptx::tensorStore(cx.b, {tensorMapOf(cx, op), at, cx.sharedAddress(cx.b.CreateAdd(slot, cx.b.getInt32(offset)))},
                     reductionOf(op.getReduce()));
    if (!isPaced) return;
    ptx::commitBulk(cx.b);
    ptx::waitBulk(cx.b, 0, true);
  });
  if (!isPaced) ptx::commitBulk(cx.b);
  ptx::waitBulk(cx.b, 0, !isPaced);
}

struct Panel {
  LinearLayout layout;  // of the registers named, in the panel
  llvm::SmallVector<unsigned> registers;
  int64_t row = 0, column = 0;
};

// The panels that registers number, and in each the layout of the registers and of the group's threads.
static std::vector<Panel> panelsOf(const LinearLayout& layout, ArrayRef<int64_t> panel, size_t warpBits) {
  LinearLayout inPanel(panel);
  auto isInside = [&](uint64_t basis) {
    llvm::SmallVector<int64_t> at = layout.coordinates(basis);
    return at[0] < panel[0] && at[1] < panel[1];
  };
  auto project = [&](ArrayRef<uint64_t> bases) {
    layout::Bases out;
    for (uint64_t basis : bases) out.push_back(inPanel.position(layout.coordinates(basis)));
    return out;
  };
  layout::Bases inner;
  llvm::SmallVector<unsigned> within{0}, panels{0};
  for (auto [bit, basis] : llvm::enumerate(layout.bases(Dim::Register))) {
    llvm::SmallVector<unsigned>& numbers = isInside(basis) ? within : panels;
    if (isInside(basis)) inner.push_back(basis);
    for (size_t i = 0, n = numbers.size(); i < n; ++i) numbers.push_back(numbers[i] | 1u << bit);
  }
  layout::Bases warps = project(layout.bases(Dim::Warp).take_front(warpBits));
  warps.resize(layout.bases(Dim::Warp).size(), 0);
  LinearLayout part(panel, project(inner), project(layout.bases(Dim::Lane)), warps);
  std::vector<Panel> out;
  for (unsigned first : panels) {
    llvm::SmallVector<int64_t> at = layout.coordinates(layout.apply(Dim::Register, first));
    Panel& p = out.emplace_back(Panel{part, {}, at[0], at[1]});
    for (unsigned r : within) p.registers.push_back(first | r);
  }
  return out;
}

// Each warp its part; nobody waits for the others but the signaller.
static void lowerStage(KernelContext& cx, tgpu::StageOp op) {
  RankedTensorType piece = tileOf(op.getBuffer());
  LinearLayout layout = cx.layoutOf(op.getValue());
  unsigned bits = piece.getElementTypeBitWidth();
  llvm::Value* base = cx.sharedAddress(slotOffset(cx, op.getBuffer(), op.getRing(), kFill));
  if (!cx.buffers.find(op.getBuffer())->second.swizzle)  // threads read it
    return storePlaced(cx, base, layout::offsetsOf(layout, layout::plainOffsets(piece.getShape())),
                       cx.use(op.getValue()), bits);
  LinearLayout offsets = layout::swizzledOffsets(piece.getShape(), bits, *analysis::panelSwizzle(piece));
  for (const Panel& panel : panelsOf(layout, piece.getShape(), layout.bases(Dim::Warp).size())) {
    if (panel.column != int64_t(op.getColumn())) continue;
    Regs regs;
    for (unsigned r : panel.registers) regs.push_back(cx.use(op.getValue())[r]);
    storePlaced(cx, base, layout::offsetsOf(panel.layout, offsets), regs, bits);
  }
  ptx::fenceProxyAsync(cx.b, ptx::ProxySpace::Shared);
}

// Each group of four warps stores its own panels through staging buffers of its own: while one is read out, the next is
// filled, and no group waits for another.
static void lowerTmaStore(KernelContext& cx, tile::BlockStoreOp op) {
  RankedTensorType tile = analysis::matrixOf(cast<RankedTensorType>(op.getValue().getType()));
  LinearLayout layout = layout::inferReshape(cx.layoutOf(op.getValue()), tile.getShape());
  unsigned bits = tile.getElementTypeBitWidth();
  SmallVector<int64_t> panel = analysis::tmaStoreBox(tile);
  LinearLayout offsets = layout::swizzledOffsets(panel, bits, *analysis::panelSwizzle(tile));
  int64_t panelBytes = panel[0] * panel[1] * bits / 8;
  llvm::Value *warp = cx.ownWarp(), *group = cx.b.CreateLShr(warp, 2);
  // This is where the group's part of the tile begins.
  Regs groupAt = cx.coordinates(
      xorOfMasks(cx, group, layout.bases(Dim::Warp).drop_front(std::min<size_t>(2, layout.bases(Dim::Warp).size()))),
      layout.shape());
  Regs corner = boxCoordinates(cx, op.getOffsets(), groupAt[0], groupAt[1]);
  llvm::Value* staging = cx.sharedAddress(cx.b.CreateAdd(
      cx.b.CreateMul(group, cx.b.getInt32(cx.stagingBytes / std::max(1, cx.numWarps / 4))), cx.b.getInt32(cx.staging)));
  llvm::Value* isLeader = cx.b.CreateICmpEQ(cx.b.CreateAnd(cx.threadId(), 127), cx.b.getInt32(0));
  auto groupBarrier = [&] {
    llvm::Value* id = cx.b.CreateAdd(group, cx.b.getInt32(KernelContext::kGroupBarrier));
    ptx::barrierSync(cx.b, id, cx.b.getInt32(32 * std::min(4, cx.numWarps)));
  };
  if (cx.stagesInRings) cx.emit.blockBarrier();  // other groups' products may still read the ring
  bool isMade = cx.madeMapOf.contains(op);
  if (isMade) {
    corner[0] = unlessEmpty(cx, op, corner[0]);
    makeMapOfStore(cx, op);
  }
  std::vector<Panel> panels = panelsOf(layout, panel, 2);
  // Panels are stored all at once where there is room, else half of the room at a time. Earlier stores may be anywhere
  // in the room.
  size_t total = panels.size(), room = cx.stagingPanels, batch = room >= total ? total : std::max<size_t>(1, room / 2);
  for (size_t first = 0; first < total; first += batch) {
    auto baseOf = [&](size_t index) {
      return cx.b.CreateGEP(cx.b.getInt8Ty(), staging, cx.b.getInt32(index % room * panelBytes));
    };
    size_t last = std::min(first + batch, total);
    bool completes = first == 0 && tgpu::completesOwn(op);
    cx.when(isLeader, [&] { ptx::waitBulk(cx.b, first ? room / batch - 1 : 0, !completes); });
    groupBarrier();
    for (size_t index = first; index < last; ++index) {
      Regs regs;
      for (unsigned r : panels[index].registers) regs.push_back(cx.use(op.getValue())[r]);
      storePlaced(cx, baseOf(index), layout::offsetsOf(panels[index].layout, offsets), regs, bits);
    }
    ptx::fenceProxyAsync(cx.b, ptx::ProxySpace::Shared);
    groupBarrier();
    cx.when(isLeader, [&] {
      llvm::Value* map = isMade ? madeMap(cx, op, group) : tensorMapOf(cx, op);
      for (size_t index = first; index < last; ++index) {
        Regs at = corner;
        at[0] = cx.b.CreateAdd(at[0], cx.b.getInt32(panels[index].column));
        at[1] = cx.b.CreateAdd(at[1], cx.b.getInt32(panels[index].row));
        ptx::tensorStore(cx.b, {map, at, baseOf(index)}, reductionOf(op.getReduce()));
      }
      ptx::commitBulk(cx.b);
    });
  }
}

// Calls `use` with the store's values in a branch, into which those narrower than a word come in words, as TMA's branch
// takes them: one by one they would be in a register each before either branch.
static void whenInWords(KernelContext& cx, llvm::Value* condition, tile::BlockStoreOp store,
                        llvm::function_ref<void(const Regs&)> use) {
  const Regs values = cx.use(store.getValue());
  llvm::Type* element = values[0]->getType();
  unsigned bits = cx.bitsOf(element);
  if (bits >= 32 || values.size() * bits % 32) return cx.when(condition, [&] { use(values); });
  Regs parts;
  for (llvm::Value* v : values) parts.push_back(cx.toBits(v));
  Regs words = cx.pack(parts, 32);
  cx.when(condition, [&] {
    for (llvm::Value*& word : words) word = ptx::concealed(cx.b, word);
    Regs own = cx.unpack(words, bits, values.size());
    for (llvm::Value*& v : own) v = cx.fromBits(v, element);
    use(own);
  });
}

// The threads store what TMA would leave out.
static void lowerBulkStore(KernelContext& cx, tile::BlockStoreOp store) {
  llvm::Value* misfit = nullptr;
  auto exclude = [&](llvm::Value* condition) { misfit = misfit ? cx.b.CreateOr(misfit, condition) : condition; };
  for (tgpu::UncertainOffset o : tgpu::uncertainOffsets(store)) {
    llvm::Value* offset = cx.useScalar(o.offset);
    exclude(o.multiple == 1
                ? cx.b.CreateICmpSLT(offset, cx.b.getInt32(0))
                : cx.b.CreateICmpNE(cx.b.CreateAnd(offset, cx.b.getInt32(o.multiple - 1)), cx.b.getInt32(0)));
  }
  traced(cx, "store", store, nullptr, [&] {
    if (!misfit) return lowerTmaStore(cx, store);
    whenInWords(cx, misfit, store, [&](const Regs& values) { lowerBlockStore(cx, store, values); });
    cx.when(cx.b.CreateNot(misfit), [&] { lowerTmaStore(cx, store); });
  });
}

void registerTma(Lowerings& table) {
  on<tgpu::TmaLoadOp>(table, [](KernelContext& cx, auto o) { byOneProducer(cx, o, [&] { lowerTmaLoad(cx, o); }); });
  on<tgpu::StageOp>(table, [](KernelContext& cx, auto o) { lowerStage(cx, o); });
  on<tgpu::TmaStoreOp>(
      table, [](KernelContext& cx, auto o) { traced(cx, "store", o, nullptr, [&] { lowerTmaStore(cx, o); }); });
  on<tile::BlockStoreOp>(table, [](KernelContext& cx, auto o) {
    const Regs values = cx.use(o.getValue());
    if (tgpu::isBulk(o))
      lowerBulkStore(cx, o);
    else
      lowerBlockStore(cx, o, values);
  });
}

}  // namespace tandem::lower::nvidia
