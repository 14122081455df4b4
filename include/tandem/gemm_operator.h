// What the operators that multiply over ranks have in common: for each number of rows a way to carry out the call is chosen, by
// a model, or as it was tuned.
#pragma once
#include "tandem/gemm_config.h"
#include "tandem/operator.h"

namespace tandem::ops {

class FewRows;
class GemmChooser;
class LibraryWay;
struct GemmChoice;
struct GemmModel;

// What a product over ranks does beside it: A's rows are gathered first, or sums are scattered, or all ranks get them.
enum class GemmKind : uint8_t { Gather, Scatter, Reduce };

class TANDEM_API GemmOperator : public Operator {
 public:
  ~GemmOperator() override;
  // The tensors of the operator's table, all contiguous. Every rank calls with the same m <= maxM. Queued on `stream`.
  void run(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0) {
    call({{a, b, out}, {m, int64_t(out.dtype)}, stream});
  }
  // [collective, blocks] Calls the model's quickest choices a few times on all ranks and keeps the best for calls of
  // this m, in the cache directory too: operators of these sizes find it there. Arguments as run's; out holds the
  // result.
  TunedGemm tune(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, int stream = 0);

 protected:
  GemmOperator(const Table& table, const GemmModel& model, GemmKind kind, Team& team, int64_t maxM, int64_t n,
               int64_t k, DType dtype, const GemmConfig& config);
  // Queues a call in the operator's own way; products of few rows, where these are one of several, and of the library are
  // not its matter.
  virtual void multiply(const Tensor& a, const Tensor& b, const Tensor& out, int64_t m, const GemmChoice& choice,
                        int stream) = 0;
  std::vector<Operator*> parts() const override;

  int64_t n_, k_;
  GemmConfig config_;  // as it was given
  std::unique_ptr<GemmChooser> chooser_;
  std::unique_ptr<FewRows> few_;  // where calls may be ones of few rows

 private:
  void queue(const Call& call) override;
  std::string tune(const Call& call) override;

  GemmKind kind_;
  std::unique_ptr<LibraryWay> library_;  // where calls may go that way
};

}  // namespace tandem::ops
