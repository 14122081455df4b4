// libFuzzer: any bytes either parse, and then print, or give one rendered syntax error.
#include "compiler/frontend/parse/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto file = std::make_shared<tandem::SourceFile>();
  file->name = "fuzz.py";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  try {
    tandem::frontend::ast::print(tandem::frontend::parse(file));
  } catch (const tandem::CompileError& error) {
    const tandem::SourceRange& range = error.diagnostic.range;
    bool ordered = range.line < range.endLine || (range.line == range.endLine && range.column < range.endColumn);
    if (!range.line || !range.column || !ordered) __builtin_trap();
  }
  return 0;
}
