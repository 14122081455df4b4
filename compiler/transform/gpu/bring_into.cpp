// A plan's cost counts what several of its ops need once. Costs are in quarter cycles of a multiprocessor for each
// warp: the time of one instruction on 32 bits.
#include "compiler/transform/gpu/bring_into.h"
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/access.h"
#include "compiler/layout/conversion.h"
#include "compiler/transform/gpu/layout_rules.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Matchers.h>

namespace tandem::transform::gpu {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
using tgpu::layoutOf;
using tgpu::setLayout;
namespace {

constexpr size_t kMostPlans = 96;
constexpr int64_t kIterations = 8;  // of a loop, as far as costs go

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

unsigned bitsOf(Type tile) {
  Type element = cast<RankedTensorType>(tile).getElementType();
  return isa<tile::PtrType>(element) ? 64 : std::max(8u, element.getIntOrFloatBitWidth());
}

// A tile that is repeated many times over is brought into a layout before it is repeated, whatever it took to compute.
bool isManyTimesLarger(Value tile, Value source) {
  auto sizeOf = [](Value v) { return cast<RankedTensorType>(v.getType()).getNumElements(); };
  return isTile(source) && sizeOf(tile) >= 16 * sizeOf(source);
}

// Returns true if what becomes of the tile at `place` is moved out of a loop there.
bool isFromOutside(Value tile, Operation* place) {
  auto loop = place->getParentOfType<scf::ForOp>();
  return loop && !loop.getRegion().isAncestor(tile.getParentRegion());
}

// Registers of a thread that hold different elements.
int64_t registersOf(const LinearLayout& layout) {
  return layout.numRegisters() >> llvm::popcount(layout.freeMask(Dim::Register));
}

bool isPowerOfTwo(Value tile) {
  DenseElementsAttr elements;
  return matchPattern(tile, m_Constant(&elements)) && elements.isSplat() &&
         elements.getSplatValue<APInt>().isPowerOf2();
}

bool isConstant(Value tile) {
  DenseElementsAttr elements;
  return matchPattern(tile, m_Constant(&elements)) && elements.isSplat();
}

int64_t divisionCost(Operation* op) {
  return isPowerOfTwo(op->getOperand(1)) ? 2 : isConstant(op->getOperand(1)) ? 8 : 32;
}

// Returns the cost of doing `op` again for one element; nothing for an op that is not done again.
std::optional<int64_t> elementCost(Operation* op) {
  using Cost = std::optional<int64_t>;
  int64_t words = llvm::divideCeil(bitsOf(op->getResult(0).getType()), 32);
  return llvm::TypeSwitch<Operation*, Cost>(op)
      .Case<tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::ReshapeOp, tile::PermuteOp, tile::BitcastOp,
            tile::PtrToIntOp, tile::IntToPtrOp, arith::ConstantOp>([](auto) { return Cost(0); })
      .Case<tgpu::LocalLoadOp>([&](auto) { return Cost(4 * words); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto o) { return Cost(divisionCost(o) * words); })
      .Case<arith::DivFOp>([](auto) { return Cost(16); })
      .Case<arith::RemFOp>([](auto) { return Cost(64); })
      .Case<arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp>([](auto) { return Cost(8); })
      .Case<tile::FpToFpOp>([](auto) { return Cost(4); })
      .Case<tile::MulHiUIOp>([&](auto) { return Cost(4 * words); })
      .Case<tile::MakeRangeOp, tile::AddPtrOp>([&](auto) { return Cost(words); })
      .Default([&](Operation* o) {
        if (isa<arith::ArithDialect>(o->getDialect())) return Cost(words);
        return isa<math::MathDialect>(o->getDialect()) ? Cost(12 * words) : Cost();
      });
}

// Returns the cost of loading in another layout: each warp loads what few threads would load once, as memory's nearest
// cache answers; a larger tile is loaded by other threads instead, if its first layout is of no other use. A load that has
// no other use is not done twice.
std::optional<int64_t> loadCost(tile::LoadOp load, const LinearLayout& layout) {
  if (load.getIsVolatile()) return std::nullopt;
  Value tile = load.getResult();
  std::optional<tgpu::Neighbours> memory = tgpu::neighboursOf(load);
  if (cast<RankedTensorType>(tile.getType()).getNumElements() <= int64_t(layout.numLanes() * layout.numWarps())) {
    auto costIn = [&](const LinearLayout& l) {
      int64_t word = memory ? layout::vectorLength(l, memory->count, bitsOf(tile.getType()), memory->axis) : 1;
      return 16 * registersOf(l) / word;
    };
    return std::max<int64_t>(0, costIn(layout) - (tile.hasOneUse() ? costIn(layoutOf(tile)) : 0));
  }
  if (!tile.hasOneUse() || !memory) return std::nullopt;
  auto costIn = [&](const LinearLayout& l) {
    return layout::loadCost(l, memory->count, bitsOf(tile.getType()), memory->axis);
  };
  std::optional<int64_t> now = costIn(layoutOf(tile)), then = costIn(layout);
  return now && then ? std::optional(std::max<int64_t>(0, *then - *now)) : std::nullopt;
}

}  // namespace

bool dividesByVariable(Operation* op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) && isTile(op->getResult(0)) &&
         !isConstant(op->getOperand(1));
}

