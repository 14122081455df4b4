// Remarks in the form of MLIR's engine.
#include "compiler/remark/remark.h"
#include <mlir/IR/Location.h>
#include <mlir/IR/Remarks.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

namespace tandem::remark {
namespace {

mlir::remark::RemarkOpts optionsOf(mlir::Operation* op, const Source& source) {
  auto kernel = llvm::dyn_cast<mlir::FunctionOpInterface>(op);
  if (!kernel) kernel = op->getParentOfType<mlir::FunctionOpInterface>();
  std::string_view word = abi::wordOf(source.kind);
  return mlir::remark::RemarkOpts::name({word.data(), word.size()})
      .category(source.stage)
      .function(kernel ? kernel.getName() : "");
}

}  // namespace

void passed(mlir::Operation* op, const Source& source, const llvm::Twine& message) {
  if (auto remark = mlir::remark::passed(op->getLoc(), optionsOf(op, source))) remark << llvm::StringRef(message.str());
}

void missed(mlir::Operation* op, const Source& source, const llvm::Twine& message, const Reason& reason) {
  auto remark = mlir::remark::missed(op->getLoc(), optionsOf(op, source));
  if (!remark) return;
  remark << llvm::StringRef((message + ": " + reason.why).str());
  if (!reason.help.empty()) remark << mlir::remark::suggest("{0}", reason.help);
}

void analysis(mlir::Operation* op, const Source& source, const llvm::Twine& message) {
  if (auto remark = mlir::remark::analysis(op->getLoc(), optionsOf(op, source)))
    remark << llvm::StringRef(message.str());
}

std::string lineOf(mlir::Operation* op) {
  auto place = llvm::cast<mlir::LocationAttr>(op->getLoc()).findInstanceOf<mlir::FileLineColRange>();
  return place ? "line " + std::to_string(place.getStartLine()) : "an unknown line";
}

}  // namespace tandem::remark
