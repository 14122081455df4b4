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

void expectProduct(bool isBfloat16, bool bTransposed, bool isAdded) {
  constexpr int64_t m = 3, n = 5, k = 4;
  auto encoded = [&](const std::vector<float>& values) {
    std::vector<uint16_t> out;
    for (float v : values) out.push_back(isBfloat16 ? bf16(v) : fp16(v));
    return out;
  };
  std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 3);
  std::vector<uint16_t> words = encoded(a), others = encoded(b), wanted;
  std::vector<float> held = numbers(m * n, 2);
  std::vector<uint16_t> out = encoded(held);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = isAdded ? held[size_t(i * n + j)] : 0;
      for (int64_t l = 0; l < k; ++l) sum += a[size_t(i * k + l)] * b[size_t(bTransposed ? j * k + l : l * n + j)];
      wanted.push_back(isBfloat16 ? bf16(sum) : fp16(sum));
    }
  Blas blas(0);
  blas.multiply(nullptr, {addressOf(words), addressOf(others), addressOf(out), m, n, k, isBfloat16, bTransposed,
                          addressOf(words), 64, isAdded});
  EXPECT_EQ(out, wanted) << isBfloat16 << bTransposed << isAdded;
}

TEST_F(BlasTest, MultipliesMatricesThatLieByRows) {
  for (bool isBfloat16 : {false, true})
    for (bool bTransposed : {false, true})
      for (bool isAdded : {false, true}) expectProduct(isBfloat16, bTransposed, isAdded);
}

TEST_F(BlasTest, TellsWhatTheLibraryRefuses) {
  Blas blas(0);
  EXPECT_EQ(errorOf<std::runtime_error>([&] { blas.multiply(nullptr, {8, 8, 8, 1, 1, 1}); }),
            "cuBLAS: `cublasGemmEx` failed with status 7");
  EXPECT_EQ(errorOf<std::invalid_argument>([&] { blas.multiply(nullptr, {8, 8, 8, 1, int64_t(1) << 31, 1}); }),
            "a product of size 2147483648 is too large for cuBLAS");
}

}  // namespace
}  // namespace tandem::runtime::cuda
