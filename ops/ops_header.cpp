// Writes the typed C header of the operators from their tables: for each operator functions around td_op_create,
// td_op_run and so on.
#include "tandem/op_c_api.h"
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace {
using nlohmann::json;

const char kBegin[] =
    R"(/* The operators over ranks in the C ABI, made from their tables; see op_c_api.h. dtype: the number of
 * tandem::DType (9 fp8e4nv, 10 fp8e5, 11 fp16, 12 bf16, 13 fp32). Every create and close is [collective, blocks]; close gives the memory
 * back, the handle stays until destroyed. A config is JSON, each member optional. */
#ifndef TANDEM_OPS_C_API_H
#define TANDEM_OPS_C_API_H
#include "tandem/op_c_api.h"
)";

std::string joined(const json& rows, const std::string& before, const std::string& between = ", ") {
  std::string out;
  for (const json& row : rows) out += (out.empty() ? "" : between) + before + row["name"].get<std::string>();
  return out;
}

// `counts`, the last number of some operators, is a list.
bool hasCounts(const json& op) { return !op["numbers"].empty() && op["numbers"].back()["kind"] == "counts"; }

std::string numberParameters(const json& op) {
  std::string out;
  for (const json& n : op["numbers"])
    out += n["kind"] == "counts" ? ", const int64_t* counts, int count" : ", int64_t " + n["name"].get<std::string>();
  return out;
}

std::string comment(const json& op) {
  std::string out = "/* " + op["what"].get<std::string>() + "\n * config: {";
  for (const json& o : op["options"])
    out += (out.back() == '{' ? "" : ";\n *          ") + ("\"" + o["name"].get<std::string>() + "\": ") +
           o["what"].get<std::string>();
  return out + "} */\n";
}

std::string call(const json& op, const std::string& function, const std::string& more, const std::string& passed) {
  std::string name = op["name"], text = "static inline int td_" + name + "_" + function + "(td_" + name +
                                        "* op, int stream, " + joined(op["tensors"], "uint64_t ") +
                                        numberParameters(op) + more + ") {\n";
  text += "  const uint64_t tensors[] = {" + joined(op["tensors"], "") + "};\n";
  std::string tensorCount = std::to_string(op["tensors"].size()), numberCount = std::to_string(op["numbers"].size());
  if (hasCounts(op)) {
    json before = op["numbers"];
    before.erase(before.size() - 1);
    std::string first = std::to_string(before.size());
    text += "  int64_t numbers[" + first + " + TD_MOST_COUNTS] = {" + joined(before, "") + "};\n  int i;\n";
    text += "  if (count > TD_MOST_COUNTS) count = TD_MOST_COUNTS; /* too many are refused */\n";
    text += "  for (i = 0; i < count; ++i) numbers[" + first + " + i] = counts[i];\n";
    numberCount = first + " + count";
  } else {
    text += "  const int64_t numbers[] = {" + joined(op["numbers"], "") + "};\n";
  }
  return text + "  return td_op_" + function + "(op, stream, tensors, " + tensorCount + ", numbers, " + numberCount +
         passed + ");\n}\n";
}

std::string functions(const json& op) {
  std::string name = op["name"], text = "\ntypedef td_op td_" + name + ";\n" + comment(op);
  text += "static inline int td_" + name + "_create(td_session* session, int rank, " + joined(op["sizes"], "int64_t ") +
          ", int dtype, const char* config, td_" + name + "** op) {\n  const int64_t sizes[] = {" +
          joined(op["sizes"], "") + "};\n  return td_op_create(session, rank, \"" + name + "\", sizes, " +
          std::to_string(op["sizes"].size()) + ", dtype, config, op);\n}\n";
  text += call(op, "run", "", "");
  if (op["tunes"]) text += call(op, "tune", ", char** json", ", json");
  text += "static inline int td_" + name + "_close(td_" + name + "* op) { return td_op_close(op); }\n";
  return text + "static inline void td_" + name + "_destroy(td_" + name + "* op) { td_op_destroy(op); }\n";
}

}  // namespace

int main() {
  char* tables = nullptr;
  if (td_op_tables(&tables)) {
    std::fprintf(stderr, "%s\n", td_last_error());
    return 1;
  }
  std::string text = kBegin;
  for (const json& op : json::parse(tables)) text += functions(op);
  td_free(tables);
  std::printf("%s\n#endif\n", text.c_str());
  return 0;
}
