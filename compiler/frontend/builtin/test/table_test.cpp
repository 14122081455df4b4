// The table as data: names, signatures, completeness, modules.
#include "compiler/frontend/builtin/arguments.h"
#include "compiler/frontend/builtin/elsewhere.h"
#include "compiler/frontend/builtin/library.h"
#include "compiler/frontend/builtin/rows.h"
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>

namespace tandem::frontend {

TEST(Table, NamesAreUnique) {
  std::set<std::string> seen;
  for (const Builtin& row : builtin::allRows()) EXPECT_TRUE(seen.insert(row.name).second) << row.name;
  for (const auto& [name, value] : builtin::allConstants()) EXPECT_TRUE(seen.insert(name).second) << name;
  for (const auto& [name, function] : builtin::libraryFunctions()) EXPECT_TRUE(seen.insert(name).second) << name;
  EXPECT_GT(seen.size(), 800u);
}

TEST(Table, EverySignatureParses) {
  for (const Builtin& row : builtin::allRows())
    EXPECT_NO_THROW(builtin::signatureOf(*findBuiltin(row.name))) << row.name;
}

TEST(Table, EveryRowIsDescribed) {
  static const std::regex rule("|M(1[0-6]|[1-9])");
  for (const Builtin& row : builtin::allRows()) {
    EXPECT_TRUE(row.doc.text.ends_with(".")) << row.name << ": " << row.doc.text;
    EXPECT_TRUE(std::regex_match(row.doc.rule, rule)) << row.name << ": " << row.doc.rule;
  }
  for (const auto& [name, function] : builtin::libraryFunctions()) EXPECT_TRUE(function.doc.ends_with(".")) << name;
  EXPECT_EQ(findLibraryFunction("dl.tma.PipelineState")->signature, "index, phase, num_stages");
  EXPECT_EQ(findLibraryFunction("tl.softmax")->signature, "x, dim=None, keep_dims=False, ieee_rounding=False");
  EXPECT_EQ(findBuiltin("shmem.putmem_nbi_warp")->doc.by, Caller::Warp);
  EXPECT_EQ(findBuiltin("shmem.putmem_nbi_warp")->doc.rule, "M9");
}

TEST(Table, EveryFunctionSaysWhatOthersCallIt) {
  std::set<std::string> modules;
  for (const auto& [imported, module] : importNames()) modules.insert(module);
  for (const std::string& module : modules)
    for (const std::string& name : namesOf(module)) {
      std::string canonical = module + "." + name;
      const Builtin* row = findBuiltin(canonical);
      bool isPrivate = name.starts_with("_") && !name.starts_with("__");
      if (findConstant(canonical) || isPrivate || (row && row->doc.text.starts_with("Not supported"))) continue;
      EXPECT_TRUE(elsewhere(canonical)) << canonical << ": elsewhere.cpp says nothing of it";
    }
  EXPECT_EQ(elsewhere("tl.load")->triton, "triton.language.load");
  EXPECT_EQ(elsewhere("dl.symm_at")->openShmem, "shmem_ptr");
  EXPECT_EQ(elsewhere("shmem.putmem")->openShmem, "shmem_putmem");
  EXPECT_EQ(elsewhere("dl.arriving")->tritonDistributed, "");
  EXPECT_FALSE(elsewhere("dl.none"));
}

TEST(Table, SignaturesHaveDefaultsAndKinds) {
  const builtin::Signature& load = builtin::signatureOf(*findBuiltin("tl.load"));
  ASSERT_EQ(load.parameters.size(), 8u);
  EXPECT_EQ(load.parameters[0].name, "pointer");
  EXPECT_FALSE(load.parameters[0].fallback);
  EXPECT_TRUE(load.parameters[1].fallback->isNone());
  EXPECT_EQ(load.parameters[7].fallback->as<bool>(), false);
  const builtin::Signature& reshape = builtin::signatureOf(*findBuiltin("tl.reshape"));
  EXPECT_TRUE(reshape.takesRest);
  EXPECT_TRUE(reshape.parameters[1].keywordOnly);
  EXPECT_EQ(builtin::signatureOf(*findBuiltin("dl.rank")).parameters[0].fallback->as<Int>(), -1);
  EXPECT_EQ(builtin::signatureOf(*findBuiltin("tl.dot")).parameters.back().fallback->as<DType>(), DType{Scalar::Fp32});
}

TEST(Table, HasEveryPublicName) {
  std::ifstream file(TANDEM_SOURCE_DIR "/compiler/frontend/builtin/test/names.txt");
  std::string name;
  size_t count = 0;
  while (std::getline(file, name)) {
    ++count;
    EXPECT_TRUE(findBuiltin(name) || findConstant(name) || findLibraryFunction(name)) << name;
  }
  EXPECT_GT(count, 400u);
}

TEST(Table, NamesOfAModuleAreSortedAndItsOwn) {
  for (const char* module : {"tl", "tl.math", "tl.extra.libdevice", "dl", "dl.tma", "shmem", "extra"}) {
    std::vector<std::string> names = namesOf(module);
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end())) << module;
    EXPECT_GT(names.size(), 10u) << module;
    for (const std::string& name : names) EXPECT_EQ(name.find('.'), std::string::npos) << name;
  }
  std::vector<std::string> tl = namesOf("tl");
  for (const char* name : {"load", "cdiv", "float32", "math"})
    EXPECT_TRUE(std::binary_search(tl.begin(), tl.end(), name)) << name;
}

TEST(Table, ImportNames) {
  EXPECT_EQ(canonicalModule("triton.language"), "tl");
  EXPECT_EQ(canonicalModule("tandem.dist"), "dl");
  EXPECT_EQ(canonicalModule("triton_dist.language.extra.cuda.libnvshmem_device"), "shmem");
  EXPECT_EQ(canonicalModule("triton_dist.language.extra.language_extra"), "extra");
  EXPECT_EQ(canonicalModule("triton.language.extra.cuda.libdevice"), "tl.extra.libdevice");
  EXPECT_EQ(canonicalModule("numpy"), std::nullopt);
  EXPECT_EQ(findConstant("tl.extra")->as<std::shared_ptr<Namespace>>()->name, "tl.extra");
}

TEST(Table, ConstantsCarryOneMeaning) {
  EXPECT_EQ(findConstant("shmem.ROCSHMEM_CMP_GE")->as<Int>(), findConstant("shmem.NVSHMEM_CMP_GE")->as<Int>());
  EXPECT_EQ(findConstant("shmem.MORI_SIGNAL_ADD")->as<Int>(), findConstant("shmem.NVSHMEM_SIGNAL_ADD")->as<Int>());
  EXPECT_EQ(findConstant("shmem.NVSHMEM_CMP_GE")->as<Int>(), 5);
  EXPECT_EQ(findConstant("tl.bfloat16")->as<DType>(), DType{Scalar::Bf16});
}

TEST(Table, MethodsShareTheFunctionOfTheLibrary) {
  auto method = findLibraryFunction("tl.tensor.sum"), function = findLibraryFunction("tl.sum");
  ASSERT_TRUE(method && function);
  EXPECT_EQ(method->file, function->file);
  EXPECT_EQ(method->function, "sum");
  EXPECT_FALSE(findLibraryFunction("tl._add"));
}

}  // namespace tandem::frontend
