#include "whatif/dump_yaml.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace coppice::whatif {

namespace {

using yaml::Node;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A number as JSON writes it; YAML's other spellings (0x10, 1_000, .5) stay text, and whoever wants
// a number there says so.
bool IsJsonNumber(std::string_view text) {
  size_t i = text.starts_with('-') ? 1 : 0;
  const size_t whole = i;
  while (i < text.size() && IsDigit(text[i])) ++i;
  if (i == whole || (text[whole] == '0' && i - whole > 1)) return false;
  if (i < text.size() && text[i] == '.') {
    const size_t fraction = ++i;
    while (i < text.size() && IsDigit(text[i])) ++i;
    if (i == fraction) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    const size_t exponent = i;
    while (i < text.size() && IsDigit(text[i])) ++i;
    if (i == exponent) return false;
  }
  return i == text.size();
}

void Append(std::string& out, const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kAbsent:
    case Node::Kind::kNull:
      out += "null";
      return;
    case Node::Kind::kScalar: {
      const std::string& text = node.scalar();
      const bool plain =
          !node.quoted() && (text == "true" || text == "false" || IsJsonNumber(text));
      if (plain) {
        out += text;
      } else {
        AppendJsonString(out, text);
      }
      return;
    }
    case Node::Kind::kList: {
      out += '[';
      bool first = true;
      for (const Node& item : node.items()) {
        if (!std::exchange(first, false)) out += ',';
        Append(out, item);
      }
      out += ']';
      return;
    }
    case Node::Kind::kMap: {
      out += '{';
      bool first = true;
      for (const auto& [key, value] : node.entries()) {
        if (!std::exchange(first, false)) out += ',';
        AppendJsonString(out, key);
        out += ':';
        Append(out, value);
      }
      out += '}';
      return;
    }
  }
}

// The child whose path is the longest beginning of `path`.
const Node* Towards(const std::vector<Node>& children, std::string_view path) {
  const Node* best = nullptr;
  for (const Node& child : children) {
    const std::string& at = child.path();
    const bool whole = path.starts_with(at) && (path.size() == at.size() ||
                                                path[at.size()] == '.' || path[at.size()] == '[');
    if (whole && (best == nullptr || at.size() > best->path().size())) best = &child;
  }
  return best;
}

// requests[cpu], as complaints write keys of maps, is requests.cpu to a tree.
std::string AsTreePath(std::string_view path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    const size_t end = path.find(']', i);
    if (path[i] == '[' && end != std::string_view::npos) {
      const std::string_view key = path.substr(i + 1, end - i - 1);
      const bool index = !key.empty() && std::ranges::all_of(key, IsDigit);
      out += index ? std::string(path.substr(i, end - i + 1)) : "." + std::string(key);
      i = end;
    } else {
      out += path[i];
    }
  }
  return out;
}

// One document of the text, at the file's own line numbers: only made when it is needed to
// complain, for a file of ten thousand documents has as many such lines before its last.
Status ParsedAgain(std::string_view document, size_t lines_before, const std::string& name) {
  const auto parsed = yaml::Parse(std::string(lines_before, '\n') + std::string(document), name,
                                  yaml::Duplicates::kLastWins);
  if (parsed.ok()) return Internal(name + ": cannot be read");
  const std::string what = parsed.status().message();
  const bool too_large = what.find("aliases followed") != std::string::npos;
  return InvalidArgument(what + (too_large ? "; kubectl's -o json is read at any size" : ""));
}

}  // namespace

std::string YamlDocument::ToJson() const {
  std::string out;
  Append(out, root_);
  return out;
}

std::string YamlDocument::PlaceOf(std::string_view path) const {
  const std::string tree_path = AsTreePath(path);
  Node at = root_;
  while (true) {
    std::vector<Node> children = at.items();
    for (auto& [key, value] : at.entries()) children.push_back(std::move(value));
    const Node* next = Towards(children, tree_path);
    if (next == nullptr) break;
    at = *next;
  }
  const yaml::Place& place = at.place();
  return place.file + ":" + std::to_string(static_cast<size_t>(place.line) + lines_before_) + ":" +
         std::to_string(place.column);
}

Status ForEachYamlDocument(std::string_view text, const std::string& name,
                           const std::function<Status(const YamlDocument&)>& each) {
  size_t begin = 0;
  size_t line = 0;
  size_t begin_line = 0;
  const auto read = [&](size_t end) -> Status {
    const std::string_view document = text.substr(begin, end - begin);
    if (Trim(document).empty()) return Status::Ok();
    auto root = yaml::Parse(document, name, yaml::Duplicates::kLastWins);
    if (!root.ok()) return ParsedAgain(document, begin_line, name);
    if (root->kind() == Node::Kind::kNull) return Status::Ok();  // nothing but comments
    return each(YamlDocument(*std::move(root), begin_line));
  };
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t newline = std::min(text.find('\n', at), text.size());
    const std::string_view content = text.substr(at, newline - at);
    const bool marker = content.starts_with("---") &&
                        (content.size() == 3 || content[3] == ' ' || content[3] == '\r');
    if (marker) {
      TRY(read(at));
      begin = at + 3;  // what stands behind the marker belongs to the document
      begin_line = line;
    }
    at = newline + 1;
  }
  return read(text.size());
}

}  // namespace coppice::whatif
