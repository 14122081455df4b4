// Requests as the Python package sends them, to programs and diagnostics.
#include "compiler/driver/compile.h"
#include "compiler/driver/compile_image.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace {
using nlohmann::json;
using namespace tandem::compiler;

const char* kScale =
    "@jit\ndef scale(x, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(x + i, twice(tl.load(x + i, mask=i < n)), mask=i < n)\n";

json scaleRequest() {
  return {{"kernel", "1"},
          {"functions",
           {{"1",
             {{"kind", "jit"},
              {"name", "scale"},
              {"file", "k.py"},
              {"line", 10},
              {"source", kScale},
              {"globals", {{"tl", {{"module", "triton.language"}}}, {"twice", {{"function", "2"}}}}}}},
            {"2",
             {{"kind", "jit"},
              {"name", "twice"},
              {"file", "k.py"},
              {"line", 3},
              {"source", "def twice(v):\n    return v * FACTOR\n"},
              {"globals", {{"FACTOR", {{"float", "2.0"}}}}}}}}},
          {"arguments",
           {{{"name", "x"}, {"type", "*fp32"}},
            {{"name", "n"}, {"type", "i32"}},
            {{"name", "BLOCK"}, {"constexpr", {{"int", "128"}}}}}}};
}

TEST(Compile, RequestBecomesProgram) {
  Compiled c = compileToProgram(scaleRequest().dump());
  ASSERT_TRUE(c.program) << c.error;
  ASSERT_EQ(c.program->arguments.size(), 2u);
  EXPECT_EQ(c.program->arguments[0].name, "x");
  EXPECT_TRUE(c.program->arguments[0].isPointer);
  EXPECT_EQ(c.program->arguments[1].name, "n");
  EXPECT_TRUE(c.diagnostics.empty());
}

TEST(Compile, RequestsNestedTooDeepAreRefused) {
  std::string request = scaleRequest().dump();
  std::string tuples, ends;
  for (int i = 0; i < 100000; ++i) tuples += R"({"tuple":[)", ends += "]}";
  request.insert(request.find(R"({"constexpr":{"int":"128"})"), R"({"name":"x","constexpr":)" + tuples + ends + "},");
  EXPECT_EQ(compileToProgram(request).error, "error: the request is nested more than 500 deep\n");
  EXPECT_EQ(emit(request, "tile", false).error, "error: the request is nested more than 500 deep\n");
}

TEST(Compile, InlinedCallKeepsBothPlaces) {
  json r = scaleRequest();
  r["functions"]["2"]["source"] = "def twice(v):\n    return v + missing\n";
  Compiled c = compileToProgram(r.dump());
  ASSERT_FALSE(c.program);
  ASSERT_EQ(c.diagnostics.size(), 1u);
  EXPECT_EQ(c.diagnostics[0].kind, "unknown-name");
  EXPECT_EQ(c.diagnostics[0].range.line, 4u);
  EXPECT_EQ(c.diagnostics[0].range.column, 16u);
  EXPECT_NE(c.error.find("k.py:4:16: error: name `missing` is not defined"), std::string::npos) << c.error;
  EXPECT_NE(c.error.find("k.py:13:"), std::string::npos) << c.error;
}

TEST(Compile, ForeignGlobalsAreNamed) {
  json r = scaleRequest();
  r["functions"]["2"]["globals"]["FACTOR"] = {{"foreign", "a `torch.Tensor`"}};
  Compiled c = compileToProgram(r.dump());
  EXPECT_NE(c.error.find("`FACTOR` is a `torch.Tensor`; kernels cannot use it"), std::string::npos) << c.error;
}

TEST(Compile, MalformedRequestsAreDiagnostics) {
  for (const char* text : {"", "{", "[]", "{}", "null", "{\"kernel\": 3}", "{\"kernel\": \"1\", \"arguments\": []}",
                           "{\"kernel\": \"1\", \"functions\": {\"1\": {}}, \"arguments\": []}",
                           "{\"kernel\": \"1\", \"functions\": 7, \"arguments\": 5}"}) {
    Compiled c = compileToProgram(text);
    EXPECT_FALSE(c.program) << text;
    ASSERT_EQ(c.diagnostics.size(), 1u) << text;
    EXPECT_EQ(c.diagnostics[0].kind, "bad-request") << text << c.error;
  }
  json r = scaleRequest();
  r["arguments"][0]["type"] = "*fp17";
  EXPECT_NE(compileToProgram(r.dump()).error.find("`*fp17` is not a type"), std::string::npos);
  EXPECT_NE(emit(scaleRequest().dump(), "wasm").error.find("unknown stage `wasm`"), std::string::npos);
}

TEST(Compile, StagesHaveText) {
  std::string request = scaleRequest().dump();
  EXPECT_NE(emit(request, "ast").text.find("scale"), std::string::npos);
  EXPECT_NE(emit(request, "tile").text.find("tile.load"), std::string::npos) << emit(request, "tile").error;
  EXPECT_NE(emit(request, "tile-opt").text.find("tile.load"), std::string::npos);
  EXPECT_FALSE(emit(request, "sim").text.empty()) << emit(request, "sim").error;
}

TEST(Compile, LocationsOnRequest) {
  std::string request = scaleRequest().dump();
  EXPECT_EQ(emit(request, "tile").text.find("k.py:13"), std::string::npos);
  EXPECT_NE(emit(request, "tile", true).text.find("k.py:13"), std::string::npos);
  EXPECT_EQ(emit(request, "tile", true).text.find("#loc"), std::string::npos);
}