bool isCheapTree(Value value, int depth) {
  if (!isTile(value)) return true;
  Operation* op = value.getDefiningOp();
  if (op && isa<tile::BroadcastOp>(op) && isManyTimesLarger(value, op->getOperand(0))) return true;
  return op && depth < 16 && isCheap(op) &&
         llvm::all_of(op->getOperands(), [&](Value v) { return isCheapTree(v, depth + 1); });
}

int64_t conversionCost(Type tile, const LinearLayout& from, const LinearLayout& to) {
  constexpr int64_t kRoomBytes = 65536, kBarrierLatency = 128;
  unsigned bits = bitsOf(tile);
  layout::Conversion way = layout::plan(from, to, bits, kRoomBytes);
  auto* shared = std::get_if<layout::ThroughShared>(&way);
  return 2 * layout::cost(way, from, bits) + (shared && !shared->withinWarp ? kBarrierLatency : 0);
}

Value LayoutChange::known(Value tile, const LinearLayout& layout, Operation* place) const {
  if (layoutOf(tile) == layout) return tile;
  for (Value copy : converted_.lookup(tile))
    if (layoutOf(copy) == layout && dominance_.properlyDominates(copy, place)) return copy;
  return nullptr;
}

// A change of a tile's layout serves all ops of one kind that use the result, as those that take the parts of a packed word do. So each of
// them pays its share of the cost.
int64_t LayoutChange::share(const Plan& plan) const {
  constexpr int64_t kMostUses = 4;
  if (plan.again && !isa<tile::LoadOp>(plan.tile.getDefiningOp())) return plan.cost;
  llvm::SmallDenseMap<OperationName, int64_t> alike;
  int64_t most = 1;
  for (Operation* user : plan.tile.getUsers()) most = std::max(most, ++alike[user->getName()]);
  return plan.cost / std::min(kMostUses, most);
}

int64_t LayoutChange::total(ArrayRef<unsigned> parts) const {
  int64_t sum = 0;
  for (unsigned part : parts) sum += share(plans_[part]);
  return sum;
}

// Returns true if what the parts bring into another layout has other uses, which may want it there, too, as both halves of a byte do.
bool LayoutChange::isForOthers(ArrayRef<unsigned> parts) const {
  return llvm::any_of(parts, [&](unsigned part) {
    const Plan& plan = plans_[part];
    return !plan.again && !plan.made && plan.cost && !plan.tile.hasOneUse();
  });
}

