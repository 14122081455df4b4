// The tree as text: one node a line, `[role: ]Kind [payload] line:column-line:column`, children indented below.
#include "compiler/frontend/ast/ast.h"
#include <array>
#include <charconv>

namespace tandem::frontend::ast {
namespace {

constexpr auto exprNames = std::to_array<std::string_view>(
    {"Name",      "None",  "Bool",        "Int",    "Float",         "String",  "Ellipsis", "FString",    "Tuple",
     "List",      "Dict",  "Set",         "Unary",  "Binary",        "BoolOp",  "Compare",  "Call",       "Attribute",
     "Subscript", "Slice", "Conditional", "Lambda", "Comprehension", "Starred", "Walrus",   "Unsupported"});
constexpr auto stmtNames = std::to_array<std::string_view>(
    {"Function", "Class", "Return", "Assign", "AugAssign", "AnnAssign", "For", "While", "If", "With", "Assert", "Pass",
     "Break", "Continue", "Expr", "Import", "ImportFrom", "Unsupported"});
constexpr auto unaryNames = std::to_array<std::string_view>({"-", "+", "not", "~"});
constexpr auto binaryNames =
    std::to_array<std::string_view>({"+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^"});
constexpr auto boolOpNames = std::to_array<std::string_view>({"and", "or"});
constexpr auto compareNames =
    std::to_array<std::string_view>({"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"});
constexpr auto parameterNames =
    std::to_array<std::string_view>({"Positional", "VarPositional", "KeywordOnly", "VarKeyword"});
static_assert(exprNames.size() == size_t(ExprKind::Unsupported) + 1);
static_assert(stmtNames.size() == size_t(StmtKind::Unsupported) + 1);

// Everything but printable ASCII becomes \xHH, so a line stays a line.
std::string quoted(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\')
      out.append("\\x") += digits[byte >> 4], out += digits[byte & 15];
    else
      out += c;
  }
  return out += '"';
}

std::string shortest(double value) {
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

class Printer {
 public:
  void body(const Body& body, std::string_view role = {}) {
    for (const StmtPtr& stmt : body) print(*stmt, role);
  }
  std::string take() { return std::move(out_); }

 private:
  void begin(std::string_view role, std::string_view kind) {
    out_.append(2 * depth_, ' ');
    if (!role.empty()) out_.append(role) += ": ";
    out_ += kind;
  }
  void payload(std::string_view text) { out_.append(" ") += text; }
  void end(const SourceRange& r) {
    auto point = [&](char separator, uint32_t line, uint32_t column) {
      out_ += separator;
      out_ += std::to_string(line);
      out_ += ':';
      out_ += std::to_string(column);
    };
    point(' ', r.line, r.column);
    point('-', r.endLine, r.endColumn);
    out_ += '\n';
  }

  void exprPayload(const Expr& e) {
    switch (e.kind) {
      case ExprKind::Name:
      case ExprKind::Int:
      case ExprKind::Attribute:
      case ExprKind::Comprehension:
      case ExprKind::Unsupported: return payload(e.text);
      case ExprKind::String: return payload(quoted(e.text));
      case ExprKind::Bool: return payload(e.boolean ? "true" : "false");
      case ExprKind::Float: return payload(shortest(e.number));
      case ExprKind::Unary: return payload(unaryNames[size_t(e.unary)]);
      case ExprKind::Binary: return payload(binaryNames[size_t(e.binary)]);
      case ExprKind::BoolOp: return payload(boolOpNames[size_t(e.boolOp)]);
      case ExprKind::Compare:
        for (CompareOp op : e.compareOps) payload(compareNames[size_t(op)]);
        return;
      default: return;
    }
  }

  void print(const ExprPtr& e, std::string_view role = {}) {
    if (!e) {
      begin(role, "absent\n");
      return;
    }
    begin(role, exprNames[size_t(e->kind)]);
    exprPayload(*e);
    end(e->range);
    ++depth_;
    parameters(e->parameters);
    for (const ExprPtr& child : e->children) print(child);
    for (const Keyword& k : e->keywords) keyword(k);
    for (const ForClause& clause : e->clauses) {
      print(clause.target, "for");
      print(clause.iterable, "in");
      for (const ExprPtr& condition : clause.conditions) print(condition, "if");
    }
    --depth_;
  }

  void keyword(const Keyword& k) {
    begin({}, "keyword");
    payload(k.name.empty() ? "**" : k.name);
    end(k.range);
    ++depth_;
    print(k.value);
    --depth_;
  }

  void parameters(const std::vector<Parameter>& list) {
    for (const Parameter& p : list) {
      begin({}, "parameter");
      payload(p.name);
      payload(parameterNames[size_t(p.kind)]);
      end(p.range);
      ++depth_;
      if (p.annotation) print(p.annotation, "annotation");
      if (p.defaultValue) print(p.defaultValue, "default");
      --depth_;
    }
  }

  void print(const Stmt& s, std::string_view role) {
    begin(role, stmtNames[size_t(s.kind)]);
    if (!s.text.empty()) payload(s.text);
    if (s.kind == StmtKind::AugAssign) payload(binaryNames[size_t(s.binary)]);
    end(s.range);
    ++depth_;
    for (const ExprPtr& decorator : s.decorators) print(decorator, "decorator");
    parameters(s.parameters);
    if (s.returns) print(s.returns, "returns");
    for (const ExprPtr& e : s.exprs) print(e);
    for (const ImportName& name : s.names) importName(name);
    for (const WithItem& item : s.items) {
      print(item.context, "with");
      if (item.target) print(item.target, "as");
    }
    body(s.body);
    body(s.orElse, "else");
    --depth_;
  }

  void importName(const ImportName& name) {
    begin({}, "name");
    payload(name.name);
    if (!name.alias.empty()) payload("as " + name.alias);
    end(name.range);
  }

  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string print(const Module& module) {
  Printer printer;
  printer.body(module.body);
  return printer.take();
}

}  // namespace tandem::frontend::ast
