#include "whatif/terminal_look.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace coppice::whatif {
namespace {

constexpr size_t kNarrowest = 40;  // below it words would be alone in their lines

// Where the mark of a decision stands, npos in other lines: "day 1 06:00:00  + web 1 -> 2 ...".
size_t MarkIn(std::string_view line) {
  if (!line.starts_with("day ")) return std::string_view::npos;
  const size_t gap = line.find("  ");
  return gap == std::string_view::npos || gap + 2 >= line.size() ? std::string_view::npos : gap + 2;
}

std::string_view ColourOf(char mark) {
  switch (mark) {
    case '+':
      return "\x1b[32m";
    case '-':
      return "\x1b[36m";
    case '.':
      return "\x1b[33m";
    case '!':
      return "\x1b[31m";
    default:
      return "";
  }
}

// Bytes that begin a character: what a terminal counts, but for wide ones, which names do not have.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string Broken(std::string_view line, size_t width, size_t indent) {
  std::string out;
  std::string_view left = line;
  std::string start;  // of a line that goes on
  while (Columns(left) + start.size() > width) {
    // The last blank that still fits; a word that is longer than a line is left whole.
    size_t end = std::string_view::npos;
    for (size_t at = left.find(' ', start.empty() ? indent : 1);
         at != std::string_view::npos && Columns(left.substr(0, at)) + start.size() <= width;
         at = left.find(' ', at + 1)) {
      end = at;
    }
    if (end == std::string_view::npos) end = left.find(' ', start.empty() ? indent : 1);
    if (end == std::string_view::npos) break;
    std::string_view piece = left.substr(0, end);
    piece = piece.substr(0, piece.find_last_not_of(' ') + 1);
    out += start + std::string(piece) + "\n";
    left.remove_prefix(std::min(left.find_first_not_of(' ', end), left.size()));
    start = std::string(indent, ' ');
  }
  return out + start + std::string(left);
}

}  // namespace

TerminalLook LookOf(int file, const char* no_color, const char* term) {
  if (isatty(file) == 0) return {};
  TerminalLook look;
  winsize size{};
  look.width = ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  look.width = std::max(look.width, kNarrowest);
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  look.colour = (no_color == nullptr || *no_color == '\0') && !dumb;
  return look;
}

std::string Shown(std::string_view line, const TerminalLook& look) {
  const size_t mark = MarkIn(line);
  std::string text(line);
  if (look.width > 0 && mark != std::string_view::npos) text = Broken(line, look.width, mark + 2);
  if (!look.colour || mark == std::string_view::npos) return text;
  const std::string_view colour = ColourOf(line[mark]);
  if (colour.empty()) return text;
  return text.substr(0, mark) + std::string(colour) + text.substr(mark) + "\x1b[0m";
}

}  // namespace coppice::whatif
