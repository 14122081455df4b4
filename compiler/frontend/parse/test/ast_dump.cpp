// Prints the syntax tree of each file named on the command line, after a line "== path".
// A file that does not parse gives "error: ..." instead.
#include "compiler/frontend/parse/parse.h"
#include <fstream>
#include <iostream>
#include <sstream>

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    auto file = std::make_shared<tandem::SourceFile>();
    file->name = argv[i];
    file->text = std::move(text).str();
    std::cout << "== " << argv[i] << '\n';
    try {
      std::cout << tandem::frontend::ast::print(tandem::frontend::parse(std::move(file)));
    } catch (const tandem::CompileError& error) {
      const tandem::Diagnostic& d = error.diagnostic;
      std::cout << "error: " << d.range.line << ':' << d.range.column << ' ' << d.message << '\n';
    }
  }
}
