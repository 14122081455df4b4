// Finding and running ptxas: order of the places, errors with the tool's text, no files left behind.
#include "compiler/codegen/nvidia/subprocess.h"
#include "compiler/codegen/nvidia/test/build.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tandem::codegen::test {
namespace {
namespace fs = std::filesystem;

class WithVariable {
 public:
  WithVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~WithVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

std::string script(const TemporaryFolder& folder, const std::string& name, const std::string& body) {
  std::string path = folder.file(name);
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

const target::TargetInfo& hopper() { return target::TargetInfo::named("sm_90a"); }

TEST(ToolSearch, ANamedFileIsNotReplacedByAnother) {
  std::vector<std::string> searched;
  EXPECT_EQ(findPtxas({.ptxas = "/nowhere/ptxas"}, searched), std::nullopt);
  EXPECT_EQ(searched, std::vector<std::string>{"/nowhere/ptxas"});
}

TEST(ToolSearch, TheVariableBeatsThePath) {
  TemporaryFolder folder;
  std::string mine = script(folder, "mine", "exit 0");
  script(folder, "bin/ptxas", "exit 0");
  WithVariable unnamed("TANDEM_PTXAS", "");
  WithVariable path("PATH", folder.file("bin"));
  std::vector<std::string> searched;
  EXPECT_EQ(findPtxas({}, searched), folder.file("bin/ptxas"));
  WithVariable named("TANDEM_PTXAS", mine);
  EXPECT_EQ(findPtxas({}, searched), mine);
}

TEST(ToolSearch, WheelsAreTheLastPlace) {
  TemporaryFolder folder;
  script(folder, "site/triton/backends/nvidia/lib/libdevice.10.bc", "");
  std::vector<std::string> searched;
  auto found = findLibdevice({.sitePackages = {folder.file("site")}}, searched);
  ASSERT_TRUE(found);
  if (found->starts_with("/usr/")) GTEST_SKIP() << "a toolkit is installed";
  EXPECT_EQ(*found, folder.file("site/triton/backends/nvidia/lib/libdevice.10.bc"));
}

TEST(Cubin, NoAssemblerIsNoError) {
  EXPECT_EQ(toCubin("", hopper(), {.paths = {.ptxas = "/nowhere/ptxas"}}), std::nullopt);
}

TEST(Cubin, AVariableThatNamesNoFileIsAnError) {
  WithVariable named("TANDEM_PTXAS", "/nowhere/ptxas");
  Diagnostic d = errorOf([&] { toCubin("", hopper(), {}); });
  EXPECT_EQ(d.kind, "missing-ptxas");
  EXPECT_EQ(d.message, "`TANDEM_PTXAS` names `/nowhere/ptxas`, which is no file");
}

TEST(Cubin, TheAssemblersWordsReachTheError) {
  TemporaryFolder folder;
  std::string ptxas = script(folder, "ptxas", "echo 'line 3; error: no such instruction'; exit 255");
  Diagnostic d = errorOf([&] { toCubin("junk", hopper(), {.paths = {.ptxas = ptxas}}); });
  EXPECT_EQ(d.kind, "ptxas-failed");
  EXPECT_NE(d.message.find("failed with status 255"), std::string::npos) << d.message;
  EXPECT_NE(d.message.find("line 3; error: no such instruction"), std::string::npos) << d.message;
}

TEST(Cubin, ResourcesAreReadAndOptionsPassed) {
  TemporaryFolder folder;
  std::string ptxas = script(folder, "ptxas", R"(
echo "$@"
echo "ptxas info    : Function properties for k"
echo "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads"
echo "ptxas info    : Used 168 registers, used 1 barriers"
while [ "$1" != -o ]; do shift; done; echo code > "$2")");
  auto cubin = toCubin("text", hopper(), {.lineInfo = true, .paths = {.ptxas = ptxas}});
  ASSERT_TRUE(cubin);
  EXPECT_EQ(cubin->image, "code\n");
  EXPECT_EQ(cubin->registers, 168);
  EXPECT_EQ(cubin->spillBytes, 20);
  EXPECT_EQ(cubin->stackBytes, 16);
  expectText(cubin->log, {"-arch=sm_90a -v -lineinfo -o"});
}

// This ptxas uses `spent` registers where one block is enough, `weighed` of its own choice, and else as many as the blocks
// leave; with fewer than 120, and fewer than `weighed`, it spills `spilt` bytes.
class Occupying : public testing::Test {
 protected:
  std::optional<Assembled> assembled(int spent, int weighed, const BlockNeeds& block, const std::string& bound = "",
                                     int spilt = 48, const std::string& body = "") {
    std::string ptxas = script(folder_, "ptxas",
                               R"(
while [ "$1" != -o ]; do shift; done; echo code > "$2"
blocks=$(sed -n 's/^.minnctapersm //p' "$3"); threads=$(sed -n 's/^.reqntid \([0-9]*\).*/\1/p' "$3")
spilt=0
case $blocks in
1) used=)" + std::to_string(spent) +
                                   R"(;;
"") used=)" + std::to_string(weighed) +
                                   R"(;;
*) used=$((65536 / blocks / threads / 8 * 8)); [ $used -ge 120 ] || [ $used -ge )" +
                                   std::to_string(weighed) + R"( ] || spilt=)" + std::to_string(spilt) +
                                   R"(;;
esac
echo "    0 bytes stack frame, $spilt bytes spill stores, 0 bytes spill loads"
echo "ptxas info    : Used $used registers")");
    std::string ptx =
        ".entry k()\n.reqntid " + std::to_string(block.threads) + ", 1, 1\n" + bound + "{\n" + body + "}\n";
    return assemble(ptx, hopper(), block, {.paths = {.ptxas = ptxas}});
  }
  TemporaryFolder folder_;
};

