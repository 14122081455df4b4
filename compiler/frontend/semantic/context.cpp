// Source positions of ops and of errors.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/frontend/semantic/context.h"
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/Location.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>
#include <set>

namespace tandem::frontend {
namespace {

mlir::Location locationOf(const Context::Place& place, mlir::MLIRContext* context) {
  mlir::Location here = mlir::UnknownLoc::get(context);
  if (place.file) {
    const SourceRange& range = place.range;
    here = mlir::FileLineColRange::get(context, place.file->name, range.line, range.column, range.endLine,
                                       range.endColumn);
  }
  if (!place.caller) return here;
  return mlir::CallSiteLoc::get(here, locationOf(*place.caller, context));
}

constexpr size_t kShownCalls = 8;  // the innermost; the outermost is shown too

// Functions of ours that are written in the kernel language.
bool isLibrary(const Context::Place& place) { return place.file && place.file->name.starts_with("tandem/language/"); }

// An error inside the library is the fault of the line that called it.
Diagnostic diagnosticAt(const Context::Place& place, const SourceRange& range, Severity severity,
                        const std::string& kind, const std::string& message) {
  const Context::Place* blamed = &place;
  while (isLibrary(*blamed) && blamed->caller) blamed = blamed->caller;
  bool inLibrary = blamed != &place;
  Diagnostic diagnostic{severity, kind, message, blamed->file, inLibrary ? blamed->range : range, {}};
  for (const Context::Place *inner = blamed, *caller = inner->caller; caller; inner = caller, caller = caller->caller) {
    if (diagnostic.notes.size() >= kShownCalls && caller->caller) continue;
    std::string who = inner->function.empty() ? "" : "`" + inner->function + "` is ";
    diagnostic.notes.push_back(
        {Severity::Note, "call-chain", who + "called from here", caller->file, caller->range, {}});
  }
  if (inLibrary)
    diagnostic.notes.push_back({Severity::Note, "call-chain", "in `" + place.function + "`", place.file, range, {}});
  return diagnostic;
}

constexpr int kMaxHintDepth = 32;

// The kernel's parameters that a value is computed from; false when it also depends on something else.
bool madeOfParameters(mlir::Value value, std::set<std::string>& names, int depth) {
  if (depth == 0) return false;
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    mlir::Operation* owner = argument.getOwner()->getParentOp();
    mlir::StringAttr name = llvm::isa_and_nonnull<mlir::func::FuncOp>(owner) ? tile::nameOf(argument) : nullptr;
    if (name) names.insert(name.str());
    return name != nullptr;
  }
  mlir::Operation* op = value.getDefiningOp();
  if (!mlir::isMemoryEffectFree(op) || op->getNumRegions()) return false;
  if (op->getNumOperands() == 0) return op->hasTrait<mlir::OpTrait::ConstantLike>();
  return llvm::all_of(op->getOperands(),
                      [&](mlir::Value operand) { return madeOfParameters(operand, names, depth - 1); });
}

}  // namespace

mlir::Location Context::loc() const { return locationOf(place, builder.getContext()); }

void Context::fail(const std::string& kind, const std::string& message) const { failAt(place.range, kind, message); }

void Context::failAt(const SourceRange& range, const std::string& kind, const std::string& message,
                     const std::string& hint) const {
  Diagnostic diagnostic = diagnosticAt(place, range, Severity::Error, kind, message);
  if (!hint.empty()) {
    Diagnostic note{Severity::Note, "", hint, diagnostic.file, diagnostic.range, {}};
    diagnostic.notes.insert(diagnostic.notes.begin(), std::move(note));
  }
  throw CompileError(std::move(diagnostic));
}

void Context::failConstexpr(const SourceRange& range, const std::string& message, const Value& value) const {
  std::set<std::string> parameters;
  std::string names, declared;
  if (!value.isTensor() || !madeOfParameters(value.as<Tensor>().value, parameters, kMaxHintDepth)) parameters.clear();
  for (const std::string& p : parameters) {
    names += (names.empty() ? "`" : ", `") + p + "`";
    declared += (declared.empty() ? "`" : ", `") + p + ": tl.constexpr`";
  }
  const char* verb = parameters.size() == 1 ? " is a parameter" : " are parameters";
  failAt(range, "constexpr-needed", message,
         names.empty() ? "" : names + verb + " of the kernel; declare " + declared + " to have the value here");
}

SourceRange Context::keywordRange(const std::string& name) const {
  if (keywords)
    for (const ast::Keyword& k : *keywords)
      if (k.name == name) return k.range;
  return place.range;
}

void Context::warn(const std::string& kind, const std::string& message) {
  warnings.push_back(diagnosticAt(place, place.range, Severity::Warning, kind, message));
}

}  // namespace tandem::frontend
