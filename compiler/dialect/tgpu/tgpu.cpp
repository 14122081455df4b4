// Registers the dialect `tgpu`.
#include "compiler/dialect/tgpu/tgpu.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>

using namespace mlir;

#include "compiler/dialect/tgpu/tgpu_dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/tgpu/tgpu_attrs.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/dialect/tgpu/tgpu_ops.cpp.inc"

// `<[64, 32], registers = [1, 2], lanes = [4, 8], warps = []>`
Attribute tandem::tgpu::LayoutAttr::parse(AsmParser& parser, Type) {
  SmallVector<int64_t> lists[4];
  auto list = [&](SmallVector<int64_t>& values) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          [&] { return parser.parseInteger(values.emplace_back()); });
  };
  if (parser.parseLess() || list(lists[0])) return {};
  for (auto [i, word] : llvm::enumerate(std::array<StringRef, 3>{"registers", "lanes", "warps"}))
    if (parser.parseComma() || parser.parseKeyword(word) || parser.parseEqual() || list(lists[i + 1])) return {};
  if (parser.parseGreater()) return {};
  return get(parser.getContext(), lists[0], lists[1], lists[2], lists[3]);
}

void tandem::tgpu::LayoutAttr::print(AsmPrinter& printer) const {
  auto list = [&](ArrayRef<int64_t> values) {
    printer << '[';
    llvm::interleaveComma(values, printer);
    printer << ']';
  };
  printer << '<';
  list(getShape());
  printer << ", registers = ";
  list(getRegisters());
  printer << ", lanes = ";
  list(getLanes());
  printer << ", warps = ";
  list(getWarps());
  printer << '>';
}

void tandem::tgpu::TgpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialect/tgpu/tgpu_attrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/tgpu/tgpu_ops.cpp.inc"
      >();
}
