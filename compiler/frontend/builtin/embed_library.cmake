# Makes C++ of the library's Python text: one raw string a file.
set(entries)
foreach(pair standard.py:tl sort.py:tl random.py:tl extra.py:extra tma.py:dl.tma)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 file)
  list(GET pair 1 module)
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/../library/${file} text)
  string(APPEND entries "      {\"tandem/language/${file}\", \"${module}\", R\"py(${text})py\"},\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/../library/${file})
endforeach()
file(CONFIGURE OUTPUT embedded_sources.cpp @ONLY CONTENT [[// The text of library/*.py, made by embed_library.cmake.
#include "compiler/frontend/builtin/library.h"

namespace tandem::frontend::builtin {

const std::vector<EmbeddedSource>& embeddedSources() {
  static const std::vector<EmbeddedSource> sources = {
@entries@  };
  return sources;
}

}  // namespace tandem::frontend::builtin
]])
