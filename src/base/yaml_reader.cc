// Typed reading of maps: yaml::MapReader.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/strings.h"
#include "base/yaml.h"
#include "base/yaml_tree.h"

namespace coppice::yaml {

namespace {

// What was found instead, in a complaint: short, on one line.
std::string Shown(const std::string& text) {
  std::string shown;
  AppendJsonString(shown, text.size() > 60 ? text.substr(0, 60) + "..." : text);
  return shown;
}

bool IsDecimal(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// 014 is twelve to YAML 1.1 and fourteen to a person, so it is neither to us.
bool HasLeadingZero(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

}  // namespace

MapReader::MapReader(Node node, Problems& problems) : node_(std::move(node)), problems_(&problems) {
  const Node::Kind kind = node_.kind();
  if (kind == Node::Kind::kScalar || kind == Node::Kind::kList) {
    problems_->Add({.place = node_.place(),
                    .path = node_.path(),
                    .text = "must be a map (key: value lines), not a " +
                            std::string(kind == Node::Kind::kList ? "list" : "single value")});
  }
}

Node MapReader::Get(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  if (node_.kind() != Node::Kind::kMap) return {};
  const Tree& map = *node_.data_->tree;
  const auto child = std::ranges::find(map.children, key, &Tree::Child::key);
  if (child == map.children.end()) return {};
  const std::string path =
      node_.path().empty() ? std::string(key) : node_.path() + "." + std::string(key);
  return MakeNode(child->value, node_.place().file, path);
}

bool MapReader::Has(std::string_view key) { return Get(key).kind() != Node::Kind::kAbsent; }

void MapReader::Complain(std::string_view key, std::string text, Severity severity) {
  const Node value = Get(key);
  const Node& where = value.kind() == Node::Kind::kAbsent ? node_ : value;
  problems_->Add(
      {.severity = severity,
       .place = where.place(),
       .path = node_.path().empty() ? std::string(key) : node_.path() + "." + std::string(key),
       .text = std::move(text)});
}

const std::string* MapReader::Scalar(std::string_view key, const Node& value) {
  const Node::Kind kind = value.kind();
  if (kind == Node::Kind::kList || kind == Node::Kind::kMap) {
    Complain(key, std::string("must be a single value, not a ") +
                      (kind == Node::Kind::kList ? "list" : "map"));
  }
  return kind == Node::Kind::kScalar ? &value.scalar() : nullptr;
}

bool MapReader::Read(std::string_view key, std::string& out) {
  const Node value = Get(key);
  const std::string* text = Scalar(key, value);
  if (text != nullptr) out = *text;
  return text != nullptr;
}

bool MapReader::Read(std::string_view key, bool& out) {
  const Node value = Get(key);
  const std::string* text = Scalar(key, value);
  if (text == nullptr) return false;
  if (value.quoted()) {
    Complain(key, "must be true or false, without quotes, not the text " + Shown(*text));
    return false;
  }
  const bool yes = *text == "true" || *text == "True" || *text == "TRUE";
  const bool no = *text == "false" || *text == "False" || *text == "FALSE";
  if (!yes && !no) {
    const std::string lower = Lower(*text);
    std::string complaint = "must be true or false, not " + Shown(*text);
    if (lower == "yes" || lower == "on" || lower == "y") complaint += "; write true";
    if (lower == "no" || lower == "off" || lower == "n") complaint += "; write false";
    Complain(key, complaint);
    return false;
  }
  out = yes;
  return true;
}

bool MapReader::Read(std::string_view key, int64_t& out) {
  const Node value = Get(key);
  const std::string* text = Scalar(key, value);
  if (text == nullptr) return false;
  std::string complaint;
  int64_t number = 0;
  if (value.quoted() && IsDecimal(*text)) {
    complaint = "must be a whole number, not a text; write " + Shown(*text) + " without quotes";
  } else if (!IsDecimal(*text) || value.quoted()) {
    complaint = "must be a whole number, not " + Shown(*text);
  } else if (HasLeadingZero(*text)) {
    complaint = "must be a whole number without leading zeros, not " + Shown(*text) +
                ": some read that as octal";
  } else if (std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc()) {
    complaint = Shown(*text) + " does not fit into 64 bits";
  } else {
    out = number;
    return true;
  }
  Complain(key, complaint);
  return false;
}

bool MapReader::Read(std::string_view key, int& out) {
  int64_t wide = 0;
  if (!Read(key, wide)) return false;
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    Complain(key, std::to_string(wide) + " does not fit into 32 bits");
    return false;
  }
  out = static_cast<int>(wide);
  return true;
}

bool MapReader::Read(std::string_view key, double& out) {
  const Node value = Get(key);
  const std::string* text = Scalar(key, value);
  if (text == nullptr) return false;
  double number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, number);
  if (value.quoted() || problem != std::errc() || stop != end || !std::isfinite(number)) {
    Complain(key, "must be a number" + std::string(value.quoted() ? " without quotes" : "") +
                      ", not " + Shown(*text));
    return false;
  }
  out = number;
  return true;
}

bool MapReader::Read(std::string_view key, Duration& out) {
  const Node value = Get(key);
  const std::string* text = Scalar(key, value);
  if (text == nullptr) return false;
  const Result<Duration> duration = ParseGoDuration(*text);
  if (!duration.ok()) {
    Complain(key, duration.status().message());
    return false;
  }
  out = *duration;
  return true;
}

bool MapReader::Read(std::string_view key, std::vector<std::string>& out) {
  std::vector<std::string> texts;
  bool good = true;
  EachItem(key, [&](const Node& item) {
    if (item.kind() != Node::Kind::kScalar) {
      good = false;
      problems_->Add(
          {.place = item.place(), .path = item.path(), .text = "must be a single value"});
    } else {
      texts.push_back(item.scalar());
    }
  });
  if (!good || Get(key).kind() != Node::Kind::kList) return false;
  out = std::move(texts);
  return true;
}

bool MapReader::Read(std::string_view key, std::map<std::string, std::string>& out) {
  const Node value = Get(key);
  if (value.kind() == Node::Kind::kAbsent || value.kind() == Node::Kind::kNull) return false;
  if (value.kind() != Node::Kind::kMap) {
    Complain(key, "must be a map (key: value lines)");
    return false;
  }
  std::map<std::string, std::string> texts;
  bool good = true;
  for (const auto& [name, node] : value.entries()) {
    // `name:` with nothing behind it is the empty text: a label without a value is common.
    if (node.kind() == Node::Kind::kScalar || node.kind() == Node::Kind::kNull) {
      texts[name] = node.scalar();
      continue;
    }
    good = false;
    problems_->Add({.place = node.place(), .path = node.path(), .text = "must be a single value"});
  }
  if (good) out = std::move(texts);
  return good;
}

void MapReader::EachItem(std::string_view key, const std::function<void(const Node&)>& item) {
  const Node value = Get(key);
  if (value.kind() == Node::Kind::kScalar || value.kind() == Node::Kind::kMap) {
    Complain(key, "must be a list (lines that begin with -)");
  }
  for (const Node& node : value.items()) item(node);
}

void MapReader::Finish() {
  if (node_.kind() != Node::Kind::kMap) return;
  for (const Tree::Child& child : node_.data_->tree->children) {
    if (std::ranges::find(known_, child.key) != known_.end()) continue;
    const std::string nearest = Nearest(child.key, known_);
    std::string text = "unknown key";
    if (!nearest.empty()) text += "; did you mean '" + nearest + "'?";
    problems_->Add(
        {.severity = Severity::kWarning,
         .place = {.file = node_.place().file, .line = child.key_line, .column = child.key_column},
         .path = node_.path().empty() ? child.key : node_.path() + "." + child.key,
         .text = std::move(text)});
  }
}

}  // namespace coppice::yaml
