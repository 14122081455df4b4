// The text of a remark.
#include "abi/remark.h"

namespace tandem::abi {

std::string Remark::text() const {
  std::string place = file.empty() ? "" : file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
  std::string text = place + std::string(wordOf(outcome)) + " " + std::string(wordOf(kind)) + ": " + message;
  return help.empty() ? text : text + " (help: " + help + ")";
}

}  // namespace tandem::abi
