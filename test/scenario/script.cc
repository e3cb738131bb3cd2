#include "test/scenario/script.h"

#include <cctype>
#include <cstdlib>

#include "base/go_duration.h"
#include "base/strings.h"

namespace coppice::scenario {
namespace {

// A '#' at the beginning of a word starts a comment.
Result<std::vector<std::string>> Words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
      in_word = true;
    } else if (!quoted && std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (in_word) words.push_back(std::exchange(word, ""));
      in_word = false;
    } else if (!quoted && !in_word && c == '#') {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quoted) return InvalidArgument("a quotation mark is missing");
  if (in_word) words.push_back(word);
  return words;
}

// key=value, with a key of letters and dashes: a flag (--x=y) and a quoted text are words.
size_t EqualSign(std::string_view word) {
  if (word.starts_with('-')) return std::string_view::npos;
  const size_t at = word.find('=');
  if (at == std::string_view::npos || at == 0) return std::string_view::npos;
  for (const char c : word.substr(0, at)) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0 && c != '-') return std::string_view::npos;
  }
  return at;
}

}  // namespace

const std::string* Line::Find(std::string_view key) const {
  for (const auto& [name, value] : options) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string Line::Get(std::string_view key, std::string otherwise) const {
  const std::string* value = Find(key);
  return value == nullptr ? std::move(otherwise) : *value;
}

int Line::Int(std::string_view key, int otherwise) const {
  const std::string* value = Find(key);
  return value == nullptr ? otherwise : std::atoi(value->c_str());
}

Result<Duration> Line::Time(std::string_view key, Duration otherwise) const {
  const std::string* value = Find(key);
  if (value == nullptr) return otherwise;
  return ParseGoDuration(*value);
}

std::vector<std::string> Line::All(std::string_view key) const {
  std::vector<std::string> values;
  for (const auto& [name, value] : options) {
    if (name == key) values.push_back(value);
  }
  return values;
}

Result<std::vector<Scenario>> ReadScenarios(std::string_view text) {
  std::vector<Scenario> scenarios;
  int number = 0;
  for (const std::string& row : Split(text, '\n')) {
    ++number;
    const auto words = Words(row);
    if (!words.ok()) return words.status().Context("line " + std::to_string(number));
    if (words->empty()) continue;
    if (words->front() == "scenario") {
      scenarios.push_back(
          {std::string(Trim(std::string_view(row).substr(row.find("scenario") + 8))), {}});
      continue;
    }
    if (scenarios.empty())
      return InvalidArgument("line " + std::to_string(number) + ": begin with: scenario TITLE");
    Line line{.number = number};
    for (const std::string& word : *words) {
      const size_t at = EqualSign(word);
      if (at == std::string_view::npos) {
        line.words.push_back(word);
      } else {
        line.options.emplace_back(word.substr(0, at), word.substr(at + 1));
      }
    }
    scenarios.back().lines.push_back(std::move(line));
  }
  return scenarios;
}

}  // namespace coppice::scenario
