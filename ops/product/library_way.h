// A product over ranks as the vendor's library does it, beside collectives of ours: the library has the best product for
// many shapes.
//
// In one piece, with a collective before it or behind it on the stream. Nothing overlaps, but for few rows nothing needs
// to. Or, of many rows, in parts of the ranks' shards, which copy engines bring to where they are multiplied, or to where
// they are summed, under the products of other parts.
#pragma once
#include "ops/product/library_time.h"
#include "tandem/gemm_operator.h"

namespace tandem::ops {

class PeerCopies;

class LibraryWay {
 public:
  using Kind = GemmKind;
  struct Rows {
    int64_t most = 0, mostWhole = 0;  // of calls in parts, and of those in one piece
  };
  // Returns the rows of an operator for up to `sizes` that may go both ways. `isThere`: every rank has the library.
  static Rows rowsFor(const GemmConfig& given, Kind kind, const GemmSizes& sizes, bool isThere);
  // [collective] For calls of up to so many rows that go this way.
  LibraryWay(Team& team, Memory& memory, Kind kind, const Rows& rows, const GemmSizes& sizes, bool bTransposed);
  ~LibraryWay();
  // The operator's tensors. `parts`: of a shard; 0: in one piece.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int parts, int stream);
  Operator* part() const { return collective_.get(); }  // null: one rank, or none in one piece

 private:
  // A part of a shard's rows.
  struct Part {
    int64_t first, rows;
  };
  Part partOf(int rank, int64_t m, int parts, int nth) const;
  void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int stream, const Tensor& added = {});
  void gather(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int parts, int stream);
  void scatter(const Tensor& a, const Tensor& b, const Tensor& own, int64_t m, int parts, int stream);
  void reduce(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int parts, int stream);
  void sum(const Tensor& out, int64_t shard, const Part& part, int stream);

  Team& team_;
  Kind kind_;
  bool bTransposed_, hasProducts_;
  std::unique_ptr<Operator> collective_;
  std::unique_ptr<PeerCopies> copies_;
  Tensor between_;   // [rows, k] gathered, or [rows, n] of products that travel
  Tensor arriving_;  // [ranks - 1, rows of a shard, n]: the others' sums, one after the other
  Tensor gathered_;  // [rows, n]: all ranks' sums
  Tensor workspace_;
};

}  // namespace tandem::ops
