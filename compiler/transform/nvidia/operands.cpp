// The conditions of wgmma and TMA.
#include "compiler/transform/nvidia/operands.h"
#include "compiler/analysis/axis_info.h"
#include "compiler/analysis/boxes.h"
#include "compiler/analysis/host_expr.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/nvidia/tensor_choice.h"
#include <llvm/ADT/SetVector.h>
#include <llvm/Support/FormatVariadic.h>
#include <mlir/IR/Matchers.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using target::kMmaSync, target::kWgmma;

using remark::Reason;

// The types that the operands and the sums of one instruction may have.
static std::optional<Reason> whyNotTypes(tile::DotOp dot) {
  Type in = getElementTypeOrSelf(dot.getLhs().getType()), other = getElementTypeOrSelf(dot.getRhs().getType());
  Type out = getElementTypeOrSelf(dot.getAcc().getType());
  auto text = [](Type type) { return llvm::formatv("{0}", type).str(); };
  if (in != other)
    return Reason{"one operand is of " + text(in) + ", the other of " + text(other), "convert one of them"};
  // The first parts of float32 operands are tf32 numbers.
  if (in.isF32() && dot.getPrecision() != tile::Precision::Tf32 && dot.getPrecision() != tile::Precision::Tf32x3)
    return Reason{"tensor cores round float32 operands", "input_precision=\"tf32\", or operands of 16 bits"};
  bool fits = in.isF16()        ? out.isF32() || out.isF16()
              : in.isInteger(8) ? out.isInteger(32)
              : in.isF64()      ? out.isF64()
                                : out.isF32();
  bool isKnown = in.isF16() || in.isBF16() || in.isF32() || in.isF64() || in.isInteger(8) ||
                 isa<Float8E4M3FNType, Float8E5M2Type>(in);
  if (!isKnown) return Reason{"tensor cores do not multiply " + text(in), ""};
  if (!fits) return Reason{"they do not add products of " + text(in) + " to " + text(out), ""};
  return std::nullopt;
}

static constexpr int64_t kRegisterBits = 32;

int64_t sumsOfThread(tile::DotOp dot, int numWarps) {
  auto acc = cast<RankedTensorType>(dot.getAcc().getType());
  return acc.getNumElements() * acc.getElementTypeBitWidth() / (kRegisterBits * threadsOf(numWarps).count());
}

// Returns nothing if wgmma does the product, or its transpose.
static std::optional<Reason> whyNotWgmma(tile::DotOp dot, bool turned, int numWarps, const target::TargetInfo& target) {
  auto because = [](auto... parts) { return Reason{llvm::formatv(parts...).str(), ""}; };
  if (!target.hasWgmma()) return because("{0} has no wgmma", target.name());
  if (numWarps % kWgmma.warps)
    return Reason{
        llvm::formatv("wgmma takes groups of {0} warps, and the kernel has {1} warps", kWgmma.warps, numWarps),
        llvm::formatv("num_warps={0}", kWgmma.warps)};
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  auto acc = cast<RankedTensorType>(dot.getAcc().getType());
  if (lhs.getRank() != 2)
    return because("wgmma multiplies matrices, and the operands have {0} dimensions", lhs.getRank());
  int64_t rows = acc.getDimSize(turned), columns = acc.getDimSize(!turned);
  if (rows < kWgmma.rows)
    return Reason{llvm::formatv("the result has {0} rows, and wgmma computes {1}", rows, kWgmma.rows),
                  llvm::formatv("tiles of at least {0} rows", kWgmma.rows)};
  if (columns < kWgmma.leastColumns)
    return Reason{
        llvm::formatv("the result has {0} columns, and wgmma computes at least {1}", columns, kWgmma.leastColumns),
        "wider tiles"};
  // mma.sync, too, spills sums that take all registers; but where there is wgmma it makes 16-bit floats of those of 8 bits for each
  // instruction, which takes several times as long.
  bool isFloat8 = isa<Float8E4M3FNType, Float8E5M2Type>(lhs.getElementType());
  int64_t most =
      std::min<int64_t>(kRegistersOfThread, target.registersPerMultiprocessor() / threadsOf(numWarps).count());
  if (int64_t sums = sumsOfThread(dot, numWarps); sums >= most + (isFloat8 && most == kRegistersOfThread))
    return Reason{llvm::formatv("the sums take {0} registers of a thread", sums), "more warps, or a smaller tile"};
  // Warpgroups beyond the rows share the columns.
  int64_t groups = numWarps / kWgmma.warps, rowGroups = rows / kWgmma.rows;
  if (rowGroups < groups && columns / (groups / rowGroups) < kWgmma.leastColumns)
    return Reason{llvm::formatv("{0} groups of {1} warps have fewer than {2} columns each", groups, kWgmma.warps,
                                kWgmma.leastColumns),
                  "fewer warps, or a larger tile"};
  if (lhs.getElementType().isF64()) return because("wgmma does not multiply f64");
  if (std::optional<Reason> types = whyNotTypes(dot)) return types;
  int64_t least = kWgmma.depth(lhs.getElementTypeBitWidth());
  if (lhs.getDimSize(1) < least)
    return Reason{llvm::formatv("K is {0}, and one instruction takes {1}", lhs.getDimSize(1), least),
                  "tiles that are longer along K"};
  return std::nullopt;
}

