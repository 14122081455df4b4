// A streamer of MLIR's engine that turns locations into places of the kernel's files.
#include "compiler/driver/remarks.h"
#include "compiler/driver/diagnostics.h"
#include "compiler/remark/remark.h"
#include "compiler/target/occupancy.h"
#include <algorithm>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <mlir/IR/Remarks.h>

namespace tandem::compiler {
namespace {
namespace engine = mlir::remark::detail;

// The place in the user's own text: of functions that the language brings, where they are called.
Diagnostic usersPlace(const frontend::Session& session, mlir::Location loc) {
  Diagnostic d = diagnosticAt(session, loc, Severity::Note, "", "");
  for (const Diagnostic& caller : d.notes) {
    if (!d.file || !d.file->name.starts_with("tandem/language/")) break;
    d.file = caller.file;
    d.range = caller.range;
  }
  return d;
}

template <class Enum, size_t n> Enum numberOf(llvm::StringRef word, const std::string_view (&table)[n]) {
  return Enum(std::find(table, table + n, std::string_view(word)) - table);
}

abi::RemarkOutcome outcomeOf(llvm::remarks::Type type) {
  if (type == llvm::remarks::Type::Passed) return abi::RemarkOutcome::Passed;
  return type == llvm::remarks::Type::Missed ? abi::RemarkOutcome::Missed : abi::RemarkOutcome::Analysis;
}

class Streamer : public engine::MLIRRemarkStreamerBase {
 public:
  Streamer(const frontend::Session& session, std::shared_ptr<std::vector<abi::Remark>> to)
      : session_(session), to_(std::move(to)) {}

  void streamOptimizationRemark(const engine::Remark& raised) override {
    abi::Remark remark;
    remark.kind = numberOf<abi::RemarkKind>(raised.getRemarkName(), abi::kRemarkKinds);
    remark.outcome = outcomeOf(raised.getRemarkType());
    remark.stage = raised.getCategoryName();
    for (const engine::Remark::Arg& arg : raised.getArgs())
      (arg.key == "Suggestion" ? remark.help : remark.message) += arg.val;
    Diagnostic at = usersPlace(session_, raised.getLocation());
    if (at.file) remark.file = at.file->name;
    remark.line = at.range.line;
    remark.column = at.range.column;
    to_->push_back(std::move(remark));
  }

 private:
  const frontend::Session& session_;
  std::shared_ptr<std::vector<abi::Remark>> to_;
};

}  // namespace

RemarkCollector::RemarkCollector(Compilation& c)
    : context_(*c.kernel().getContext()), remarks_(std::make_shared<std::vector<abi::Remark>>()) {
  mlir::remark::RemarkCategories all{.all = {}, .passed = ".*", .missed = ".*", .analysis = ".*", .failed = {}};
  (void)mlir::remark::enableOptimizationRemarks(context_, std::make_unique<Streamer>(c.session(), remarks_),
                                                std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), all);
}

RemarkCollector::~RemarkCollector() { context_.setRemarkEngine(nullptr); }

std::vector<abi::Remark> RemarkCollector::all() const {
  auto order = [](const abi::Remark& r) { return std::tie(r.file, r.line, r.column, r.kind, r.stage, r.message); };
  std::vector<abi::Remark> taken;
  for (const abi::Remark& remark : *remarks_)
    if (!llvm::is_contained(taken, remark)) taken.push_back(remark);
  std::sort(taken.begin(), taken.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return taken;
}

void remarkResources(Compilation& c, const target::TargetInfo& target, const abi::KernelImage& image,
                     const codegen::Cubin* cubin) {
  mlir::func::FuncOp kernel = c.kernel();
  using abi::RemarkKind;
  remark::Source source{RemarkKind::Resources, "ptxas"};
  if (!cubin)
    return remark::analysis(kernel, source,
                            "registers are not known: no ptxas was found, and the driver will assemble the kernel");
  target::Occupancy occupancy = target::occupancyOf(target, image.threads, cubin->registers, image.sharedBytes);
  remark::analysis(
      kernel, source,
      llvm::formatv(
          "{0} registers of each of {1} threads, {2} bytes of shared memory; {3} blocks on a multiprocessor, by {4}",
          cubin->registers, image.threads, image.sharedBytes, occupancy.blocks, occupancy.limit)
          .str());
  if (cubin->spillBytes)
    remark::missed(
        kernel, source, llvm::formatv("{0} bytes of registers are spilled to memory", cubin->spillBytes).str(),
        {llvm::formatv("a thread has at most {0} registers", cubin->registers), "smaller tiles, or more warps"});
  if (!cubin->serialised.empty())
    remark::missed(kernel, {RemarkKind::Product, "ptxas"}, "each wgmma waits for the one before",
                   {cubin->serialised, "smaller tiles"});
}

}  // namespace tandem::compiler
