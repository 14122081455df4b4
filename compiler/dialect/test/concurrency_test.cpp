// Every op of the dialects says what it does to memory and threads, in agreement with its memory effects.
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Parser/Parser.h>
#include <set>

namespace tandem::tile {
using namespace mlir;
namespace {

std::unique_ptr<MLIRContext> dialects() {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<TileDialect, dist::DistDialect, simt::SimtDialect, tgpu::TgpuDialect, func::FuncDialect,
                       arith::ArithDialect, scf::SCFDialect>();
  return context;
}

bool isOurs(StringRef dialect) { return llvm::is_contained({"tile", "dist", "simt", "tgpu"}, dialect); }

// Ops without effects and ops that have only their regions' have nothing to say.
TEST(Concurrency, EveryOpSaysWhatItDoes) {
  std::unique_ptr<MLIRContext> context = dialects();
  int count = 0;
  for (RegisteredOperationName name : context->getRegisteredOperations()) {
    if (!isOurs(name.getDialectNamespace())) continue;
    ++count;
    bool isSilent =
        name.hasTrait<OpTrait::AlwaysSpeculatableImplTrait>() || name.hasTrait<OpTrait::HasRecursiveMemoryEffects>();
    EXPECT_NE(isSilent, name.hasInterface<ConcurrencyOpInterface>()) << name.getStringRef().str();
  }
  EXPECT_GT(count, 100);
}

// Passes merge, move and drop an op by its effects, so these must hold all that it reads, writes, orders or waits for.
void agree(Operation* op, std::set<std::string>& seen) {
  std::optional<Concurrency> does = concurrencyOf(op);
  if (!does) return;
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  seen.insert(op->getName().getStringRef().str());
  bool orders = does->waits || does->meets != Meeting::None || does->releases || does->acquires;
  for (const MemoryAccess& access : does->accesses) {
    EXPECT_TRUE(access.reads || access.writes) << text;
    bool isNew = access.address && access.address.getDefiningOp() == op;  // a buffer that the op makes
    if (access.reads) EXPECT_TRUE(hasEffect<MemoryEffects::Read>(op)) << text;
    if (access.writes && !isNew) EXPECT_TRUE(hasEffect<MemoryEffects::Write>(op)) << text;
  }
  bool allocates = hasEffect<MemoryEffects::Allocate>(op);
  if (orders && !allocates) EXPECT_TRUE(hasEffect<MemoryEffects::Write>(op)) << text;
}

TEST(Concurrency, AgreesWithTheEffects) {
  std::unique_ptr<MLIRContext> context = dialects();
  std::set<std::string> seen;
  for (const auto& file : std::filesystem::recursive_directory_iterator(TANDEM_SOURCE_DIR "/compiler/dialect/test")) {
    std::string path = file.path().string();
    if (file.path().extension() != ".mlir" || file.path().filename().string().starts_with("fail_")) continue;
    auto module = parseSourceFile<ModuleOp>(path, context.get());
    ASSERT_TRUE(module) << path;
    module->walk([&](Operation* op) { agree(op, seen); });
  }
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (isOurs(name.getDialectNamespace()) && name.hasInterface<ConcurrencyOpInterface>())
      EXPECT_TRUE(seen.contains(name.getStringRef().str())) << name.getStringRef().str();
}

}  // namespace
}  // namespace tandem::tile