std::optional<Reason> whyNotWgmma(tile::DotOp dot, int numWarps, const target::TargetInfo& target) {
  return whyNotWgmma(dot, false, numWarps, target);
}

std::optional<Reason> whyNotWgmmaTurned(tile::DotOp dot, int numWarps, const target::TargetInfo& target) {
  return whyNotWgmma(dot, true, numWarps, target);
}

// Returns nothing if mma.sync does a product of so many rows and columns, with the types and the depth of `dot`.
static std::optional<Reason> whyNotMma(tile::DotOp dot, int64_t rows, int64_t columns,
                                       const target::TargetInfo& target) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  if (std::optional<Reason> types = whyNotTypes(dot)) return types;
  if (isa<Float8E4M3FNType, Float8E5M2Type>(lhs.getElementType()) && !target.hasFp8Mma())
    return Reason{target.name() + " does not multiply floats of 8 bits", "operands of 16 bits"};
  if (lhs.getElementType().isF64() && !target.hasF64Mma())
    return Reason{target.name() + " multiplies f64 in another shape", "operands of float32"};
  // A result of fewer rows than an instruction's is filled up with zeros; fewer columns are computed several times. A
  // thread has two of a row's.
  constexpr int64_t kLeastColumns = 2;
  int64_t depth = lhs.getShape().back(), least = kMmaSync.depth(target::mmaSyncBits(lhs.getElementTypeBitWidth()));
  if (columns < kLeastColumns || depth < least)
    return Reason{llvm::formatv("the product is {0} x {1} x {2}, and one instruction does {3} x {4} x {5}", rows,
                                columns, depth, kMmaSync.rows, kMmaSync.leastColumns, least),
                  "larger tiles"};
  return std::nullopt;
}

std::optional<Reason> whyNotMma(tile::DotOp dot, const target::TargetInfo& target) {
  llvm::ArrayRef<int64_t> sum = cast<RankedTensorType>(dot.getAcc().getType()).getShape();
  return whyNotMma(dot, sum[sum.size() - 2], sum.back(), target);
}

std::optional<Reason> whyNotMmaTurned(tile::DotOp dot, const target::TargetInfo& target) {
  llvm::ArrayRef<int64_t> sum = cast<RankedTensorType>(dot.getAcc().getType()).getShape();
  return whyNotMma(dot, sum.back(), sum[sum.size() - 2], target);
}

OperandSource throughTranspose(Value operand) {
  auto permute = operand.getDefiningOp<tile::PermuteOp>();
  if (permute && permute.getOrder() == ArrayRef<int32_t>{1, 0}) return {permute.getSource(), true};
  return {operand, false};
}

