#include "whatif/dump_places.h"

#include <algorithm>
#include <charconv>

#include "wire/json_cursor.h"

namespace coppice::whatif {

namespace {

using wire::JsonCursor;

// Takes the first step off the path: "a.b[2]" is a, then b, then 2.
std::string_view TakeStep(std::string_view& path, bool& bracketed) {
  bracketed = path.starts_with('[');
  if (bracketed) {
    const size_t end = std::min(path.find(']'), path.size());
    const std::string_view step = path.substr(1, end == 0 ? 0 : end - 1);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (path.starts_with('.')) path.remove_prefix(1);
    return step;
  }
  const size_t end = std::min(path.find_first_of(".["), path.size());
  const std::string_view step = path.substr(0, end);
  path.remove_prefix(path.substr(end).starts_with('.') ? end + 1 : end);
  return step;
}

bool EnterElement(JsonCursor& in, std::string_view step) {
  size_t wanted = 0;
  if (std::from_chars(step.data(), step.data() + step.size(), wanted).ec != std::errc())
    return false;
  if (!in.Open('[')) return false;
  bool first = true;
  for (size_t i = 0; in.Next(']', first); ++i) {
    if (i == wanted) return true;
    if (!in.Skip()) return false;
  }
  return false;
}

bool EnterMember(JsonCursor& in, std::string_view step) {
  if (!in.Open('{')) return false;
  bool first = true;
  while (in.Next('}', first)) {
    std::string_view key;
    if (!in.ReadKey(key)) return false;
    if (key == step) return true;
    if (!in.Skip()) return false;
  }
  return false;
}

bool NamedByte(std::string_view complaint, size_t& offset) {
  constexpr std::string_view kAtByte = " at byte ";
  const size_t at = complaint.rfind(kAtByte);
  if (at == std::string_view::npos) return false;
  const char* digits = complaint.data() + at + kAtByte.size();
  return std::from_chars(digits, complaint.data() + complaint.size(), offset).ec == std::errc();
}

std::string TextAt(std::string_view json, std::string_view member, std::string_view inner = "") {
  JsonCursor in(json);
  if (!EnterMember(in, member)) return "";
  if (!inner.empty() && !EnterMember(in, inner)) return "";
  std::string_view text;
  return in.ReadText(text) ? std::string(text) : "";
}

}  // namespace

std::string LineAndColumn(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t start = before.rfind('\n');
  const size_t column = start == std::string_view::npos ? offset + 1 : offset - start;
  return std::to_string(line) + ":" + std::to_string(column);
}

std::string_view FieldPath(std::string_view complaint) {
  const size_t end = complaint.find(": ");
  if (end == std::string_view::npos) return "";
  const std::string_view path = complaint.substr(0, end);
  // A path has no blanks outside its brackets; a sentence has.
  int depth = 0;
  for (const char c : path) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth == 0 && (c == ' ' || c == '"')) return "";
  }
  return path;
}

size_t OffsetOf(std::string_view json, std::string_view complaint) {
  size_t offset = 0;
  if (NamedByte(complaint, offset)) return std::min(offset, json.size());
  std::string_view path = FieldPath(complaint);
  JsonCursor in(json);
  (void)in.Peek();
  auto reached = static_cast<size_t>(in.at() - json.data());
  while (!path.empty()) {
    bool bracketed = false;
    const std::string_view step = TakeStep(path, bracketed);
    const bool element = bracketed && in.Peek() == '[';  // else a key of a map: requests[cpu]
    if (!(element ? EnterElement(in, step) : EnterMember(in, step))) return reached;
    (void)in.Peek();
    reached = static_cast<size_t>(in.at() - json.data());
  }
  return reached;
}

std::string NameIn(std::string_view json) {
  const std::string kind = TextAt(json, "kind");
  const std::string name = TextAt(json, "metadata", "name");
  const std::string space = TextAt(json, "metadata", "namespace");
  if (kind.empty() && name.empty()) return "";
  return "(" + kind + (kind.empty() || name.empty() ? "" : " ") +
         (space.empty() ? name : space + "/" + name) + ") ";
}

}  // namespace coppice::whatif
