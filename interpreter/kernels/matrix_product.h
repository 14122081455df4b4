// The float product of row-major matrices, which every narrower product comes down to.
#pragma once
#include <cstddef>
#include <vector>

namespace tandem::interpreter {

// out [m, n] += lhs [m, k] * rhs [k, n]
void addProduct(size_t m, size_t n, size_t k, const float* lhs, const float* rhs, float* out);
void addProduct(size_t m, size_t n, size_t k, const double* lhs, const double* rhs, double* out);

// Scratch of at least `count` floats that lives as long as the thread. The slots are different memory.
enum class Scratch { Lhs, Rhs, Sum };
float* scratch(Scratch slot, size_t count);

}  // namespace tandem::interpreter