static bool isMatrix(RankedTensorType type) {
  return type.getRank() >= 2 && llvm::all_of(type.getShape().drop_back(2), [](int64_t n) { return n == 1; });
}

tile::BlockLoadOp blockLoadBehind(Value tile) {
  auto reshape = tile.getDefiningOp<tile::ReshapeOp>();
  auto load = (reshape ? reshape.getSource() : tile).getDefiningOp<tile::BlockLoadOp>();
  if (!load || !reshape) return load;
  auto loaded = cast<RankedTensorType>(load.getResult().getType());
  return isMatrix(loaded) && loaded.getShape().take_back(2) == cast<RankedTensorType>(tile.getType()).getShape()
             ? load
             : nullptr;
}

// K-major operands of any type; others of 16-bit types only.
bool readsFromShared(tile::DotOp dot, bool isLhs, const OperandSource& operand) {
  auto type = cast<RankedTensorType>(operand.source.getType());
  bool kMajor = isLhs != operand.transposed;
  return (kMajor || type.getElementTypeBitWidth() == 16) && analysis::panelSwizzle(type).has_value();
}

// Returns true if a tile of the block is computed from a product's result.
static bool comesFromProduct(Value tile, Block* body) {
  llvm::SetVector<Operation*> behind;
  auto add = [&](Value v) {
    if (Operation* op = v.getDefiningOp(); op && op->getBlock() == body && isa<RankedTensorType>(v.getType()))
      behind.insert(op);
  };
  add(tile);
  for (size_t i = 0; i < behind.size(); ++i) {
    if (isa<tile::DotOp, tgpu::WgmmaOp>(behind[i])) return true;
    llvm::for_each(behind[i]->getOperands(), add);
  }
  return false;
}

bool staysInRegisters(tile::DotOp dot) {
  Value lhs = dot.getLhs();
  if (lhs.getParentBlock() != dot->getBlock() || isa_and_nonnull<tile::LoadOp, tile::BlockLoadOp>(lhs.getDefiningOp()))
    return false;
  // wgmma reads a tile in either order from shared memory, where one from before the loop is for other products, and through which the
  // turned result of a product changes threads anyway.
  OperandSource turned = throughTranspose(lhs);
  if (!turned.transposed || !readsFromShared(dot, true, turned)) return true;
  return turned.source.getParentBlock() == dot->getBlock() && !comesFromProduct(turned.source, dot->getBlock());
}

bool onlyProductsRead(Operation* tile, ArrayRef<tile::DotOp> dots) {
  return llvm::all_of(tile->getUsers(), [&](Operation* user) {
    if (isa<tile::PermuteOp, tile::ReshapeOp>(user)) return onlyProductsRead(user, dots);
    return llvm::is_contained(dots, dyn_cast<tile::DotOp>(user));
  });
}

// Returns true if threads load a tile of the product's block for the operand: through pointers, a block that TMA does not, or not as wgmma
// reads it, or one to compute it from.
static bool comesThroughThreads(tile::DotOp dot, bool isLhs) {
  constexpr int64_t kPacked = 8;  // numbers in a byte, at most
  Value operand = isLhs ? dot.getLhs() : dot.getRhs();
  Block* body = dot->getBlock();
  OperandSource source = throughTranspose(operand);
  tile::BlockLoadOp whole = blockLoadBehind(source.source);
  if (whole && (whyNotTma(whole) || !readsFromShared(dot, isLhs, source))) whole = nullptr;
  int64_t elements = cast<RankedTensorType>(operand.getType()).getNumElements();
  llvm::SetVector<Operation*> behind;
  auto add = [&](Value v) {
    if (Operation* op = v.getDefiningOp(); op && op->getBlock() == body) behind.insert(op);
  };
  bool found = false;
  add(operand);
  for (size_t i = 0; i < behind.size(); ++i) {
    Operation* op = behind[i];
    if (isa<tile::DotOp>(op) || op->getNumRegions()) return false;
    bool isLoad = isa<tile::LoadOp, tile::BlockLoadOp>(op);
    auto type = isLoad && op != whole ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : nullptr;
    found |= type && type.getNumElements() * kPacked >= elements;
    if (!isLoad) llvm::for_each(op->getOperands(), add);
  }
  return found;
}

