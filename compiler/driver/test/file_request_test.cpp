// Kernels in files, as tandemc takes them.
#include "compiler/driver/compile.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace {
using namespace tandem::compiler;

class FileRequest : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::string path =
        testing::TempDir() + "tandem_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".py";
    std::ofstream(path) << text;
    return path;
  }
};

const char* kAdd = R"(import torch
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)

def host(x):
    try:
        return add[(triton.cdiv(x.numel(), 128),)](x, x, x, x.numel(), BLOCK=128)
    finally:
        torch.cuda.synchronize()
)";

TEST_F(FileRequest, PositionalAndNamedSignatures) {
  std::string path = write(kAdd);
  Emitted a = requestForFile(path, "", "*fp32, *fp32, *fp32, i32", "BLOCK=128", 4);
  Emitted b = requestForFile(path, "add", "n=i32, x_ptr=*fp32, y_ptr=*fp32, out_ptr=*fp32", "BLOCK = 128", 4);
  ASSERT_TRUE(a.error.empty()) << a.error;
  EXPECT_EQ(a.text, b.text);
  Emitted tile = emit(a.text, "tile");
  ASSERT_TRUE(tile.error.empty()) << tile.error;
  EXPECT_NE(tile.text.find("func.func @add(%arg0: !tile.ptr<f32>"), std::string::npos) << tile.text;
  EXPECT_NE(tile.text.find("tile.name = \"x_ptr\""), std::string::npos) << tile.text;
}

TEST_F(FileRequest, FunctionsOfFilesBesideAreImported) {
  std::filesystem::create_directories(testing::TempDir() + "beside");
  std::ofstream(testing::TempDir() + "beside/parts.py")
      << "import triton\nimport triton.language as tl\nfrom beside.more import SCALE\n@triton.jit\ndef scaled(x):\n    return x * SCALE\n";
  std::ofstream(testing::TempDir() + "beside/more.py") << "SCALE = 3\n";
  std::ofstream(testing::TempDir() + "beside/host.py") << "def f(x): return x <> 1\n";
  std::string path = write(R"(import triton
import triton.language as tl
import beside.parts as parts
from .relative import nothing
from beside.parts import scaled
from beside.host import f

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, parts.scaled(scaled(tl.load(x_ptr))))
)");
  Emitted tile = emit(requestForFile(path, "kernel", "*i32", "", 4).text, "tile-opt");
  ASSERT_TRUE(tile.error.empty()) << tile.error;
  EXPECT_NE(tile.text.find("arith.constant 9 : i32"), std::string::npos) << tile.text;
  auto words = std::string(kAdd) + "\nfrom nowhere import g\n@triton.jit\ndef unknown(x_ptr):\n    g(x_ptr)\n";
  EXPECT_NE(
      emit(requestForFile(write(words), "unknown", "*i32", "", 4).text, "tile").error.find("`g` of module `nowhere`"),
      std::string::npos);
}

