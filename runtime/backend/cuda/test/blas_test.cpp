// Products by cuBLAS: what lies where.
#include "runtime/backend/cuda/blas.h"
#include "runtime/backend/cuda/test/fake_driver.h"
#include <bit>

namespace tandem::runtime::cuda {
namespace {

class BlasTest : public FakeDriver {
 protected:
  BlasTest() { setenv("TANDEM_CUBLAS", TANDEM_FAKE_CUBLAS, 1); }
  ~BlasTest() override { unsetenv("TANDEM_CUBLAS"); }
};

uint16_t bf16(float value) { return uint16_t(std::bit_cast<uint32_t>(value) >> 16); }
uint16_t fp16(float value) { return std::bit_cast<uint16_t>(_Float16(value)); }
Address addressOf(const std::vector<uint16_t>& v) { return reinterpret_cast<Address>(v.data()); }

// Small whole numbers, which each order of sums gives exactly.
std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(float((i * 7 + seed) % 5 - 2));
  return out;
}

enum class Added { Nothing, Out, Other };

void expectProduct(bool isBfloat16, bool bTransposed, Added added) {
  constexpr int64_t m = 3, n = 5, k = 4;
  auto encoded = [&](const std::vector<float>& values) {
    std::vector<uint16_t> out;
    for (float v : values) out.push_back(isBfloat16 ? bf16(v) : fp16(v));
    return out;
  };
  std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 3), held = numbers(m * n, 2), other = numbers(m * n, 4);
  std::vector<uint16_t> words = encoded(a), others = encoded(b), out = encoded(held), third = encoded(other), wanted;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      size_t at = size_t(i * n + j);
      float sum = added == Added::Nothing ? 0 : added == Added::Out ? held[at] : other[at];
      for (int64_t l = 0; l < k; ++l) sum += a[size_t(i * k + l)] * b[size_t(bTransposed ? j * k + l : l * n + j)];
      wanted.push_back(isBfloat16 ? bf16(sum) : fp16(sum));
    }
  Address from = added == Added::Nothing ? 0 : added == Added::Out ? addressOf(out) : addressOf(third);
  Blas blas(0);
  Product product{addressOf(words), addressOf(others), addressOf(out),   m,  n,   k,
                  isBfloat16,       bTransposed,       addressOf(words), 64, from};
  for (int call = 0; call < (added == Added::Out ? 1 : 2); ++call) blas.multiply(nullptr, product);
  EXPECT_EQ(out, wanted) << isBfloat16 << bTransposed << int(added);
}

TEST_F(BlasTest, MultipliesMatricesThatLieByRows) {
  for (bool isBfloat16 : {false, true})
    for (bool bTransposed : {false, true})
      for (Added added : {Added::Nothing, Added::Out, Added::Other}) expectProduct(isBfloat16, bTransposed, added);
}

TEST_F(BlasTest, TellsWhatTheLibraryRefuses) {
  Blas blas(0);
  EXPECT_EQ(errorOf<std::runtime_error>([&] { blas.multiply(nullptr, {8, 8, 8, 1, 1, 1}); }),
            "cuBLAS: `cublasLtMatmulAlgoGetHeuristic` failed with status 7");
}

}  // namespace
}  // namespace tandem::runtime::cuda