bool readsTileOfThreads(tile::DotOp dot) { return comesThroughThreads(dot, true) || comesThroughThreads(dot, false); }

// TMA wants addresses and strides of whole 16 bytes. A descriptor promises them, a block pointer does not.
template <class Op>
static bool isAligned(Op op, RankedTensorType type) {
  constexpr int64_t kAlignment = 16;
  if (op.getDescriptor()) return true;
  analysis::AxisInfoAnalysis axes(op->template getParentOfType<func::FuncOp>());
  auto isMultiple = [&](Value value, int64_t bytes) {
    return axes.of(value).divisibility(0) * bytes % kAlignment == 0;
  };
  return isMultiple(op.getBase(), 1) && llvm::all_of(op.getStrides().drop_back(), [&](Value stride) {
           return isMultiple(stride, type.getElementTypeBitWidth() / 8);
         });
}

template <class Op>
static std::optional<Reason> whyNotTma(Op op, RankedTensorType type) {
  APInt last;
  if (!isMatrix(type)) return Reason{"the block has more than two dimensions larger than 1", ""};
  if (!analysis::panelSwizzle(type)) return Reason{"the block's rows have fewer than 32 bytes", "wider blocks"};
  if (op.getBoundaryCheck().size() != size_t(type.getRank()))
    return Reason{"TMA checks every dimension's bounds, and the access does not", "boundary_check for all dimensions"};
  if (!isAligned(op, type))
    return Reason{"the tensor's address and strides are not known to be multiples of 16 bytes",
                  "strides that are multiples of 16 bytes"};
  // A descriptor's last dimension is contiguous whatever its number says.
  if (op.getDescriptor() || (matchPattern(op.getStrides().back(), m_ConstantInt(&last)) && last.isOne()))
    return std::nullopt;
  return Reason{"the stride of the last dimension is not known to be 1", "the constant 1 as that stride"};
}

static int loopsAround(Operation* op) {
  int loops = 0;
  for (Operation* around = op->getParentOp(); around; around = around->getParentOp())
    loops += isa<LoopLikeOpInterface>(around);
  return loops;
}

bool changeSeldom(ArrayRef<analysis::ScalarExpr> sizes, scf::ForOp loop) {
  bool change = false, seldom = true;
  SmallVector<analysis::ScalarExpr> left(sizes);
  while (!left.empty()) {
    analysis::ScalarExpr size = left.pop_back_val();
    for (const analysis::ScalarExpr::Term& term : size.terms())
      for (Value symbol : term.symbols) {
        if (analysis::ScalarExpr::symbol(symbol).isInvariant(loop)) continue;
        if (auto least = symbol.getDefiningOp<arith::MinSIOp>()) {
          for (Value of : least->getOperands()) left.push_back(analysis::ScalarExpr::of(of));
          continue;
        }
        change = true;
        seldom &= isa_and_nonnull<arith::DivSIOp>(symbol.getDefiningOp());
      }
  }
  return change && seldom;
}

// The same of a block of one argument's memory.
static bool changesSeldom(tile::BlockLoadOp load) {
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  auto sizes = llvm::map_to_vector(load.getShape(), [](Value size) { return analysis::ScalarExpr::of(size); });
  auto isOfArguments = [](Value stride) { return analysis::ScalarExpr::of(stride).isOfArguments(); };
  return loop && gpu::argumentBehind(load.getBase()) && llvm::all_of(load.getStrides(), isOfArguments) &&
         changeSeldom(sizes, loop);
}
static bool changesSeldom(tile::BlockStoreOp) { return false; }