TEST(Compile, PromisesOfTheRequestAndOfTheAuthorAreAttributes) {
  json r = scaleRequest();
  r["arguments"][0]["divisibility"] = 16;
  r["functions"]["1"]["source"] =
      "@jit\ndef scale(x, n, BLOCK: tl.constexpr):\n    n = tl.multiple_of(n, 8)\n    x = tl.multiple_of(x, 4)\n"
      "    i = tl.max_contiguous(tl.multiple_of(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 64), 32)\n"
      "    j = tl.max_constancy(i // 4, 4)\n    tl.assume(n > 8)\n    tl.store(x + i + j, 1.0)\n";
  for (const char* stage : {"tile", "tile-opt"}) {
    std::string text = emit(r.dump(), stage).text;
    EXPECT_NE(text.find("%arg0: !tile.ptr<f32> {tile.multiple_of = 16 : i32,"), std::string::npos) << text;
    EXPECT_NE(text.find("%arg1: i32 {tile.multiple_of = 8 : i32,"), std::string::npos) << text;
    EXPECT_NE(text.find("{tile.contiguity = array<i32: 32>, tile.divisibility = array<i32: 64>}"), std::string::npos)
        << text;
    EXPECT_NE(text.find("tile.constancy = array<i32: 4>"), std::string::npos) << text;
    EXPECT_NE(text.find("tile.assume"), std::string::npos) << text;
  }
  EXPECT_TRUE(compileToProgram(r.dump()).program) << compileToProgram(r.dump()).error;
  for (const json& wrong : {json(0), json(-16), json("16"), json(2.5)}) {
    r["arguments"][0]["divisibility"] = wrong;
    std::string words = "`divisibility` of argument `x` must be a positive 32-bit integer, but is " + wrong.dump();
    EXPECT_NE(compileToProgram(r.dump()).error.find(words), std::string::npos);
  }
  r["arguments"][0]["divisibility"] = 16;
  r["arguments"][0]["type"] = "fp32";
  EXPECT_NE(
      compileToProgram(r.dump()).error.find("`divisibility` is for pointers and integers, but argument `x` is neither"),
      std::string::npos);
}

TEST(Compile, ParametersOfTheRequestThatMayOverlapAreAnAttribute) {
  json r = scaleRequest();
  EXPECT_EQ(emit(r.dump(), "tile").text.find("tile.overlapping"), std::string::npos);
  r["overlapping"] = json::array();
  EXPECT_NE(emit(r.dump(), "tile").text.find("tile.overlapping = array<i32>"), std::string::npos);
  r["overlapping"] = json::parse(R"([["n", "x"]])");
  EXPECT_NE(emit(r.dump(), "tile").text.find("tile.overlapping = array<i32: 0, 1>"), std::string::npos);
  r["overlapping"] = json::parse(R"([["x", "y"]])");
  EXPECT_NE(compileToProgram(r.dump()).error.find("`y`, which may overlap another, is no argument"), std::string::npos);
  r["overlapping"] = json::parse(R"([["x"]])");
  EXPECT_NE(compileToProgram(r.dump()).error.find("the request is not well formed"), std::string::npos);
}

TEST(Compile, LaunchOptionsAreChecked) {
  for (auto [name, value, words] :
       {std::tuple("num_warps", json(3), "must be a power of two between 1 and 32, but is 3"),
        std::tuple("num_warps", json(0), "must be a positive integer, but is 0"),
        std::tuple("num_ctas", json(-1), "must be a positive integer, but is -1"),
        std::tuple("num_ctas", json(3), "must be a power of two up to 8, but is 3"),
        std::tuple("num_ctas", json(16), "must be a power of two up to 8, but is 16"),
        std::tuple("num_stages", json(-1), "must be zero or a positive integer, but is -1"),
        std::tuple("num_stages", json(1.5), "must be zero or a positive integer, but is 1.5"),
        std::tuple("maxnreg", json("64"), "must be a positive integer, but is \"64\""),
        std::tuple("maxnreg", json(256), "must be 1 to 255, but is 256")}) {
    json r = scaleRequest();
    r["options"] = {{name, value}};
    Compiled c = compileToProgram(r.dump());
    EXPECT_NE(c.error.find("k.py:11:1: error: `" + std::string(name) + "` " + words), std::string::npos) << c.error;
  }
}

TEST(Compile, TheBlocksOfAProgramAreInTheImageAndNothingToTheSimulator) {
  json r = scaleRequest();
  r["options"] = {{"num_ctas", 4}, {"target", "sm_90a"}};
  CompiledImage image = compileToImage(r.dump());
  ASSERT_TRUE(image.image) << image.error;
  EXPECT_EQ(image.image->cluster, (std::array<int, 3>{4, 1, 1}));
  r["options"] = {{"num_ctas", 4}};
  EXPECT_TRUE(compileToProgram(r.dump()).program);
  EXPECT_EQ(emit(r.dump(), "sim").text, emit(scaleRequest().dump(), "sim").text);
}

TEST(Compile, ThreadsCompileAtOnce) {
  std::string request = scaleRequest().dump();
  std::string expected = emit(request, "tile-opt").text;
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) text = emit(request, "tile-opt").text;
    });
  for (std::thread& t : threads) t.join();
  for (const std::string& text : texts) EXPECT_EQ(text, expected);
}

TEST(Builtins, ListHasFunctionsAndConstants) {
  json list = json::parse(builtinsJson())["names"];
  auto find = [&](const std::string& module, const std::string& name) {
    for (const json& e : list)
      if (e["module"] == module && e["name"] == name) return e;
    return json();
  };
  EXPECT_EQ(find("tl", "load")["kind"], "function");
  EXPECT_EQ(find("tl", "float16")["value"], json({{"dtype", "fp16"}}));
}

}  // namespace
