// How the lines of `coppice run` look where somebody reads them: no wider than the terminal, and
// with colour unless NO_COLOR asks for none. In a file or a pipe they stay as they are.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coppice::whatif {

struct TerminalLook {
  size_t width = 0;  // 0: no terminal, nothing is broken
  bool colour = false;
};

// Of an open file. `no_color` and `term` are those variables, null if unset.
TerminalLook LookOf(int file, const char* no_color, const char* term);

// The line as it is printed: broken between words, what follows indented below the text; coloured
// by its mark (+ - . * !), which stands behind the time.
std::string Shown(std::string_view line, const TerminalLook& look);

}  // namespace coppice::whatif
