// Host side of all-gather: words for small results, copy engines for large ones.
//
// By copies, on a stream of its own, with all peers, in this order (M13 orders what a stream does):
//   1. wait for the main stream, which has ended the last call
//   2. peer.begun[me] = 1: you may write to me
//   3. wait for begun[peer] == 1, put it back to 0
//   4. copy the rows to the peer, then peer.ready[me] = 1
//   5. wait for ready[peer] == 1, put it back to 0; the main stream waits for this stream
// A peer's 4 comes after my 2, so after my 1: nothing is written into what is still read. Nor is a signal set before its last value was
// put back: a peer's next 2 comes after its 5, so after my 4 and my 3; its next 4 comes after its next 3, so after my next 2 and my 5.
#include "ops/check.h"
#include "ops/collective.h"
#include "ops/words/words.h"
#include <algorithm>
#include <utility>

namespace tandem::ops {
namespace {

constexpr char kOp[] = "all_gather";

// Bits are moved as integers of one size.
DType wordType(DType dtype) {
  switch (byteSize(dtype)) {
    case 1: return DType::Int8;
    case 2: return DType::Int16;
    default: return DType::Int32;
  }
}

Tensor asWords(const Tensor& t) {
  DType word = wordType(t.dtype);
  return {t.address, {t.bytes() / byteSize(word)}, word};
}

Tensor elementsOf(const Tensor& t, int64_t first, int64_t count) {
  return {t.address + uint64_t(first * byteSize(t.dtype)), {count}, t.dtype};
}

}  // namespace

AllGather::AllGather(Team& team, int64_t maxM, int64_t columns, DType dtype, const CollectiveConfig& config,
                     int64_t wordsBytes)
    : team_(team), maxM_(maxM), columns_(columns), wordsBytes_(wordsBytes), dtype_(dtype) {
  checkPositive(kOp, "max_m", maxM);
  checkPositive(kOp, "columns", columns);
  checkBytes(kOp, maxM, columns, dtype);
  checkConfig(kOp, config);
  op_ = team.openOperator(madeFor(kOp, std::to_string(maxM) + " x " + std::to_string(columns), dtype, config), "m,symmetric_out");
  int64_t shard = shardRows(maxM, team.size()) * columns, bytes = maxM * columns * byteSize(dtype);
  if (wordsBytes > 0) {
    int64_t most = std::min(shard * byteSize(dtype), shardRows(wordsBytes, team.size()) + columns * byteSize(dtype));
    words_ = std::make_unique<Words>(team, cdiv(most, byteSize(DType::Int64)), config, "all_gather");
  }
  if (bytes <= wordsBytes) return;
  gathered_ = team.empty({team.size() * shard}, dtype, "all_gather gathered");
  ready_ = team.zeros({team.size()}, DType::Int32, "all_gather ready");
  begun_ = team.zeros({team.size()}, DType::Int32, "all_gather begun");
}

AllGather::~AllGather() = default;

void AllGather::close() {
  if (std::exchange(closed_, true)) return;
  team_.barrier();
  if (words_) words_->release();
  if (maxM_ * columns_ * byteSize(dtype_) > wordsBytes_)
    for (const Tensor& t : {gathered_, ready_, begun_}) team_.release(t);
}

void AllGather::run(const Tensor& x, const Tensor& out, int64_t m, int stream, bool symmetricOut) {
  checkOpen(kOp, closed_);
  checkRows(kOp, m, maxM_);
  checkSize(kOp, "x", x, rowsOfRank(m, team_.size(), team_.rank()) * columns_, dtype_);
  checkSize(kOp, "out", out, m * columns_, dtype_);
  team_.callOperator(op_, stream, {m, symmetricOut});
  if (out.bytes() <= wordsBytes_)
    runWords(x, out, m, stream);
  else
    runCopies(x, out, m, stream, symmetricOut);
}

void AllGather::runWords(const Tensor& x, const Tensor& out, int64_t m, int stream) {
  Tensor source = asWords(x), dest = asWords(out);
  int64_t shard = shardRows(m, team_.size()) * dest.size() / m;
  words_->launch(wordsKernel("gather_words"), source, dest, {dest.size(), shard},
                 cdiv(shard, elementsOfPacket(dest.dtype)), stream);
}

void AllGather::runCopies(const Tensor& x, const Tensor& out, int64_t m, int stream, bool symmetricOut) {
  int ranks = team_.size(), rank = team_.rank();
  int64_t shard = shardRows(m, ranks) * columns_;
  auto piece = [&](const Tensor& of, int of_rank) {
    return elementsOf(of, of_rank * shard, rowsOfRank(m, ranks, of_rank) * columns_);
  };
  const Tensor& landing = symmetricOut ? out : gathered_;
  int beside = ranks > 1 ? team_.streamBeside(stream) : stream;
  if (ranks > 1) team_.waitEvent(team_.recordEvent(stream), beside);
  if (x.size() && piece(out, rank).address != x.address) team_.copy(piece(out, rank), x, stream);
  if (ranks == 1) return;
  std::vector<SignalStep> begin, end;
  auto others = [&](auto body) {
    for (int distance = 1; distance < ranks; ++distance) body((rank + distance) % ranks);
  };
  others([&](int peer) { begin.push_back({team_.peer(elementsOf(begun_, rank, 1), peer), 1}); });
  others([&](int peer) {
    Tensor begun = elementsOf(begun_, peer, 1), ready = elementsOf(ready_, peer, 1);
    begin.insert(begin.end(), {{begun, 1, Compare::Eq}, {begun, 0}});
    end.insert(end.end(), {{ready, 1, Compare::Eq}, {ready, 0}});
  });
  team_.signals(begin, beside);
  others([&](int peer) {
    if (x.size()) team_.copy(team_.peer(piece(landing, rank), peer), x, beside);
    team_.signalWrite(team_.peer(elementsOf(ready_, rank, 1), peer), 1, beside);
  });
  team_.signals(end, beside);
  if (!symmetricOut)
    others([&](int peer) {
      if (piece(out, peer).size()) team_.copy(piece(out, peer), piece(landing, peer), beside);
    });
  team_.waitEvent(team_.recordEvent(beside), stream);
}

}  // namespace tandem::ops
