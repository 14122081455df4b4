// These tests check the content of a bundle's files, and that the header is C that compiles.
#include "compiler/driver/bundle.h"
#include "abi/kernel_image_io.h"
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tandem::compiler {
namespace {
using abi::ParamType;

constexpr char kRequest[] = R"({"kernel": "scale", "arguments": [
  {"name": "x", "type": "*fp32", "divisibility": 16}, {"name": "BLOCK", "constexpr": {"int": "64"}}, {"name": "factor", "type": "fp32"},
  {"name": "d", "descriptor": {"dtype": "fp16", "block_shape": [64]}}, {"name": "t", "tuple": [{"name": "t.0", "type": "i1"}]}]})";

abi::KernelImage image() {
  abi::KernelImage i;
  i.name = "scale";
  i.target = "sm_90a";
  i.ptx = ".version 8.0";
  i.params = {ParamType::Pointer, ParamType::F32, ParamType::Pointer, ParamType::I32, ParamType::I64, ParamType::I1};
  return i;
}

TEST(Bundle, Files) {
  Bundle b = makeBundle(image(), kRequest);
  EXPECT_EQ(b.name, "scale");
  std::string why;
  EXPECT_EQ(abi::readImage(b.image, why)->name, "scale");
  EXPECT_NE(
      b.header.find(
          "static inline int scale_launch(td_gpu_kernel* kernel, int device, uint64_t stream, int grid_x, int grid_y, "
          "int grid_z,\n    uint64_t x /* a multiple of 16 */,\n    float factor,\n    uint64_t d /* a multiple of 16 */,\n"
          "    int32_t d_shape0,\n    int64_t d_stride0,\n    int32_t t_0) {"),
      std::string::npos)
      << b.header;
  auto metadata = nlohmann::json::parse(b.metadata);
  EXPECT_EQ(metadata["parameters"][1], (nlohmann::json{{"name", "factor"}, {"type", "fp32"}, {"divisibility", 1}}));
  EXPECT_EQ(metadata["image"], "scale.tdimage");
}

TEST(Bundle, NamesWithoutARequest) {
  EXPECT_NE(makeBundle(image(), "{}").header.find("float argument1"), std::string::npos);
  abi::KernelImage odd = image();
  odd.name = "2-k";
  EXPECT_EQ(makeBundle(odd, "nonsense").name, "_2_k");
}

TEST(Bundle, TheHeaderIsC) {
  std::string stem = testing::TempDir() + "bundle-" + std::to_string(getpid());
  std::ofstream(stem + ".h") << makeBundle(image(), kRequest).header;
  std::ofstream(stem + ".c")
      << "#include \"" << stem
      << ".h\"\nint use(td_gpu_kernel* k) { return scale_launch(k, 0, 0, 1, 1, 1, 0, 2.5f, 0, 3, 4, 1); }\n";
  std::string command =
      std::string(TANDEM_C_COMPILER " -std=c99 -Wall -Werror -fsyntax-only -I" TANDEM_SOURCE_DIR "/include ") + stem +
      ".c";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace tandem::compiler
