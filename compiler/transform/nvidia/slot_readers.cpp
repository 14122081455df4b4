// Looks at buffers that are stored to once and at the products that read them.
#include "compiler/transform/nvidia/slot_readers.h"
#include "compiler/analysis/zeros.h"
#include "compiler/target/nvidia_units.h"
#include "compiler/transform/nvidia/carried_sums.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

// Returns true if only `store` and products in `body` use the buffer, and these can read it with neighbours along
// `fastest`.
bool productsCanRead(tgpu::AllocOp buffer, tgpu::LocalStoreOp store, unsigned fastest, Block* body) {
  return llvm::all_of(buffer->getUsers(), [&](Operation* user) {
    auto product = dyn_cast<tgpu::WgmmaOp>(user);
    if (!product) return user == store;
    bool isLhs = product.getLhs() == buffer.getResult(), isRhs = product.getRhs() == buffer.getResult();
    // the dimension that is summed over
    unsigned depth = isLhs ? !product.getLhsTransposed() : product.getRhsTransposed();
    bool isWide = cast<tile::SmemType>(buffer.getType()).getElementType().getIntOrFloatBitWidth() == 16;
    return product->getBlock() == body && isLhs != isRhs && (isWide || fastest == depth);
  });
}

}  // namespace

// wgmma reads swizzled rows of K, of 16-bit types columns too; where the load would have something else than zeros,
// registers have it.
SmallVector<Feed> feedsOf(const CopiedLoad& copied) {
  SmallVector<Feed> feeds;
  if (copied.type().getRank() != 2 || copied.swizzle() == layout::Swizzle::None || copied.fillsIn()) return feeds;
  tile::LoadOp load = copied.load;
  auto addStores = [&](Value tile, bool transposed) {
    for (Operation* user : tile.getUsers()) {
      auto store = dyn_cast<tgpu::LocalStoreOp>(user);
      auto buffer = store ? store.getBuffer().getDefiningOp<tgpu::AllocOp>() : nullptr;
      unsigned fastest = transposed ? 1 - copied.axis : copied.axis;
      if (buffer && productsCanRead(buffer, store, fastest, load->getBlock()))
        feeds.push_back({store, buffer, transposed});
    }
  };
  addStores(load.getResult(), false);
  for (Operation* user : load->getUsers())
    if (auto permute = dyn_cast<tile::PermuteOp>(user); permute && permute.getOrder() == ArrayRef<int32_t>{1, 0})
      addStores(permute.getResult(), true);
  return feeds;
}

bool isFeed(tgpu::AllocOp buffer, ArrayRef<CopiedLoad> loads) {
  return llvm::any_of(loads, [&](const CopiedLoad& c) {
    return llvm::any_of(c.feeds, [&](const Feed& f) { return f.buffer == buffer; });
  });
}

bool areOfGroups(ArrayRef<CopiedLoad> loads, int numWarps) {
  int64_t groups = numWarps / target::kWgmma.warps;
  if (groups < 2) return false;
  return llvm::all_of(loads, [&](const CopiedLoad& c) {
    tile::LoadOp load = c.load;
    if (c.feeds.size() != 1 || !load.getResult().hasOneUse() || c.feeds.front().transposed || c.axis != 1 ||
        c.type().getDimSize(0) < groups * target::kWgmma.rows)
      return false;
    tgpu::AllocOp buffer = c.feeds.front().buffer;
    return llvm::all_of(buffer->getUsers(), [&](Operation* user) {
      auto product = dyn_cast<tgpu::WgmmaOp>(user);
      return !product || (product.getLhs() == buffer.getResult() && !product.getLhsTransposed());
    });
  });
}

