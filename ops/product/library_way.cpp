#include "ops/product/library_way.h"
#include "ops/all_gather/all_gather.h"
#include "ops/all_reduce/all_reduce.h"
#include "ops/cdiv.h"
#include "ops/kernel_text.h"
#include "ops/peer_copies.h"
#include "ops/product/library_time.h"
#include "ops/reduce_scatter/reduce_scatter.h"
#include <algorithm>

namespace tandem::ops {
namespace {

constexpr int64_t kWorkspaceBytes = 32 << 20;  // what cuBLAS asks for on its own
constexpr int64_t kBlock = 32, kSimulatedPrograms = 6;
// A program's elements of a sum of parts.
constexpr int64_t kSummed = 8192;

Tensor rowsOf(const Tensor& t, int64_t first, int64_t count) {
  int64_t columns = t.shape.back();
  return {t.address + uint64_t(first * columns * byteSize(t.dtype)), {count, columns}, t.dtype};
}

}  // namespace

LibraryWay::Rows LibraryWay::rowsFor(const GemmConfig& given, Kind kind, const GemmSizes& sizes, bool isThere) {
  int64_t rowBytes = kind == Kind::Gather ? sizes.k * byteSize(sizes.dtype) : sizes.n * byteSize(partType(sizes.dtype));
  int64_t most = kind == Kind::Reduce ? kMostReducedBytes : kMostLibraryBytes;
  return {mayBeInParts(given, sizes, isThere) ? sizes.m : 0,
          std::min(sizes.m, mostLibraryRows(given, sizes, rowBytes, isThere, most))};
}

LibraryWay::LibraryWay(Team& team, Memory& memory, Kind kind, const Rows& rows, const GemmSizes& sizes,
                       bool bTransposed)
    : team_(team), kind_(kind), bTransposed_(bTransposed), hasProducts_(team.hasProducts()) {
  int64_t n = sizes.n, k = sizes.k;
  DType dtype = sizes.dtype, sums = partType(dtype);
  if (hasProducts_) workspace_ = memory.localZeros({kWorkspaceBytes}, DType::Int8, "library workspace");
  if (team.size() == 1) return;
  int64_t most = std::max(rows.most, rows.mostWhole), shard = shardRows(rows.most, team.size());
  if (rows.most)
    copies_ = std::make_unique<PeerCopies>(team, memory, kMostLibraryParts * (kind == Kind::Reduce ? 2 : 1));
  if (kind == Kind::Scatter || (kind == Kind::Reduce && rows.most))
    between_ = memory.localZeros({most, n}, sums, "library sums");
  if (kind != Kind::Gather && rows.most)
    arriving_ = memory.symmetricEmpty({(team.size() - 1) * shard, n}, sums, "library parts");
  switch (kind) {
    case Kind::Gather: {
      between_ = memory.symmetricEmpty({most, k}, dtype, "library rows");
      if (!rows.mostWhole) return;
      AllGatherConfig config;
      config.packetsBytes = rows.mostWhole * k * byteSize(dtype);
      collective_ = std::make_unique<AllGather>(team, rows.mostWhole, k, dtype, config);
      return;
    }
    case Kind::Scatter: {
      if (!rows.mostWhole) return;
      ReduceScatterConfig config;
      config.packetsBytes = shardRows(rows.mostWhole, team.size()) * n * byteSize(sums);
      collective_ = std::make_unique<ReduceScatter>(team, rows.mostWhole, n, sums, config);
      return;
    }
    case Kind::Reduce:
      if (rows.most) gathered_ = memory.symmetricEmpty({most, n}, sums, "library results");
      if (rows.mostWhole) collective_ = std::make_unique<AllReduce>(team, rows.mostWhole * n, sums);
  }
}

LibraryWay::~LibraryWay() = default;

LibraryWay::Part LibraryWay::partOf(int rank, int64_t m, int parts, int nth) const {
  int64_t rows = libraryPartRows(shardRows(m, team_.size()), parts), first = nth * rows;
  return {first, std::clamp<int64_t>(rowsOfRank(m, team_.size(), rank) - first, 0, rows)};
}

void LibraryWay::multiply(const Tensor& a, const Tensor& b, const Tensor& out, int stream, const Tensor& added) {
  if (!out.shape[0]) return;
  if (hasProducts_) return team_.multiply(out, a, b, bTransposed_, workspace_, stream, added);
  int64_t programs = std::min<int64_t>(kSimulatedPrograms, team_.residentPrograms());
  team_.launch(kernelOf("ops/product/product.py", "product"), {.grid = {int(programs), 1, 1}, .stream = stream},
               {a, b, out, added.address ? added : out, out.shape[0], out.shape[1], a.shape[1]},
               {{"BLOCK", kBlock},
                {"BLOCK_K", kBlock},
                {"PROGRAMS", programs},
                {"B_TRANSPOSED", bTransposed_},
                {"IS_ADDED", added.address != 0}});
}

// The own shard needs no copy: its product comes first, under the first copies.
void LibraryWay::gather(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int parts, int stream) {
  int ranks = team_.size(), me = team_.rank();
  int64_t shard = shardRows(m, ranks);
  int beside = copies_->begin(stream);
  multiply(a, b, rowsOf(out, me * shard, a.shape[0]), stream);
  for (int nth = 0; nth < parts; ++nth)
    for (int to : copies_->peers()) {
      int from = (2 * me - to + ranks) % ranks;
      Part mine = partOf(me, m, parts, nth), theirs = partOf(from, m, parts, nth);
      copies_->send(to, rowsOf(between_, me * shard + mine.first, mine.rows), rowsOf(a, mine.first, mine.rows), nth);
      copies_->receive(from, nth);
      team_.waitEvent(team_.recordEvent(beside), stream);
      int64_t first = from * shard + theirs.first;
      multiply(rowsOf(between_, first, theirs.rows), b, rowsOf(out, first, theirs.rows), stream);
    }
}

// The own shard's products come last and add what has arrived. `own` takes the sums, `between_` what travels.
void LibraryWay::scatter(const Tensor& a, const Tensor& b, const Tensor& own, int64_t m, int parts, int stream) {
  int ranks = team_.size(), me = team_.rank();
  int64_t shard = shardRows(m, ranks);
  int beside = copies_->begin(stream);
  std::vector<uint64_t> summed;
  for (int nth = 0; nth < parts; ++nth) {
    for (int to : copies_->peers()) {
      int from = (2 * me - to + ranks) % ranks;
      Part part = partOf(to, m, parts, nth);
      Tensor product = rowsOf(between_, to * shard + part.first, part.rows);
      multiply(rowsOf(a, to * shard + part.first, part.rows), b, product, stream);
      team_.waitEvent(team_.recordEvent(stream), beside);
      copies_->send(to, rowsOf(arriving_, (me - (me > to)) * shard + part.first, part.rows), product, nth);
      copies_->receive(from, nth);
    }
    if (ranks > 2) sum(own, shard, partOf(me, m, parts, nth), beside);
    summed.push_back(team_.recordEvent(beside));
  }
  for (int nth = 0; nth < parts; ++nth) {
    Part part = partOf(me, m, parts, nth);
    Tensor sums = rowsOf(own, part.first, part.rows);
    team_.waitEvent(summed[size_t(nth)], stream);
    multiply(rowsOf(a, me * shard + part.first, part.rows), b, sums, stream,
             ranks > 2 ? sums : rowsOf(arriving_, part.first, part.rows));
    if (kind_ == Kind::Reduce) {
      team_.waitEvent(team_.recordEvent(stream), beside);
      for (int to : copies_->peers())
        copies_->send(to, rowsOf(gathered_, me * shard + part.first, part.rows), sums, kMostLibraryParts + nth);
    }
  }
}

// All ranks' sums: each shard's parts go to the other ranks under the products of the following ones.
void LibraryWay::reduce(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int parts, int stream) {
  int ranks = team_.size(), me = team_.rank();
  int64_t shard = shardRows(m, ranks);
  scatter(a, b, rowsOf(out, me * shard, rowsOfRank(m, ranks, me)), m, parts, stream);
  int beside = team_.streamBeside(stream);
  for (int nth = 0; nth < parts; ++nth)
    for (int to : copies_->peers()) {
      int from = (2 * me - to + ranks) % ranks;
      Part part = partOf(from, m, parts, nth);
      copies_->receive(from, kMostLibraryParts + nth);
      if (part.rows)
        team_.copy(rowsOf(out, from * shard + part.first, part.rows),
                   rowsOf(gathered_, from * shard + part.first, part.rows), beside);
    }
}

// out = the sum of the parts that have arrived.
void LibraryWay::sum(const Tensor& out, int64_t shard, const Part& part, int stream) {
  if (!part.rows) return;
  int64_t n = out.shape[1], count = part.rows * n;
  Tensor sums = rowsOf(out, part.first, part.rows), first = rowsOf(arriving_, part.first, part.rows);
  team_.launch(kernelOf("ops/product/product.py", "sum_of_parts"),
               {.grid = {int(cdiv(count, kSummed)), 1, 1}, .stream = stream}, {first, sums, count, shard * n},
               {{"PARTS", int64_t(team_.size() - 1)}, {"BLOCK", kSummed}});
}

void LibraryWay::run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int parts, int stream) {
  if (DType result = partType(a.dtype); out.dtype != result)
    throw Error(std::string("`library` is 1, but its result of ") + name(a.dtype) + " is " + name(result) +
                ": `out` is " + name(out.dtype));
  if (team_.size() == 1) return multiply(a, b, out, stream);
  if (parts > 0) {
    switch (kind_) {
      case Kind::Gather: gather(a, b, out, m, parts, stream); break;
      case Kind::Scatter: scatter(a, b, out, m, parts, stream); break;
      case Kind::Reduce: reduce(a, b, out, m, parts, stream); break;
    }
    return copies_->end();
  }
  Tensor between{between_.address, {m, between_.shape.empty() ? 0 : between_.shape[1]}, between_.dtype};
  switch (kind_) {
    case Kind::Gather:
      static_cast<AllGather&>(*collective_).run(a, between, m, stream);
      return multiply(between, b, out, stream);
    case Kind::Scatter:
      multiply(a, b, between, stream);
      return static_cast<ReduceScatter&>(*collective_).run(between, out, m, stream);
    case Kind::Reduce: multiply(a, b, out, stream); return static_cast<AllReduce&>(*collective_).run(out, out, stream);
  }
}

}  // namespace tandem::ops