TEST_F(Occupying, RegistersAreSpentWhereHalfOfTheThreadsFitInManyBlocks) {
  EXPECT_EQ(assembled(64, 32, {128, 0})->cubin.registers, 64) << "eight blocks";
}

TEST_F(Occupying, HalfOfTheThreadsInFewBlocksAreFew) {
  EXPECT_EQ(assembled(56, 48, {256, 0})->cubin.registers, 48) << "five blocks instead of four";
  EXPECT_EQ(assembled(48, 38, {512, 0}, "", 0)->cubin.registers, 40)
      << "three blocks instead of two, and all their registers";
  EXPECT_EQ(assembled(64, 57, {256, 0})->cubin.registers, 64) << "four blocks in both ways, and five spill";
}

TEST_F(Occupying, FewerRegistersAreTakenForMoreBlocks) {
  EXPECT_EQ(assembled(72, 40, {512, 0})->cubin.registers, 40) << "three blocks instead of one";
  EXPECT_EQ(assembled(72, 82, {512, 0})->cubin.registers, 72) << "one block in both ways, and two spill";
}

TEST_F(Occupying, TheCodeThatSpendsRegistersIsKeptForLaunchesOfFewBlocks) {
  std::optional<Assembled> code = assembled(72, 40, {512, 0});
  ASSERT_TRUE(code && code->roomy);
  EXPECT_EQ(code->roomy->registers, 72);
  EXPECT_EQ(code->roomyBlocks, 1);
  EXPECT_FALSE(assembled(64, 32, {128, 0})->roomy) << "it is the code for all launches";
}

TEST_F(Occupying, WhatSpillsWithAllRegistersIsAssembledOnceButForAFewBytes) {
  auto runs = [&](int spilt) {
    std::string file = folder_.file("runs");
    fs::remove(file);
    std::string stored = std::to_string(spilt) + " bytes spill stores",
                ptxas = script(folder_, "ptxas", "echo run >> " + file + R"(
while [ "$1" != -o ]; do shift; done; echo code > "$2"
echo "    8 bytes stack frame, )" + stored + R"(, 0 bytes spill loads"
echo "ptxas info    : Used 255 registers")");
    std::optional<Assembled> code = codegen::assemble(".entry k()\n.reqntid 128, 1, 1\n{\n}\n", hopper(),
                                                      BlockNeeds{128, 0}, {.paths = {.ptxas = ptxas}});
    EXPECT_EQ(code->cubin.registers, 255);
    std::ifstream log(file);
    return std::string(std::istreambuf_iterator<char>(log), {});
  };
  EXPECT_EQ(runs(65), "run\n");
  EXPECT_EQ(runs(64), "run\nrun\n");
}