// The kernel makes the tensor map itself. What the hardware asks of addresses and strides, a descriptor promises.
// To make it takes about two microseconds, which one tile does not give back: the loop that reads tiles is in another one,
// or goes on to other sizes itself.
template <class Op>
static std::optional<Reason> whyNotMade(Op op) {
  constexpr int kLoops = std::is_same_v<Op, tile::BlockLoadOp> ? 2 : 1;
  if (!op.getDescriptor())
    return Reason{"the tensor's address, sizes or strides depend on more than the kernel's arguments",
                  "tl.make_tensor_descriptor"};
  if (tgpu::blocksOf(op->template getParentOfType<func::FuncOp>()) > 1)
    return Reason{"the kernel makes the descriptor, and a program is several blocks", "one block for a program"};
  if (loopsAround(op) < kLoops && !changesSeldom(op))
    return Reason{"the kernel makes the descriptor for one tile", "a program that goes on to other tiles"};
  return std::nullopt;
}

static std::optional<Reason> whyNotMade(tile::BlockLoadOp load) {
  if (std::optional<Reason> reason = whyNotMade<tile::BlockLoadOp>(load)) return reason;
  Operation* store = gpu::writesWhereLoaded(load);
  if (!store) return std::nullopt;
  return Reason{remark::lineOf(store) + " may write what it reads", "an array of its own for the pointers of each"};
}

std::optional<Reason> whyNotTma(tile::BlockLoadOp load) {
  auto type = cast<RankedTensorType>(load.getResult().getType());
  if (load.getPadding() != tile::Padding::Zero)
    return Reason{"outside of the tensor something else than zeros is read", "padding of zeros"};
  if (std::optional<Reason> reason = whyNotTma(load, type)) return reason;
  if (!tensorChoice(load))
    if (std::optional<Reason> reason = whyNotMade(load)) return reason;
  // TMA loads from whole 16 bytes of a row.
  analysis::AxisInfoAnalysis axes(load->getParentOfType<func::FuncOp>());
  if (axes.of(load.getOffsets().back()).divisibility(0) % (128 / type.getElementTypeBitWidth()) == 0)
    return std::nullopt;
  return Reason{"the block's first column is not known to be a multiple of 16 bytes", "tl.multiple_of for the column"};
}

bool isMapOnHost(tile::BlockStoreOp store) {
  auto onHost = [](Value v) { return analysis::hostExpr(v).has_value(); };
  return onHost(store.getBase()) && llvm::all_of(store.getShape(), onHost) && llvm::all_of(store.getStrides(), onHost);
}

// A tensor map's integers have no sign.
static bool isCombinedByTma(std::optional<tile::Rmw> how, Type element) {
  if (!how) return true;
  if (*how == tile::Rmw::FAdd) return element.isF16() || element.isBF16() || element.isF32();
  bool ignoresSign = llvm::is_contained({tile::Rmw::Add, tile::Rmw::And, tile::Rmw::Or, tile::Rmw::Xor}, *how);
  return ignoresSign && (element.isInteger(32) || element.isInteger(64));
}

bool fitsTma(tile::BlockStoreOp store) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  return isCombinedByTma(store.getReduce(), type.getElementType()) && !whyNotTma(store, type) &&
         (isMapOnHost(store) || !whyNotMade(store));
}

SmallVector<tgpu::UncertainOffset> uncertainOffsets(tile::BlockStoreOp store, const analysis::AxisInfoAnalysis& axes) {
  SmallVector<tgpu::UncertainOffset> out;
  for (Value offset : store.getOffsets())
    if (!axes.of(offset).nonNegative) out.push_back({offset, 1});
  int64_t multiple = 128 / cast<RankedTensorType>(store.getValue().getType()).getElementTypeBitWidth();
  Value column = store.getOffsets().back();
  if (axes.of(column).divisibility(0) % multiple != 0) out.push_back({column, multiple});
  return out;
}

}  // namespace tandem::transform::nvidia
