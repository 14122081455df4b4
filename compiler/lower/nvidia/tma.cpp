// Copies by the tensor memory accelerator: their tensor maps, loads into rings, stores from staging panels.
#include "compiler/codegen/nvidia/kernel.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include "compiler/transform/gpu/host_expr.h"
#include "compiler/transform/gpu/operands.h"

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
using transform::gpu::hostExpr;
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
  return a.element == b.element && same(a.base, b.base) && same(a.shape, b.shape) && same(a.strides, b.strides) && a.box == b.box &&
         a.swizzleBytes == b.swizzleBytes && a.nanFill == b.nanFill;
}

template <class Op> abi::TensorMapRecipe recipeOf(Op op, RankedTensorType tile) {
  abi::TensorMapRecipe recipe;
  recipe.element = elementOf(tile.getElementType());
  recipe.base = *hostExpr(op.getBase());
  for (mlir::Value v : op.getShape()) recipe.shape.push_back(*hostExpr(v));
  for (mlir::Value v : op.getStrides()) recipe.strides.push_back(*hostExpr(v));
  for (int64_t n : transform::gpu::tmaBox(tile)) recipe.box.push_back(n);
  recipe.swizzleBytes = transform::gpu::panelBytes(*transform::gpu::panelSwizzle(tile));
  return recipe;
}

RankedTensorType tileOf(mlir::Value buffer) {
  auto type = cast<tile::SmemType>(buffer.getType());
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

}  // namespace

void KernelLowering::collectTensorMaps(func::FuncOp kernel) {
  auto add = [&](Operation* op, const abi::TensorMapRecipe& recipe) {
    auto& maps = image_.tensorMaps;
    auto it = llvm::find_if(maps, [&](const auto& known) { return same(known, recipe); });
    tensorMaps_[op] = it - maps.begin();
    if (it == maps.end()) maps.push_back(recipe);
  };
  kernel.walk([&](tgpu::TmaLoadOp op) { add(op, recipeOf(op, tileOf(op.getBuffer()))); });
  kernel.walk([&](tile::BlockStoreOp op) {
    if (op->hasAttr("tgpu.tma")) add(op, recipeOf(op, cast<RankedTensorType>(op.getValue().getType())));
  });
}

llvm::Value* KernelLowering::tensorMapOf(Operation* op) { return function_->getArg(image_.params.size() + tensorMaps_.lookup(op)); }

bool KernelLowering::lowerTma(Operation* op) {
  if (auto load = dyn_cast<tgpu::TmaLoadOp>(op)) return lowerTmaLoad(load), true;
  if (auto store = dyn_cast<tile::BlockStoreOp>(op); store && store->hasAttr("tgpu.tma")) return lowerTmaStore(store), true;
  return false;
}

// One copy for each box of the tile.
void KernelLowering::lowerTmaLoad(tgpu::TmaLoadOp op) {
  RankedTensorType tile = tileOf(op.getBuffer());
  SmallVector<int64_t> box = transform::gpu::tmaBox(tile);
  Ring& ring = ringOf(op.getRing());
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  llvm::Value *row = useScalar(op.getOffsets()[0]), *column = useScalar(op.getOffsets()[1]);
  llvm::Value* slot = slotOffset(op.getBuffer(), op.getRing(), 0);
  llvm::Value* barrier = barrierOf(ring, ring.full, 0);
  for (int64_t c = 0; c < tile.getDimSize(1); c += box[1])
    for (int64_t r = 0; r < tile.getDimSize(0); r += box[0]) {
      int64_t offset = (c * tile.getDimSize(0) + r * box[1]) * bytes;
      Regs at{b_.CreateAdd(column, b_.getInt32(c)), b_.CreateAdd(row, b_.getInt32(r))};
      ptx::tensorLoad(b_, {tensorMapOf(op), at, sharedAddress(b_.CreateAdd(slot, b_.getInt32(offset))), barrier});
    }
}

