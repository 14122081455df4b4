// These tests link bitcode from a made-up NVSHMEM library: the functions that are linked, the symbols that stay
// visible, and the errors when there is no library.
#include "compiler/codegen/nvidia/subprocess.h"
#include "compiler/codegen/nvidia/test/build.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace tandem::codegen::test {
namespace {
namespace fs = std::filesystem;

// This library is made as NVSHMEM's is: for another architecture, with state that the host fills in, and more functions
// than anybody calls.
constexpr const char* kLibrary = R"(
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@nvshmemi_device_state_d = addrspace(4) externally_initialized global { i32, i32 } zeroinitializer, align 8
define i32 @nvshmem_my_pe() #0 {
  %v = load i32, ptr addrspace(4) @nvshmemi_device_state_d
  ret i32 %v
}
define i32 @nvshmem_n_pes() #0 {
  ret i32 7
}
attributes #0 = { alwaysinline nounwind "target-cpu"="sm_70" "target-features"="+ptx60" }
)";

class Nvshmem : public testing::Test {
 protected:
  Nvshmem() {
    if (const char* old = std::getenv("TANDEM_NVSHMEM")) old_ = old;
    setenv("TANDEM_NVSHMEM", folder_.file("nvshmem").c_str(), 1);
  }
  ~Nvshmem() override { old_ ? setenv("TANDEM_NVSHMEM", old_->c_str(), 1) : unsetenv("TANDEM_NVSHMEM"); }

  void install(const char* text) {
    fs::create_directories(folder_.file("nvshmem/lib"));
    std::ofstream(folder_.file("nvshmem/lib/libnvshmem_host.so.3")) << "not looked into";
    llvm::LLVMContext context;
    llvm::SMDiagnostic error;
    auto module = llvm::parseAssemblyString(text, error, context);
    ASSERT_TRUE(module) << error.getMessage().str();
    std::error_code failed;
    llvm::raw_fd_ostream out(folder_.file("nvshmem/lib/libnvshmem_device.bc"), failed);
    llvm::WriteBitcodeToFile(*module, out);
  }
  static void callMyPe(TestKernel& k, const char* name = "nvshmem_my_pe") {
    k.keep(k.b.CreateCall(k.module().getOrInsertFunction(name, k.b.getInt32Ty())));
  }

  TemporaryFolder folder_;
  std::optional<std::string> old_;
};

TEST_F(Nvshmem, OnlyWhatIsCalledComesAndTheStateStaysVisible) {
  install(kLibrary);
  for (const char* target : {"sm_80+nvshmem", "sm_90a+nvshmem"}) {
    TestKernel k(target);
    callMyPe(k);
    k.b.CreateRetVoid();
    linkNvshmem(k.module());
    std::string ptx = toPtx(k.module(), k.target());
    expectText(ptx, {".visible .const .align 8 .b8 nvshmemi_device_state_d[8]", "ld.const.b32"});
    EXPECT_EQ(ptx.find(".target sm_70"), std::string::npos) << ptx;
    EXPECT_EQ(ptx.find("nvshmem_n_pes"), std::string::npos) << ptx;
    EXPECT_EQ(ptx.find("call"), std::string::npos) << ptx;
    assemble(ptx, k.target());
  }
}

TEST_F(Nvshmem, WithoutCallsNothingIsLookedFor) {
  TestKernel k("sm_90a+nvshmem");
  linkNvshmem(k.module());
  EXPECT_EQ(k.ptx().find("nvshmem"), std::string::npos);
}

TEST_F(Nvshmem, WhereItWasLookedForIsSaid) {
  TestKernel k("sm_90a+nvshmem");
  callMyPe(k);
  Diagnostic d = errorOf([&] { linkNvshmem(k.module()); });
  EXPECT_EQ(d.kind, "missing-nvshmem");
  EXPECT_EQ(d.message,
            "`nvshmem_my_pe` needs `libnvshmem_device.bc` beside `libnvshmem_host.so.3`: install `nvidia-nvshmem-cu13` "
            "or set "
            "TANDEM_NVSHMEM; NVSHMEM was looked for in\n  " +
                folder_.file("nvshmem") + "/lib\n  " + folder_.file("nvshmem"));
}

TEST_F(Nvshmem, AFunctionThatTheVersionLacksIsNamed) {
  install(kLibrary);
  TestKernel k("sm_90a+nvshmem");
  callMyPe(k, "nvshmem_of_tomorrow");
  Diagnostic d = errorOf([&] { linkNvshmem(k.module()); });
  EXPECT_EQ(d.kind, "missing-nvshmem");
  expectText(d.message, {"`nvshmem_of_tomorrow` is not in `", "libnvshmem_device.bc`: it is of another version"});
}

}  // namespace
}  // namespace tandem::codegen::test