// Returns the numbers of blocks that ptxas is told, in turn; 0: none.
class Telling : public testing::Test {
 protected:
  std::string told(int threads, const std::string& registers) {
    std::string runs = folder_.file("runs");
    fs::remove(runs);
    std::string ptxas = script(folder_, "ptxas", R"(
while [ "$1" != -o ]; do shift; done; echo code > "$2"
blocks=$(sed -n 's/^.minnctapersm //p' "$3"); spilt=0
case ${blocks:-0} in )" + registers + R"( esac
printf "${blocks:-0} " >> )" + runs + R"(
echo "    0 bytes stack frame, $spilt bytes spill stores, 0 bytes spill loads"
echo "ptxas info    : Used $used registers")");
    std::string ptx = ".entry k()\n.reqntid " + std::to_string(threads) + ", 1, 1\n{\n}\n";
    codegen::assemble(ptx, hopper(), BlockNeeds{threads, 0}, {.paths = {.ptxas = ptxas}});
    std::ifstream log(runs);
    return {std::istreambuf_iterator<char>(log), {}};
  }
  TemporaryFolder folder_;
};

TEST_F(Telling, WhatSpillsForOneBlockMoreIsNotTriedForOthers) {
  EXPECT_EQ(told(256, "1) used=255;; *) used=128; spilt=400;;"), "1 2 ");
}

TEST_F(Telling, WhatSpillsAFewBytesForOneBlockMoreMaySpillNoneByItsChoice) {
  EXPECT_EQ(told(128, "1) used=221;; 3) used=168; spilt=48;; 0) used=147;; 4) used=128; spilt=20;;"), "1 3 0 4 3 ");
}

TEST_F(Telling, OneBlockMoreIsTheCodeForSoManyOfItsChoice) {
  EXPECT_EQ(told(128, "1) used=110;; 5) used=96;; 0) used=90;;"), "1 5 0 ");
}

TEST_F(Telling, ChosenBlocksAreTriedAgainOnlyIfTheyLeaveRegisters) {
  EXPECT_EQ(told(128, "1) used=80;; 0) used=40;;"), "1 0 ") << "twelve blocks have 40 registers a thread";
  EXPECT_EQ(told(128, "1) used=80;; 0) used=50;; 9) used=56;;"), "1 0 ") << "nine have 56";
  EXPECT_EQ(told(128, "1) used=90;; 0) used=60;; 8) used=64;;"), "1 0 ");
  EXPECT_EQ(told(256, "1) used=140;; 2) used=128;; 0) used=50;; 5) used=48;;"), "1 2 0 5 ")
      << "one block more than four";
}

TEST_F(Occupying, OneBlockMoreNeedNotLeaveRegistersForEachInstruction) {
  std::string ptxas = script(folder_, "ptxas", R"(
while [ "$1" != -o ]; do shift; done
case $(sed -n 's/^.minnctapersm //p' "$3") in 1|"") ;; *) echo "Insufficient registers"; exit 255;; esac
echo code > "$2"
echo "ptxas info    : Used 160 registers")");
  std::optional<Assembled> code = codegen::assemble(".entry k()\n.reqntid 256, 1, 1\n{\n}\n", hopper(),
                                                    BlockNeeds{256, 0}, {.paths = {.ptxas = ptxas}});
  EXPECT_EQ(code->cubin.registers, 160);
  EXPECT_FALSE(code->roomy);
}

TEST_F(Occupying, OneBlockMoreIsMadeRoomFor) {
  EXPECT_EQ(assembled(160, 157, {256, 0})->cubin.registers, 128) << "two blocks of 256 threads";
  EXPECT_EQ(assembled(240, 200, {128, 0})->cubin.registers, 168) << "three blocks of 128 threads";
  EXPECT_EQ(assembled(160, 160, {128, 0})->cubin.registers, 128) << "four blocks of 128 threads";
  EXPECT_EQ(assembled(96, 96, {128, 0})->cubin.registers, 96) << "five blocks fit";
}