void readSlots(const CopiedLoad& copied, Value slots, Value ring) {
  for (Feed feed : copied.feeds) {
    for (Operation* user : llvm::make_early_inc_range(feed.buffer->getUsers())) {
      auto product = dyn_cast<tgpu::WgmmaOp>(user);
      if (!product) continue;
      if (product.getLhs() == feed.buffer.getResult()) {
        product.getLhsMutable().assign(slots);
        product.getLhsRingMutable().assign(ring);
        product.setLhsTransposed(product.getLhsTransposed() != feed.transposed);
      } else {
        product.getRhsMutable().assign(slots);
        product.getRhsRingMutable().assign(ring);
        product.setRhsTransposed(product.getRhsTransposed() != feed.transposed);
      }
    }
    Value stored = feed.store.getValue();
    feed.store.erase();
    feed.buffer.erase();
    if (stored.use_empty() && stored.getDefiningOp<tile::PermuteOp>()) stored.getDefiningOp()->erase();
  }
}

SlotSums findSums(scf::ForOp loop, ArrayRef<CopiedLoad> loads) {
  SlotSums sums;
  for (auto product : loop.getBody()->getOps<tgpu::WgmmaOp>()) {
    auto wait =
        product.getResult().hasOneUse() ? dyn_cast<tgpu::WgmmaWaitOp>(*product->user_begin()) : tgpu::WgmmaWaitOp();
    auto isFed = [&](Value operand) {
      auto buffer = operand.getDefiningOp<tgpu::AllocOp>();
      return buffer && isFeed(buffer, loads);
    };
    bool isInRegisters = isa<RankedTensorType>(product.getLhs().getType());
    for (Value ring : {product.getLhsRing(), product.getRhsRing()})
      if (ring) sums.rings.insert(ring);
    if (!wait || !onlyAdds(product.getAcc(), wait.getResult(), loop) ||
        !(isInRegisters || product.getLhsRing() || isFed(product.getLhs())) ||
        !(product.getRhsRing() || isFed(product.getRhs())))
      return {};
    sums.haveComputed |= isInRegisters;
    sums.waits.push_back(wait);
  }
  if (sums.haveComputed && !sums.rings.empty()) return {};
  return sums;
}

// The slot that a producer filled is let go an iteration later, when this one's wait says that the products that read it
// are done.
static void releaseLater(scf::ForOp loop, Value ring, Operation* wait) {
  for (auto release : llvm::make_early_inc_range(loop.getBody()->getOps<tgpu::ReleaseOp>())) {
    if (release.getRing() != ring) continue;
    OpBuilder builder(release->isBeforeInBlock(wait) ? wait->getNextNode() : release);
    Value later = arith::CmpIOp::create(builder, release.getLoc(), arith::CmpIPredicate::ne, loop.getInductionVar(),
                                        loop.getLowerBound());
    auto branch = scf::IfOp::create(builder, release.getLoc(), later, false);
    release->moveBefore(branch.thenYield());
  }
}

void keepUnderWay(scf::ForOp loop, SlotSums sums) {
  if (sums.waits.empty()) return;
  auto productOf = [](tgpu::WgmmaWaitOp wait) { return wait.getAcc().getDefiningOp<tgpu::WgmmaOp>(); };
  if (sums.haveComputed) return startInNextIteration(loop, llvm::map_to_vector(sums.waits, productOf));
  // The last wait leaves this iteration's products under way.
  SmallVector<unsigned> carried;
  int32_t started = 0;
  for (tgpu::WgmmaWaitOp wait : sums.waits) {
    tgpu::WgmmaOp product = productOf(wait);
    started += !product.getJoinsPrevious();
    carried.push_back(carriedIndex(product.getAcc(), loop));
    if (analysis::isZero(loop.getInitArgs()[carried.back()])) product.setBeginsAtZero(true);
    if (wait == sums.waits.back()) {
      wait.setPending(started);
    } else {
      wait.replaceAllUsesWith(product.getResult());
      wait.erase();
    }
  }
  for (Value ring : sums.rings) releaseLater(loop, ring, sums.waits.back());
  OpBuilder end = awaitSums(loop, carried);
  for (Value ring : sums.rings) tgpu::ReleaseOp::create(end, loop.getLoc(), ring);
}

}  // namespace tandem::transform::nvidia
