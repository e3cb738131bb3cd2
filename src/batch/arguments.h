// Arguments: what volcano-scheduler.conf says to one plug-in or action, with the types that its
// YAML has.
//
// A getter leaves its default alone when the key is absent or of another type, as upstream does:
// an int is only an int, a float may be written as an int, a bool may be a text that Go's
// ParseBool takes, a text is only a text. No getter takes an int of 2^63 and more: Go has another
// type for those.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace coppice::batch {

struct ArgumentValue {
  using List = std::vector<ArgumentValue>;
  using Map = std::map<std::string, ArgumentValue>;
  // null, bool, int, what is too large for one, float, text, list, map
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, List, Map> value;

  bool is_null() const { return std::holds_alternative<std::monostate>(value); }
  const bool* AsBool() const { return std::get_if<bool>(&value); }
  const int64_t* AsInt() const { return std::get_if<int64_t>(&value); }
  const uint64_t* AsUnsigned() const { return std::get_if<uint64_t>(&value); }
  const double* AsFloat() const { return std::get_if<double>(&value); }
  const std::string* AsText() const { return std::get_if<std::string>(&value); }
  const List* AsList() const { return std::get_if<List>(&value); }
  const Map* AsMap() const { return std::get_if<Map>(&value); }
};

// Go's strconv.ParseBool: 1, t, T, true, TRUE, True and their opposites.
std::optional<bool> ParseGoBool(std::string_view text);

class Arguments {
 public:
  Arguments() = default;
  explicit Arguments(ArgumentValue::Map values) : values_(std::move(values)) {}

  const ArgumentValue* Find(std::string_view key) const;
  void Get(std::string_view key, int& out) const;
  void Get(std::string_view key, int64_t& out) const;
  void Get(std::string_view key, double& out) const;
  void Get(std::string_view key, bool& out) const;
  void Get(std::string_view key, std::string& out) const;
  bool empty() const { return values_.empty(); }
  const ArgumentValue::Map& values() const { return values_; }

 private:
  ArgumentValue::Map values_;
};

}  // namespace coppice::batch
