// The words and the place of each syntax error, and the limits on nesting.
#include "compiler/frontend/parse/parse.h"
#include <gtest/gtest.h>

namespace tandem::frontend {
namespace {

std::string errorOf(const std::string& text) {
  auto file = std::make_shared<SourceFile>();
  file->name = "k.py";
  file->text = text;
  try {
    parse(file);
  } catch (const CompileError& error) {
    const Diagnostic& d = error.diagnostic;
    EXPECT_EQ(d.kind, "syntax");
    EXPECT_EQ(d.file, file);
    return std::to_string(d.range.line) + ":" + std::to_string(d.range.column) + " " + d.message;
  }
  return "accepted";
}

TEST(SyntaxError, Blocks) {
  EXPECT_EQ(errorOf("if a\n  b\n"), "1:5 expected `:`");
  EXPECT_EQ(errorOf("def f()\n  b\n"), "1:8 expected `:`");
  EXPECT_EQ(errorOf("if a = b:\n  c\n"), "1:6 invalid syntax, maybe you meant `==` or `:=` instead of `=`?");
  EXPECT_EQ(errorOf("def f():\nx\n"), "2:1 expected an indented block after function definition on line 1");
  EXPECT_EQ(errorOf("for i in x:\n"), "2:1 expected an indented block after `for` statement on line 1");
  EXPECT_EQ(errorOf("a\n  b\n"), "2:3 unexpected indent");
  EXPECT_EQ(errorOf("if a:\n    b\n  c\n"), "3:3 unindent does not match any outer indentation level");
  EXPECT_EQ(errorOf("try:\n  a\nb\n"), "3:1 expected `except` or `finally` block");
  EXPECT_EQ(errorOf("else:\n  a\n"), "1:1 invalid syntax");
  EXPECT_EQ(errorOf("for i on x: pass\n"), "1:7 expected `in`");
}

TEST(SyntaxError, Brackets) {
  EXPECT_EQ(errorOf("x = f(1,\ny = 2\n"), "1:6 `(` was never closed");
  EXPECT_EQ(errorOf("x = f(1,\n\ndef g():\n  return [1]\n"), "1:6 `(` was never closed");
  EXPECT_EQ(errorOf("x = f(1]\n"), "1:8 closing bracket `]` does not match opening bracket `(`");
  EXPECT_EQ(errorOf("x = f(a b)\n"), "1:7 invalid syntax, perhaps you forgot a comma?");
  EXPECT_EQ(errorOf("x = [a,\n  b c]\n"), "2:3 invalid syntax, perhaps you forgot a comma?");
}

TEST(SyntaxError, TheFirstErrorInTheTextWins) { EXPECT_EQ(errorOf("a b\nx = 'abc\n"), "1:3 invalid syntax"); }

TEST(SyntaxError, Targets) {
  EXPECT_EQ(errorOf("f(x) = 1\n"), "1:1 cannot assign to function call, maybe you meant `==` instead of `=`?");
  EXPECT_EQ(errorOf("a, 1 = b\n"), "1:4 cannot assign to literal, maybe you meant `==` instead of `=`?");
  EXPECT_EQ(errorOf("None = 1\n"), "1:1 cannot assign to `None`");
  EXPECT_EQ(errorOf("a + b += 1\n"), "1:1 expression is an illegal expression for augmented assignment");
  EXPECT_EQ(errorOf("(a, b): int\n"), "1:1 only a single target (not tuple) can be annotated");
  EXPECT_EQ(errorOf("for f() in x: pass\n"), "1:5 cannot assign to function call");
  EXPECT_EQ(errorOf("del a + b\n"), "1:5 cannot delete expression");
  EXPECT_EQ(errorOf("(a.b := 1)\n"), "1:2 cannot use assignment expressions with this target");
  EXPECT_EQ(errorOf("x = (*a)\n"), "1:6 cannot use starred expression here");
}

TEST(SyntaxError, Calls) {
  EXPECT_EQ(errorOf("f(a=1, b)\n"), "1:8 positional argument follows keyword argument");
  EXPECT_EQ(errorOf("f(**a, b)\n"), "1:8 positional argument follows keyword argument unpacking");
  EXPECT_EQ(errorOf("f(**a, *b)\n"), "1:8 iterable argument unpacking follows keyword argument unpacking");
  EXPECT_EQ(errorOf("f(x for x in y, 1)\n"), "1:3 generator expression must be parenthesized");
  EXPECT_EQ(errorOf("f(a.b=1)\n"), "1:3 expression cannot contain assignment, perhaps you meant `==`?");
  EXPECT_EQ(errorOf("f(a=)\n"), "1:5 expected argument value expression");
  EXPECT_EQ(errorOf("print 'x'\n"), "1:1 missing parentheses in call to `print`");
}

TEST(SyntaxError, Parameters) {
  EXPECT_EQ(errorOf("def f(a=1, b): pass\n"), "1:12 parameter without a default follows parameter with a default");
  EXPECT_EQ(errorOf("def f(*): pass\n"), "1:8 named parameters must follow bare `*`");
  EXPECT_EQ(errorOf("def f(*, **k): pass\n"), "1:12 named parameters must follow bare `*`");
  EXPECT_EQ(errorOf("def f(*a, *b): pass\n"), "1:11 `*` may appear only once");
  EXPECT_EQ(errorOf("def f(/, a): pass\n"), "1:7 at least one parameter must precede `/`");
  EXPECT_EQ(errorOf("def f(**k, a): pass\n"), "1:12 parameters cannot follow a var-keyword parameter");
  EXPECT_EQ(errorOf("def f(*a=1): pass\n"), "1:9 var-positional parameter cannot have a default value");
}

TEST(SyntaxError, Expressions) {
  EXPECT_EQ(errorOf("a = \n"), "1:5 invalid syntax");
  EXPECT_EQ(errorOf("a = b if c\n"), "1:11 expected `else` after `if` expression");
  EXPECT_EQ(errorOf("a = {1: 2, 3}\n"), "1:13 `:` expected after dictionary key");
  EXPECT_EQ(errorOf("a = {1: }\n"), "1:9 expression expected after dictionary key and `:`");
  EXPECT_EQ(errorOf("[*a for a in b]\n"), "1:2 iterable unpacking cannot be used in comprehension");
  EXPECT_EQ(errorOf("{**a for a in b}\n"), "1:4 dict unpacking cannot be used in dict comprehension");
  EXPECT_EQ(errorOf("from a import b,\n"), "1:17 trailing comma not allowed without surrounding parentheses");
}

TEST(SyntaxError, Strings) {
  EXPECT_EQ(errorOf("x = 'abc\n"), "1:5 unterminated string literal");
  EXPECT_EQ(errorOf("x = 'a\\x4'\n"), "1:7 truncated `\\x` escape: expected 2 hexadecimal digits");
  EXPECT_EQ(errorOf("x = '''a\n \\U00110000'''\n"), "2:2 escape is beyond the last Unicode character");
  EXPECT_EQ(errorOf("x = 'a' b'c'\n"), "1:9 cannot mix bytes and nonbytes literals");
  EXPECT_EQ(errorOf("f'{}'\n"), "1:4 f-string: valid expression required before `}`");
  EXPECT_EQ(errorOf("f'{a!x}'\n"), "1:6 f-string: invalid conversion character: expected `s`, `r`, or `a`");
  EXPECT_EQ(errorOf("f'{lambda x: 1}'\n"), "1:12 f-string: lambda expressions are not allowed without parentheses");
  EXPECT_EQ(errorOf("f'{a b}'\n"), "1:6 f-string: expecting `}`");
}

TEST(SyntaxError, DeepNestingIsRefusedNotFollowed) {
  auto repeated = [](const std::string& part, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += part;
    return out;
  };
  EXPECT_EQ(errorOf(repeated("(", 100) + "a" + repeated(")", 100)), "accepted");
  EXPECT_EQ(errorOf(repeated("[", 100000)), "1:201 too many nested brackets (more than 200)");
  constexpr const char* nested = "expression is nested too deeply (more than 200 levels)";
  EXPECT_NE(errorOf(repeated("- ", 100000) + "a").find(nested), std::string::npos);
  EXPECT_NE(errorOf(repeated("not ", 100000) + "a").find(nested), std::string::npos);
  EXPECT_NE(errorOf(repeated("a ** ", 100000) + "a").find(nested), std::string::npos);
  EXPECT_NE(errorOf(repeated("lambda: ", 100000) + "a").find(nested), std::string::npos);
  EXPECT_NE(errorOf(repeated("a if b else ", 100000) + "a").find(nested), std::string::npos);
  constexpr const char* chained = "expression has too many chained operations (more than 1000)";
  EXPECT_EQ(errorOf(repeated("a + ", 1000) + "a"), "accepted");
  EXPECT_NE(errorOf(repeated("a + ", 100000) + "a").find(chained), std::string::npos);
  EXPECT_NE(errorOf("a" + repeated(".b", 100000)).find(chained), std::string::npos);
  std::string sum = "a";
  for (int i = 0; i < 100; ++i) sum = "(" + sum + repeated(" + a", 500) + ")";
  EXPECT_NE(errorOf(sum).find(chained), std::string::npos);
  EXPECT_EQ(errorOf("[" + repeated("a + b, ", 5000) + "]"), "accepted");
  EXPECT_NE(errorOf("if a: b\n" + repeated("elif a: b\n", 5000)).find("too many `elif` branches"), std::string::npos);
  std::string blocks;
  for (int i = 0; i < 200; ++i) blocks += std::string(size_t(i), ' ') + "if a:\n";
  EXPECT_NE(errorOf(blocks).find("too many levels of indentation"), std::string::npos);
}

}  // namespace
}  // namespace tandem::frontend
