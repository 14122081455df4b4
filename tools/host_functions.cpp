// tandem_host_functions FILE NAMESPACE [FUNCTION...]: writes the functions of a kernel file, or these of them, as C++, so
// that models on the host reckon with what kernels do. The functions are arithmetic on integers: names get a value once,
// and the last statement returns one or several. What has no such form is an error at its place.
#include "compiler/frontend/parse/parse.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

namespace {
using namespace tandem;
using namespace tandem::frontend::ast;

SourceFilePtr file;

[[noreturn]] void fail(const SourceRange& range, const std::string& message) {
  throw CompileError({.kind = "host-function", .message = message, .file = file, .range = range, .notes = {}});
}

const std::map<BinaryOp, const char*> kBinary = {{BinaryOp::Add, "+"},      {BinaryOp::Sub, "-"}, {BinaryOp::Mul, "*"},
                                                 {BinaryOp::FloorDiv, "/"}, {BinaryOp::Mod, "%"}, {BinaryOp::And, "&"},
                                                 {BinaryOp::Or, "|"}};
const std::map<CompareOp, const char*> kCompare = {{CompareOp::Eq, "=="}, {CompareOp::Ne, "!="}, {CompareOp::Lt, "<"},
                                                   {CompareOp::Le, "<="}, {CompareOp::Gt, ">"},  {CompareOp::Ge, ">="}};
const std::map<std::string, const char*> kCalls = {
    {"minimum", "std::min<int64_t>"}, {"maximum", "std::max<int64_t>"}, {"where", "where"}, {"cdiv", "cdiv"}};

constexpr char kBegin[] = R"(#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

)";
constexpr char kHelp[] = R"(
inline int64_t where(bool condition, int64_t yes, int64_t no) { return condition ? yes : no; }
inline int64_t cdiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
)";

class Writer {
 public:
  std::string text;

  void function(const Stmt& f) {
    text += "\ninline auto " + f.text + "(";
    for (const Parameter& p : f.parameters) text += (&p == &f.parameters[0] ? "int64_t " : ", int64_t ") + p.name;
    text += ") {\n";
    for (const StmtPtr& s : f.body) statement(*s, s == f.body.back());
    text += "}\n";
    known_.push_back(f.text);
  }

 private:
  void statement(const Stmt& s, bool isLast) {
    // the function's description
    if (s.kind == StmtKind::Expr && s.exprs[0]->kind == ExprKind::String && !isLast) return;
    if ((s.kind == StmtKind::Return) != isLast)
      fail(s.range, "a function for the host returns at its end, and nowhere else");
    if (s.kind == StmtKind::Return && !s.exprs.empty()) {
      const Expr& value = *s.exprs[0];
      bool isOne = value.kind != ExprKind::Tuple;
      std::string several = "std::array<int64_t, " + std::to_string(value.children.size()) + ">{";
      text += "  return " + (isOne ? expression(value) : several + list(value.children) + "}") + ";\n";
    } else if (s.kind == StmtKind::Assign && s.exprs.size() == 2) {
      text += "  auto " + target(*s.exprs[1]) + " = " + expression(*s.exprs[0]) + ";\n";
    } else {
      fail(s.range, "a function for the host has assignments and a `return` only");
    }
  }

  std::string target(const Expr& e) {
    if (e.kind == ExprKind::Name) return e.text;
    if (e.kind == ExprKind::Tuple) return "[" + list(e.children) + "]";
    fail(e.range, "a function for the host assigns to names only");
  }

  std::string list(const std::vector<ExprPtr>& all, size_t first = 0) {
    std::string out;
    for (size_t i = first; i < all.size(); ++i) out += (i > first ? ", " : "") + expression(*all[i]);
    return out;
  }

  std::string expression(const Expr& e) {
    switch (e.kind) {
      case ExprKind::Name: return e.text;
      case ExprKind::Int: return "int64_t(" + e.text + ")";
      case ExprKind::Binary:
        if (auto op = kBinary.find(e.binary); op != kBinary.end())
          return "(" + expression(*e.children[0]) + " " + op->second + " " + expression(*e.children[1]) + ")";
        break;
      case ExprKind::Compare:
        if (auto op = kCompare.find(e.compareOps[0]); op != kCompare.end() && e.compareOps.size() == 1)
          return "(" + expression(*e.children[0]) + " " + op->second + " " + expression(*e.children[1]) + ")";
        break;
      case ExprKind::Call: return call(e);
      default: break;
    }
    fail(e.range, "this has no form in a function for the host");
  }

  std::string call(const Expr& e) {
    const Expr& callee = *e.children[0];
    const Expr* owner = callee.kind == ExprKind::Attribute ? callee.children[0].get() : nullptr;
    bool isBuiltin = owner && owner->kind == ExprKind::Name && owner->text == "tl" && kCalls.contains(callee.text);
    if (isBuiltin && e.keywords.empty()) return kCalls.at(callee.text) + ("(" + list(e.children, 1)) + ")";
    bool isKnown =
        callee.kind == ExprKind::Name && std::find(known_.begin(), known_.end(), callee.text) != known_.end();
    if (isKnown && e.keywords.empty()) return callee.text + "(" + list(e.children, 1) + ")";
    fail(e.range, "a function for the host calls functions above it, and `tl.minimum`, `maximum`, `where` and `cdiv`");
  }

  std::vector<std::string> known_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: tandem_host_functions FILE NAMESPACE [FUNCTION...]\n", stderr), 2;
  try {
    std::ifstream in(argv[1], std::ios::binary);
    if (!in) return std::fprintf(stderr, "tandem_host_functions: %s cannot be read\n", argv[1]), 1;
    file = std::make_shared<SourceFile>(SourceFile{argv[1], {std::istreambuf_iterator<char>(in), {}}});
    Writer out;
    for (const StmtPtr& s : frontend::parse(file).body)
      if (s->kind == StmtKind::Function && (argc == 3 || std::find(argv + 3, argv + argc, s->text) != argv + argc))
        out.function(*s);
    std::string name = argv[2];
    std::cout << "// Made from a kernel file by tandem_host_functions.\n"
              << kBegin << "namespace " << name << " {\n"
              << kHelp << out.text << "\n}  // namespace " << name << "\n";
  } catch (const CompileError& error) {
    return std::fputs(error.what(), stderr), 1;
  }
}