unsigned LayoutChange::plan(Value tile, const LinearLayout& layout, Operation* place) {
  for (auto [i, planned] : llvm::enumerate(plans_))
    if (planned.tile == tile && planned.place == place && planned.layout == layout) return i;
  unsigned index = plans_.size();
  plans_.push_back({tile, layout, place});
  plans_[index].parts = {index};
  if ((plans_[index].made = known(tile, layout, place))) return index;
  int64_t converting = conversionCost(tile.getType(), layoutOf(tile), layout);
  if (isFromOutside(tile, place)) converting = llvm::divideCeil(converting, kIterations);
  plans_[index].cost = converting;
  if (converting == 0) return index;
  if (std::optional<SmallVector<unsigned>> parts = planAgain(index)) {
    int64_t computing = total(*parts);
    if (computing < converting || (computing == converting && isForOthers(*parts)) || isCheapTree(tile)) {
      plans_[index].again = true;
      plans_[index].parts = std::move(*parts);
      return index;
    }
    plans_[index].cost = converting;
  }
  return index;
}

// Sets the plan's own cost to that of its op.
std::optional<SmallVector<unsigned>> LayoutChange::planAgain(unsigned index) {
  Value tile = plans_[index].tile;
  LinearLayout layout = plans_[index].layout;
  Operation* op = tile.getDefiningOp();
  if (!op || op->getNumResults() != 1 || op->getNumRegions() || plans_.size() > kMostPlans) return std::nullopt;
  std::optional<int64_t> cost;
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    cost = loadCost(load, layout);
    if (cost && isFromOutside(tile, plans_[index].place)) *cost /= kIterations;
  } else if (std::optional<int64_t> each =
                 isMemoryEffectFree(op) || isa<tgpu::LocalLoadOp>(op) ? elementCost(op) : std::nullopt) {
    // An op that has no other use is not done twice.
    cost = *each * std::max<int64_t>(0, registersOf(layout) - (tile.hasOneUse() ? registersOf(layoutOf(tile)) : 0));
  }
  if (!cost) return std::nullopt;
  // A load is done again beside the first one, before memory changes.
  Operation* place = isa<tile::LoadOp>(op) ? op : plans_[index].place;
  SmallVector<unsigned> parts{index};
  for (OpOperand& operand : op->getOpOperands()) {
    if (!isTile(operand.get())) continue;
    std::optional<LinearLayout> wanted = backward(operand, layout);
    if (!wanted) return std::nullopt;
    parts.append(plans_[plan(operand.get(), *wanted, place)].parts);
  }
  llvm::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  plans_[index].cost = *cost;
  return parts;
}

Value LayoutChange::make(unsigned index) {
  if (Value made = plans_[index].made) return made;
  Value tile = plans_[index].tile;
  LinearLayout layout = plans_[index].layout;
  Operation *place = plans_[index].place, *op = tile.getDefiningOp();
  bool again = plans_[index].again, isLoad = again && isa<tile::LoadOp>(op);
  OpBuilder builder(isLoad ? op : place);
  Value made;
  if (again) {
    Operation* copy = op->clone();
    for (OpOperand& operand : copy->getOpOperands())
      if (isTile(operand.get()))
        operand.set(make(plan(operand.get(), *backward(operand, layout), isLoad ? op : place)));
    builder.insert(copy);
    if (dividesByVariable(op)) divisions_.emplace_back(copy, op);
    made = copy->getResult(0);
  } else {
    made = tgpu::ConvertLayoutOp::create(builder, tile.getLoc(), tile.getType(), tile);
  }
  setLayout(made, layout);
  if (isLoad || !again) converted_[tile].push_back(made);
  return plans_[index].made = made;
}

Value LayoutChange::bring(Value tile, const LinearLayout& layout, Operation* user) {
  plans_.clear();
  return make(plan(tile, layout, user));
}

}  // namespace tandem::transform::gpu
