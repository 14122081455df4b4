// An iteration knows up to which column its rows are there, or which rows are, and waits when it reads others. To find the chunks of rows
// takes divisions, more than half of what 64 keys of attention take.
#include "compiler/transform/gpu/arriving_slices.h"
#include "compiler/dialect/dist/attributes.h"
#include <limits>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/PatternMatch.h>

namespace tandem::transform::gpu {
using namespace mlir;
using arith::CmpIPredicate;
namespace {

Value constant(OpBuilder& builder, Location where, int64_t value, unsigned bits = 64) {
  return arith::ConstantIntOp::create(builder, where, value, bits);
}

// Lets the load come after the wait that gives `token`, from which the place of what it reads is computed: some widths of its tile, none,
// further to the right. So far its place moves in the loop as it is, and what could be copied as a block before still can.
void tie(Operation* load, Value token) {
  OpBuilder builder(load);
  Location where = load->getLoc();
  Value none = dist::ConsumeTokenOp::create(builder, where, constant(builder, where, 0, 32), token);
  if (auto block = dyn_cast<tile::BlockLoadOp>(load)) {
    OpOperand& column = block.getOffsetsMutable()[block.getOffsets().size() - 1];
    return column.set(arith::AddIOp::create(builder, where, column.get(), none));
  }
  Value pointers = load->getOperand(0);
  if (auto tile = dyn_cast<RankedTensorType>(pointers.getType())) {
    none = arith::MulIOp::create(builder, where, none, constant(builder, where, tile.getShape().back(), 32));
    none = tile::SplatOp::create(builder, where, RankedTensorType::get(tile.getShape(), none.getType()), none);
  }
  load->setOperand(0, tile::AddPtrOp::create(builder, where, pointers, none));
}

}  // namespace

Value reachedSlice(OpBuilder& builder, Location where, dist::ArrivingOp memory, Value last) {
  Value epoch = memory.getEpoch(), nth = arith::DivSIOp::create(builder, where, last, memory.getSlices()[1]);
  if (!epoch.getType().isInteger(64)) nth = arith::TruncIOp::create(builder, where, epoch.getType(), nth);
  return arith::AddIOp::create(builder, where, epoch, nth);
}

void ArrivingSlices::add(dist::ArrivingOp memory, const TravellingAccess& load, Operation* place) {
  Location where = load.op->getLoc();
  OpBuilder before(place);
  Sliced sliced{memory, load.op, Footprint(load.op, where).lastColumn(load.access, memory.getSlices()[0]), {}};
  for (const ElementRange& range : Footprint(place, where).of(load.access)) {
    auto [first, end] = chunksIn(before, where, range, {memory.getWords(), memory.getChunk(), memory.getChunks()});
    Value count = arith::SubIOp::create(before, where, end, first);
    sliced.words.push_back({tile::AddPtrOp::create(before, where, memory.getWords(), first),
                            arith::TruncIOp::create(before, where, before.getI32Type(), count)});
  }
  all_.push_back(std::move(sliced));
}

void ArrivingSlices::addRows(dist::ArrivingOp memory, Operation* load, const ElementRange& range) {
  rows_.push_back({memory, load, range});
}

void ArrivingSlices::await() {
  for (Sliced& sliced : all_) awaitSlices(sliced);
  for (Rows& rows : rows_) awaitRows(rows);
}

void ArrivingSlices::awaitSlices(Sliced& s) {
  Location where = s.load->getLoc();
  auto loop = cast<scf::ForOp>(s.load->getParentOp());
  IRRewriter rewriter(loop);
  SmallVector<Value, 2> begin = {constant(rewriter, where, 0, 32), constant(rewriter, where, 0)};
  auto waits = [&](OpBuilder&, Location, ArrayRef<BlockArgument> carried) {
    OpBuilder builder(s.load);
    Value token = carried[0], there = carried[1], row = s.memory.getSlices()[0], slice = s.memory.getSlices()[1];
    Value isBeyond = arith::CmpIOp::create(builder, where, CmpIPredicate::sge, s.last, there);
    auto wait = [&](OpBuilder& inner, Location) {
      Value one = constant(inner, where, 1);
      Value end = arith::MinSIOp::create(inner, where, s.last, arith::SubIOp::create(inner, where, row, one));
      Value nth = arith::DivSIOp::create(inner, where, end, slice), value = reachedSlice(inner, where, s.memory, end);
      for (const Words& words : s.words)
        token =
            arith::OrIOp::create(inner, where, token,
                                 dist::WaitOp::create(inner, where, words.first, words.count, value, tile::Scope::Sys,
                                                      tile::Semantic::Acquire, dist::Compare::Ge));
      Value next = arith::MulIOp::create(inner, where, arith::AddIOp::create(inner, where, nth, one), slice);
      Value isAll = arith::CmpIOp::create(inner, where, CmpIPredicate::sge, next, row);
      Value all = constant(inner, where, std::numeric_limits<int64_t>::max());
      scf::YieldOp::create(inner, where, {token, arith::SelectOp::create(inner, where, isAll, all, next)});
    };
    auto keep = [&](OpBuilder& inner, Location) { scf::YieldOp::create(inner, where, {carried[0], there}); };
    auto waited = scf::IfOp::create(builder, where, isBeyond, wait, keep);
    tie(s.load, waited.getResult(0));
    return SmallVector<Value>(waited.getResults());
  };
  (void)loop.replaceWithAdditionalYields(rewriter, begin, false, waits);
}

// The loop carries the elements that are there, from one on up to another, as the last wait has left them.
void ArrivingSlices::awaitRows(Rows& r) {
  Location where = r.load->getLoc();
  auto loop = cast<scf::ForOp>(r.load->getParentOp());
  IRRewriter rewriter(loop);
  Value nothing = constant(rewriter, where, 0);
  SmallVector<Value, 3> begin = {constant(rewriter, where, 0, 32), nothing, nothing};
  auto waits = [&](OpBuilder&, Location, ArrayRef<BlockArgument> carried) {
    OpBuilder builder(r.load);
    Value begins = arith::CmpIOp::create(builder, where, CmpIPredicate::sge, r.range.first, carried[1]);
    Value ends = arith::CmpIOp::create(builder, where, CmpIPredicate::slt, r.range.last, carried[2]);
    Value isThere = arith::AndIOp::create(builder, where, begins, ends);
    auto keep = [&](OpBuilder& inner, Location) { scf::YieldOp::create(inner, where, ValueRange(carried)); };
    auto wait = [&](OpBuilder& inner, Location) {
      dist::ArrivingOp memory = r.memory;
      Chunks chunks{memory.getWords(), memory.getChunk(), memory.getChunks()};
      auto [first, end] = chunksIn(inner, where, r.range, chunks);
      Value token = eachChunk(inner, where, first, end, chunks.words, carried[0], [&](OpBuilder& b, Value word, Value) {
        auto one = dist::WaitOp::create(b, where, word, constant(b, where, 1, 32), memory.getEpoch(), tile::Scope::Sys,
                                        tile::Semantic::Acquire, dist::Compare::Ge);
        dist::setStays(one);
        return one.getResult();
      });
      auto elements = [&](Value chunk) { return arith::MulIOp::create(inner, where, chunk, chunks.chunk).getResult(); };
      scf::YieldOp::create(inner, where, {token, elements(first), elements(end)});
    };
    auto waited = scf::IfOp::create(builder, where, isThere, keep, wait);
    tie(r.load, waited.getResult(0));
    return SmallVector<Value>(waited.getResults());
  };
  (void)loop.replaceWithAdditionalYields(rewriter, begin, false, waits);
}

}  // namespace tandem::transform::gpu
