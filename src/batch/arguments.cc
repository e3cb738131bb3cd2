#include "batch/arguments.h"

#include <algorithm>
#include <array>
#include <limits>

namespace coppice::batch {

std::optional<bool> ParseGoBool(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kYes{"1", "t", "T", "true", "TRUE", "True"};
  static constexpr std::array<std::string_view, 6> kNo{"0", "f", "F", "false", "FALSE", "False"};
  if (std::ranges::find(kYes, text) != kYes.end()) return true;
  if (std::ranges::find(kNo, text) != kNo.end()) return false;
  return std::nullopt;
}

const ArgumentValue* Arguments::Find(std::string_view key) const {
  const auto it = values_.find(std::string(key));
  return it == values_.end() ? nullptr : &it->second;
}

void Arguments::Get(std::string_view key, int64_t& out) const {
  const ArgumentValue* found = Find(key);
  if (found && found->AsInt()) out = *found->AsInt();
}

void Arguments::Get(std::string_view key, int& out) const {
  int64_t value = out;
  Get(key, value);
  out = static_cast<int>(
      std::clamp<int64_t>(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

void Arguments::Get(std::string_view key, double& out) const {
  const ArgumentValue* found = Find(key);
  if (!found) return;
  if (found->AsFloat()) {
    out = *found->AsFloat();
  } else if (found->AsInt()) {
    out = static_cast<double>(*found->AsInt());
  }
}

void Arguments::Get(std::string_view key, bool& out) const {
  const ArgumentValue* found = Find(key);
  if (!found) return;
  if (found->AsBool()) {
    out = *found->AsBool();
  } else if (found->AsText()) {
    out = ParseGoBool(*found->AsText()).value_or(out);
  }
}

void Arguments::Get(std::string_view key, std::string& out) const {
  const ArgumentValue* found = Find(key);
  if (found && found->AsText()) out = *found->AsText();
}

}  // namespace coppice::batch