TEST_F(Occupying, ATextThatAsksForBlocksGetsOneMoreAtMost) {
  std::optional<Assembled> code = assembled(72, 40, {256, 0}, ".minnctapersm 1\n", 0);
  ASSERT_TRUE(code && code->roomy);
  EXPECT_EQ(code->cubin.registers, 64) << "four blocks instead of three, and not ptxas' own choice";
  EXPECT_EQ(code->roomy->registers, 72);
  EXPECT_EQ(assembled(72, 40, {512, 0}, ".minnctapersm 1\n", 8)->cubin.registers, 64) << "two blocks instead of one";
  EXPECT_EQ(assembled(96, 96, {384, 0}, ".minnctapersm 1\n")->cubin.registers, 96) << "a block more spills";
}

TEST_F(Occupying, ABlockMoreThatSpillsIsNotTaken) { EXPECT_EQ(assembled(96, 96, {384, 0})->cubin.registers, 96); }

TEST_F(Occupying, TwiceTheBlocksMaySpillAFewBytes) {
  EXPECT_EQ(assembled(90, 69, {512, 0}, "", 8)->cubin.registers, 64) << "two blocks instead of one";
  EXPECT_EQ(assembled(96, 96, {384, 0}, "", 40)->cubin.registers, 96) << "more than a few";
}

TEST_F(Occupying, NoBlockIsSoughtThatCannotBeHad) {
  EXPECT_EQ(assembled(160, 100, {256, 200 << 10})->cubin.registers, 160) << "shared memory holds one block";
  EXPECT_EQ(
      assembled(160, 157, {256, 0}, ".minnctapersm 1\n", 48, "setmaxnreg.dec.sync.aligned.u32 24;\n")->cubin.registers,
      160)
      << "warps trade their registers";
  EXPECT_EQ(assembled(160, 157, {256, 0}, ".maxnreg 168\n")->cubin.registers, 157) << "the text bounds its registers";
}

TEST(Cubin, LongProgramsTakeLessEffort) {
  TemporaryFolder folder;
  std::string ptxas = script(folder, "ptxas", R"(echo "$@"; while [ "$1" != -o ]; do shift; done; echo code > "$2")");
  auto isHurried = [&](const std::string& ptx) {
    return toCubin(ptx, hopper(), {.paths = {.ptxas = ptxas}})->log.find(" -O1 ") != std::string::npos;
  };
  std::string text(20001, ';');
  EXPECT_TRUE(isHurried(text));
  EXPECT_FALSE(isHurried(text.substr(1)));
  EXPECT_FALSE(isHurried(text + "wgmma.fence;"));
}

TEST(Cubin, NothingIsLeftBehind) {
  TemporaryFolder folder;
  std::string ptxas = script(folder, "ptxas", "exit 1");
  fs::create_directories(folder.file("temporary"));
  WithVariable place("TMPDIR", folder.file("temporary"));
  errorOf([&] { toCubin("junk", hopper(), {.paths = {.ptxas = ptxas}}); });
  EXPECT_TRUE(fs::is_empty(folder.file("temporary")));
}

TEST(Cubin, RealPtxasRefusesJunk) {
  std::vector<std::string> searched;
  if (!findPtxas({}, searched)) GTEST_SKIP() << "no ptxas here";
  Diagnostic d = errorOf([&] { toCubin("junk\n", hopper()); });
  EXPECT_NE(d.message.find("kernel.ptx"), std::string::npos) << d.message;
}

TEST(Subprocess, SignalsAndMissingPrograms) {
  TemporaryFolder folder;
  EXPECT_EQ(runProgram({script(folder, "kill", "kill -9 $$")}, folder.file("log")), 128 + 9);
  EXPECT_EQ(runProgram({"/nowhere/program"}, folder.file("log")), -1);
}

}  // namespace
}  // namespace tandem::codegen::test
