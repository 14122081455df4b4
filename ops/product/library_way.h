// A product over ranks as the vendor's library does it, with a collective of ours before it or behind it on the stream.
// Nothing overlaps, but for few rows nothing needs to: the library has the best product for many shapes.
#pragma once
#include "ops/gemm_choice.h"
#include "tandem/operator.h"

namespace tandem::ops {

class LibraryWay {
 public:
  enum class Kind : uint8_t { Gather, Scatter, Reduce };
  // [collective] For calls of up to `maxM` rows that go this way.
  LibraryWay(Team& team, Memory& memory, Kind kind, int64_t maxM, int64_t n, int64_t k, DType dtype, bool bTransposed);
  ~LibraryWay();
  // The operator's tensors.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream);
  Operator* part() const { return collective_.get(); }  // null: one rank

 private:
  void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int stream);

  Team& team_;
  Kind kind_;
  bool bTransposed_, hasProducts_;
  std::unique_ptr<Operator> collective_;
  Tensor between_;  // what the collective and the product hand each other
  Tensor workspace_;
};

}  // namespace tandem::ops
