// A scenario file as lines of words. What the words mean is the stage's business (stage.h).

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::scenario {

// One line: words, then what was written as key=value. "Quoted text" is one word.
struct Line {
  int number = 0;
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> options;

  const std::string* Find(std::string_view key) const;
  std::string Get(std::string_view key, std::string otherwise = "") const;
  int Int(std::string_view key, int otherwise) const;
  Result<Duration> Time(std::string_view key, Duration otherwise) const;
  std::vector<std::string> All(std::string_view key) const;
  std::string word(size_t i) const { return i < words.size() ? words[i] : ""; }
};

struct Scenario {
  std::string title;
  std::vector<Line> lines;
};

// Several scenarios may share a file; each begins with `scenario TITLE`.
Result<std::vector<Scenario>> ReadScenarios(std::string_view text);

}  // namespace coppice::scenario