TEST_F(FileRequest, MissingPiecesAreNamed) {
  std::string path = write(kAdd);
  EXPECT_NE(requestForFile(path, "", "*fp32, *fp32, *fp32, i32", "", 4)
                .error.find("constexpr parameter `BLOCK` of `add` has no value"),
            std::string::npos);
  EXPECT_NE(
      requestForFile(path, "", "*fp32, *fp32, *fp32", "BLOCK=1", 4).error.find("parameter `n` of `add` has no type"),
      std::string::npos);
  EXPECT_NE(requestForFile(path, "", "*fp32, *fp32, *fp32, i32, i32", "BLOCK=1", 4)
                .error.find("the signature has 5 types, but `add` takes 4"),
            std::string::npos);
  EXPECT_NE(requestForFile(path, "sub", "", "", 4).error.find("has no function `sub`"), std::string::npos);
  EXPECT_NE(requestForFile(path, "", "*fp32, *fp32, *fp32, i33", "BLOCK=1", 4)
                .error.find("`i33` is not a type, for parameter `n`"),
            std::string::npos);
  EXPECT_NE(requestForFile(path + "x", "", "", "", 4).error.find("cannot read"), std::string::npos);
  EXPECT_NE(requestForFile(path, "", "*fp32, *fp32, *fp32, i32", "BLOCK=1, OTHER=2", 4)
                .error.find("has no parameter `OTHER`"),
            std::string::npos);
  EXPECT_NE(requestForFile(path, "", "x_prt=*fp32, n=i32", "BLOCK=1", 4)
                .error.find("`add` has no parameter `x_prt`, which --signature names; did you mean `x_ptr`?"),
            std::string::npos);
  EXPECT_NE(requestForFile(path, "", "n=i32, n=i64", "BLOCK=1", 4).error.find("`n` has two types in --signature"),
            std::string::npos);
  EXPECT_NE(requestForFile(path, "", "BLOCK=i32", "BLOCK=1", 4)
                .error.find("`BLOCK` has a type in --signature and a value in --constexpr"),
            std::string::npos);
  EXPECT_NE(requestForFile(testing::TempDir(), "", "", "", 4).error.find("is a directory, not a file"),
            std::string::npos);
}

TEST_F(FileRequest, ErrorsSpeakOfWhatTheCallerGives) {
  auto errorOf = [](const std::string& signature, const std::string& constexprs, const RequestWords& words) {
    return requestForText(kAdd, "add.py", "", signature, constexprs, 4, words).error;
  };
  RequestWords c{"`signature`", "`constexprs`"}, cpp{"`arguments`", "`constants`", true};
  EXPECT_EQ(errorOf("*fp32, *fp32, *fp32, i32", "", c),
            "error: constexpr parameter `BLOCK` of `add` has no value; give it with `constexprs` 'BLOCK=...'\n");
  EXPECT_EQ(errorOf("*fp32", "BLOCK=1", c),
            "error: parameter `y_ptr` of `add` has no type; give it with `signature` 'y_ptr=...'\n");
  EXPECT_EQ(errorOf("*fp32, *fp32, *fp32, i32", "", cpp),
            "error: constexpr parameter `BLOCK` of `add` has no value; give it in `constants`\n");
  EXPECT_EQ(errorOf("*fp32", "BLOCK=1", cpp), "error: parameter `y_ptr` of `add` has no argument: 1 argument given\n");
  EXPECT_EQ(errorOf("*fp32, *fp32, *fp32, i32, i32", "BLOCK=1", cpp),
            "error: `add` takes 4 arguments beside its constants, 5 given\n");
  EXPECT_EQ(errorOf("*fp32, *fp32, *fp32, i32", "BLOCK=1, BLOK=2", cpp),
            "error: `add` has no parameter `BLOK`, which `constants` names; did you mean `BLOCK`?\n");
}

TEST_F(FileRequest, ConstantsThatAreNoKeywords) {
  for (const char* text : {"BLOCK", "BLO CK=4", "=4", "BLOCK=(1", "1)\ng(2", "): x = (1", "BLOCK=1)[0:(1"})
    EXPECT_TRUE(requestForText(kAdd, "add.py", "", "", text, 4)
                    .error.starts_with("error: constexprs must be `NAME=value, NAME=value`, but are `"))
        << text << requestForText(kAdd, "add.py", "", "", text, 4).error;
}

TEST_F(FileRequest, AFilesNameIsAnyBytes) {
  Emitted made = requestForText(kAdd, "\xff.py", "", "*fp32, *fp32, *fp32, i32", "BLOCK=16", 4);
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(emit(made.text, "tile").error, "");
}

TEST_F(FileRequest, SyntaxErrorHasItsPlace) {
  std::string path = write("def f(:\n");
  EXPECT_NE(requestForFile(path, "", "", "", 4).error.find(":1:7: error:"), std::string::npos)
      << requestForFile(path, "", "", "", 4).error;
}

}  // namespace