// Panel by panel through two staging buffers: while one is read out, the other is filled.
void KernelLowering::lowerTmaStore(tile::BlockStoreOp op) {
  auto tile = cast<RankedTensorType>(op.getValue().getType());
  LinearLayout layout = layoutOf(op.getValue());
  unsigned bits = tile.getElementTypeBitWidth();
  layout::Swizzle swizzle = *transform::gpu::panelSwizzle(tile);
  SmallVector<int64_t> box = transform::gpu::tmaBox(tile), panel{tile.getDimSize(0), box[1]};
  LinearLayout offsets = layout::swizzledOffsets(panel, bits, swizzle);
  llvm::Value *row = useScalar(op.getOffsets()[0]), *column = useScalar(op.getOffsets()[1]);
  int64_t panelBytes = panel[0] * panel[1] * bits / 8, panels = tile.getDimSize(1) / panel[1];
  for (int64_t p = 0; p < panels; ++p) {
    Regs part;
    LinearLayout partLayout = panelLayout(layout, panel, p, use(op.getValue()), part);
    LinearLayout placed = layout::offsetsOf(partLayout, offsets);
    llvm::Value* base = sharedAddress(staging_ + (p % kStagingPanels) * panelBytes);
    when(isFirstThread(), [&] { ptx::waitBulk(b_, kStagingPanels - 1, true); });
    blockBarrier();
    storePanel(base, placed, part, bits);
    ptx::fenceProxyAsync(b_, ptx::ProxySpace::Shared);
    blockBarrier();
    when(isFirstThread(), [&] {
      for (int64_t r = 0; r < panel[0]; r += box[0]) {
        Regs at{b_.CreateAdd(column, b_.getInt32(p * panel[1])), b_.CreateAdd(row, b_.getInt32(r))};
        ptx::tensorStore(b_, {tensorMapOf(op), at, b_.CreateGEP(b_.getInt8Ty(), base, b_.getInt32(r * panel[1] * bits / 8))});
      }
      ptx::commitBulk(b_);
    });
  }
}

// The part of a tile in columns of panel `index`, which registers alone number.
LinearLayout KernelLowering::panelLayout(const LinearLayout& layout, ArrayRef<int64_t> panel, int64_t index, const Regs& regs, Regs& part) {
  LinearLayout inPanel(panel);
  auto project = [&](uint64_t basis) {
    llvm::SmallVector<int64_t> at = layout.coordinates(basis);
    at[1] %= panel[1];
    return inPanel.position(at);
  };
  LinearLayout out = layout.mapBases(panel, project);
  layout::Bases kept;
  llvm::SmallVector<unsigned> order{0};
  for (auto [bit, basis] : llvm::enumerate(layout.bases(Dim::Register))) {
    if (layout.coordinates(basis)[1] >= panel[1]) continue;
    kept.push_back(project(basis));
    for (size_t i = 0, n = order.size(); i < n; ++i) order.push_back(order[i] | 1u << bit);
  }
  out.mutableBases(Dim::Register) = kept;
  unsigned first = 0;
  for (auto [bit, basis] : llvm::enumerate(layout.bases(Dim::Register)))
    if (int64_t c = layout.coordinates(basis)[1]; c >= panel[1] && (index * panel[1] & c)) first |= 1u << bit;
  for (unsigned r : order) part.push_back(regs[first | r]);
  return out;
}

void KernelLowering::storePanel(llvm::Value* base, const LinearLayout& placed, const Regs& regs, unsigned bits) {
  Regs parts;
  for (llvm::Value* v : regs) parts.push_back(toBits(v));
  if (target_.hasStmatrix() && layout::fitsMatrix(placed, bits, false)) return storeMatrices(base, placed, parts, bits, false);
  int64_t vector = 16 * 8 / bits;
  auto whole = [&](int64_t v) {
    return llvm::all_of(layout::vectorGroups(placed, v), [&](const auto& g) { return int64_t(g.size()) == v; });
  };
  while (vector > 1 && !whole(vector)) vector /= 2;
  for (const auto& group : layout::vectorGroups(placed, vector)) {
    Regs values;
    for (unsigned r : group) values.push_back(parts[r]);
    storeShared(b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(position(placed, group[0]), b_.getInt32(bits / 8))), values);
  }
}

}  // namespace tandem::lower::nvidia
