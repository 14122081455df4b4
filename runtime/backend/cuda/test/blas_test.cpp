// Products by cuBLAS: what lies where.
#include "runtime/backend/cuda/blas.h"
#include "runtime/backend/cuda/test/fake_driver.h"
#include <array>
#include <bit>
#include <cmath>

namespace tandem::runtime::cuda {
namespace {

class BlasTest : public FakeDriver {
 protected:
  BlasTest() { setenv("TANDEM_CUBLAS", TANDEM_FAKE_CUBLAS, 1); }
  ~BlasTest() override { unsetenv("TANDEM_CUBLAS"); }
};

constexpr int kFp16 = 0, kBf16 = 1, kFp8 = 2, kFp32 = 3;

uint16_t bf16(float value) { return uint16_t(std::bit_cast<uint32_t>(value) >> 16); }
uint16_t fp16(float value) { return std::bit_cast<uint16_t>(_Float16(value)); }
Address addressOf(const std::vector<uint8_t>& v) { return reinterpret_cast<Address>(v.data()); }

// Small whole numbers, which each order of sums gives exactly.
std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(float((i * 7 + seed) % 5 - 2));
  return out;
}

enum class Added { Nothing, Out, Other };

// The bytes of the numbers from -2 to 2.
std::vector<uint8_t> encoded(const std::vector<float>& values, int type) {
  std::vector<uint8_t> out;
  for (float v : values) {
    if (type == kFp8) {
      out.push_back(uint8_t((v < 0 ? 0x80 : 0) | (std::abs(v) == 2 ? 0x40 : v != 0 ? 0x38 : 0)));
      continue;
    }
    if (type == kFp32) {
      auto bytes = std::bit_cast<std::array<uint8_t, 4>>(v);
      out.insert(out.end(), bytes.begin(), bytes.end());
      continue;
    }
    uint16_t word = type == kBf16 ? bf16(v) : fp16(v);
    out.insert(out.end(), {uint8_t(word), uint8_t(word >> 8)});
  }
  return out;
}

void expectProduct(ProductType type, bool bTransposed, Added added) {
  constexpr int64_t m = 3, n = 8, k = 16;
  int operand = type == ProductType::Float8E4NV ? kFp8
                : type == ProductType::BFloat16 ? kBf16
                : type == ProductType::Float32  ? kFp32
                                                : kFp16;
  int result = operand == kFp8 ? kBf16 : operand;
  std::vector<float> a = numbers(m * k, 1), b = numbers(k * n, 3), held = numbers(m * n, 2), other = numbers(m * n, 4);
  std::vector<float> wanted;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      size_t at = size_t(i * n + j);
      float sum = added == Added::Nothing ? 0 : added == Added::Out ? held[at] : other[at];
      for (int64_t l = 0; l < k; ++l) sum += a[size_t(i * k + l)] * b[size_t(bTransposed ? j * k + l : l * n + j)];
      wanted.push_back(sum);
    }
  std::vector<uint8_t> left = encoded(a, operand), right = encoded(b, operand), out = encoded(held, result),
                       third = encoded(other, result);
  Address from = added == Added::Nothing ? 0 : added == Added::Out ? addressOf(out) : addressOf(third);
  Blas blas(0);
  Product product{
      addressOf(left), addressOf(right), addressOf(out), m, n, k, type, bTransposed, addressOf(left), 64, from};
  for (int call = 0; call < (added == Added::Out ? 1 : 2); ++call) blas.multiply(nullptr, product);
  EXPECT_EQ(out, encoded(wanted, result)) << int(type) << bTransposed << int(added);
}

TEST_F(BlasTest, MultipliesMatricesThatLieByRows) {
  for (ProductType type : {ProductType::Float16, ProductType::BFloat16, ProductType::Float32, ProductType::Float8E4NV})
    for (bool bTransposed : {false, true})
      for (Added added : {Added::Nothing, Added::Out, Added::Other})
        if (bTransposed || type != ProductType::Float8E4NV) expectProduct(type, bTransposed, added);
}

TEST_F(BlasTest, TellsWhatTheLibraryRefuses) {
  Blas blas(0);
  EXPECT_EQ(errorOf<std::runtime_error>([&] { blas.multiply(nullptr, {8, 8, 8, 1, 1, 1}); }),
            "cuBLAS: `cublasLtMatmulAlgoGetHeuristic` failed with status 7");
}

}  // namespace
}  // namespace tandem::runtime::cuda
