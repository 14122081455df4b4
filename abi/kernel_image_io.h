// These functions turn a KernelImage into bytes and back; the compile cache and bundles keep the bytes in files.
// Reading trusts nothing.
#pragma once
#include "abi/kernel_image.h"
#include <optional>
#include <string_view>

namespace tandem::abi {

// Eight bytes every image starts with; the last two are the version.
inline constexpr std::string_view kImageMagic(
    "TDIMG\0"
    "04",
    8);

std::string writeImage(const KernelImage& image);

// The image in `bytes`; none when they are not a whole, undamaged image of this version, and `error` says why.
std::optional<KernelImage> readImage(std::string_view bytes, std::string& error);

// Returns why a launcher could not carry the image out, or "": an expression pops too much, or an argument or a shape
// does not exist.
std::string problemOf(const KernelImage& image);

// An expression may stack at most this many values.
inline constexpr int kHostExprDepth = 32;

}  // namespace tandem::abi
