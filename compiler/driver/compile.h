// The compiler as a library: a request in, a program or diagnostics out. No Python, no files unless the request names
// one.
#pragma once
#include "base/diagnostic.h"
#include "interpreter/program.h"
#include <functional>
#include <optional>
#include <string>

namespace tandem::compiler {

// A request is JSON text: { "kernel": "<function id>",
//   "functions": { "<id>": {"kind": "jit" | "constexpr_function" | "aggregate", "name": "f", "file": "k.py", "line":
//   12, "source": "...",
//                           "globals": {"<name>": VALUE, ...}, "defaults": {"<parameter>": VALUE} } },
//                           or {"kind": "namedtuple", "name": "P", "fields": ["x", ...], "defaults": {"x": VALUE}}
//   "arguments": [ ARGUMENT, ... ],            in the order of the kernel's parameters
//   "options": {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": 168, "target": "sim", "debug": true},
//   "launch": {"ranks": 2, "grid": [4, 1, 1], "numbers": [0, 96]} }
//                                              for the stage "signals" alone; `numbers` are those of
//                                              Program::arguments, anything for pointers
// VALUE: {"none":true} {"bool":b} {"int":"123"} {"float":"0.5"} {"str":"s"} {"dtype":"fp16"}
//        {"tuple":[VALUE..], "names":[..]?} {"list":[VALUE..]} {"module":"triton.language"} {"builtin":"tl.load"}
//        {"function":"<id>"}
//        {"namespace":{"attr":VALUE},"name":"m"}
//        {"foreign":"description"}
// ARGUMENT: {"name":"x","type":"*fp16"} {"name":"n","type":"i32"} {"name":"B","constexpr":VALUE}
//        {"name":"t","tuple":[ARGUMENT..]}
//        {"name":"d","descriptor":{"dtype":"fp16","block_shape":[64,32],"padding":"zero"|"nan"}}
//        A pointer or an integer may have "divisibility":16, a promise that its value (the address, in bytes) is a
//        multiple of that;
//        it becomes the argument's attribute `tile.multiple_of`.
//        The types are those of Triton's signatures. A descriptor becomes base pointer, shape (i32..), strides (i64..)
//        arguments.
struct Compiled {
  // Program::arguments lists the launch's arguments, in order (constexprs left out)
  interpreter::ProgramPtr program;
  std::string error;                    // rendered diagnostics when `program` is null
  std::vector<Diagnostic> diagnostics;  // the error, or the warnings
};
// Thread-safe. Never throws, never exits.
Compiled compileToProgram(const std::string& requestJson);

// Sets where the prints of kernels at compile time go; else they go to the standard output. Called before anything is
// compiled.
void setStaticPrinter(std::function<void(const std::string&)> printer);

// Sets a function that is called after each pass, with the pass's name and the IR as text, whose first line is a
// comment with the time that the pass took. It is set before anything is compiled. A kernel from an image cache is not
// compiled, so nothing is printed.
using PassPrinter = std::function<void(const std::string& pass, const std::string& text)>;
void setPassPrinter(PassPrinter print);

// The stages' texts for tools: "ast", "tile" (verified IR), "tile-opt" (after canonicalisation), "sim".
// "writes": the numbers of the arguments through which the kernel may write.
// "signals": the request's launch is checked (check-signals), and the text has the arguments that decide its signals.
struct Emitted {
  std::string text;
  std::string error;
  std::string warnings{};
};
// `locations`: the ops of "tile" and "tile-opt" are printed with their places in the source.
Emitted emit(const std::string& requestJson, const std::string& stage, bool locations = false);

// Error messages name these sources of types and constants: tandemc's options, or the names of parameters.
struct RequestWords {
  std::string signature = "--signature", constexprs = "--constexpr";
  bool isCall = false;  // the signature is that of a call's arguments
};

// The text of a module that a file imports ("ops.words.words"), which may be none, as a file of that name.
struct ImportedText {
  std::string file, text;
};
using FindModule = std::function<std::optional<ImportedText>(const std::string& module)>;
// Modules are files below the folder of `path` or below one of the folders that hold it, the nearest first.
FindModule modulesBeside(const std::string& path);

// A request for a kernel in a file, as tandemc has it: names resolve through the file's imports, constants and
// functions. `kernel` may be empty when the file has one kernel. `signature`: "*fp16, *fp16, i32" or "x_ptr=*fp16,
// n=i32"; `constexprs`: "BLOCK=128, FLAG=True".
Emitted requestForFile(const std::string& path, const std::string& kernel, const std::string& signature,
                       const std::string& constexprs, int numWarps, const RequestWords& words = {});
// The same for text that is in memory; diagnostics name it by `fileName`. `find` gives what it imports, and what that
// imports.
Emitted requestForText(const std::string& text, const std::string& fileName, const std::string& kernel,
                       const std::string& signature, const std::string& constexprs, int numWarps,
                       const RequestWords& words = {}, const FindModule& find = {});

// JSON {"names": [{"module": "tl", "name": "load", "kind": "function" | "constant" | "library", "value": VALUE,
// "signature": "..."}],
//       "modules": {"<importable name>": "<canonical module>"}}.
std::string builtinsJson();

}  // namespace tandem::compiler
