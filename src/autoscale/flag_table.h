// The table of flags while it is built: one method per kind of value. Shared by the files that fill
// it; nobody else needs it.

#pragma once

#include <charconv>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "autoscale/flags.h"

namespace coppice::autoscale {

Status BadFlagValue(std::string_view value, std::string_view wanted);

template <class T>
Result<T> FlagNumber(std::string_view text, std::string_view wanted) {
  T value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return BadFlagValue(text, wanted);
  return value;
}

class FlagTable {
 public:
  template <class T>
  using Member = std::function<T&(FlagValues&)>;

  void Group(std::string heading) { group_ = std::move(heading); }

  void AddBool(std::string name, Member<bool> member, std::string help);
  void AddBool(std::string name, bool FlagValues::* member, std::string help) {
    AddBool(std::move(name), OfValues(member), std::move(help));
  }
  void AddBool(std::string name, bool Options::* member, std::string help) {
    AddBool(std::move(name), OfOptions(member), std::move(help));
  }

  template <class T>
  void AddNumber(std::string name, Member<T> member, std::string help) {
    FlagValues defaults;
    std::string text = std::to_string(member(defaults));
    if constexpr (std::is_floating_point_v<T>) {  // 0.500000 reads as 0.5
      text.erase(text.find_last_not_of('0') + 1);
      if (text.ends_with('.')) text.pop_back();
    }
    Add(std::move(name), std::is_floating_point_v<T> ? "float" : "int", text, std::move(help),
        [member](FlagValues& v, std::string_view value) -> Status {
          member(v) = TRY(FlagNumber<T>(value, "a number"));
          return Status::Ok();
        });
  }
  template <class T>
  void AddNumber(std::string name, T Options::* member, std::string help) {
    AddNumber<T>(std::move(name), OfOptions(member), std::move(help));
  }
  template <class T>
  void AddNumber(std::string name, T FlagValues::* member, std::string help) {
    AddNumber<T>(std::move(name), OfValues(member), std::move(help));
  }

  void AddDuration(std::string name, Member<Duration> member, std::string help);
  void AddDuration(std::string name, Duration Options::* member, std::string help) {
    AddDuration(std::move(name), OfOptions(member), std::move(help));
  }
  void AddDuration(std::string name, Duration FlagValues::* member, std::string help) {
    AddDuration(std::move(name), OfValues(member), std::move(help));
  }
  // Of the groups' defaults.
  void AddDuration(std::string name, Duration cloud::ScalingOptions::* member, std::string help);

  void AddString(std::string name, Member<std::string> member, std::string help);
  void AddString(std::string name, std::string FlagValues::* member, std::string help) {
    AddString(std::move(name), OfValues(member), std::move(help));
  }

  // Each occurrence adds one.
  void AddRepeated(std::string name, Member<std::vector<std::string>> member, std::string help);
  // Comma separated; replaces what was there.
  void AddList(std::string name, Member<std::vector<std::string>> member, std::string help);
  // Comma separated; each occurrence adds.
  void AddLists(std::string name, Member<std::vector<std::string>> member, std::string help);

  // Accepted at its default; otherwise refused with what to do instead.
  void Refuse(std::string name, std::string default_text, std::string instead);
  // Understood, and without effect by design. `why` is its help; with `note`, a value other than
  // the default is told at start.
  void Accept(std::string name, std::string type, std::string default_text, std::string why,
              bool note = true);
  void Alias(std::string name, std::string of);

  void Add(std::string name, std::string type, std::string default_text, std::string help,
           std::function<Status(FlagValues&, std::string_view)> set);

  std::vector<Flag> Take() { return std::move(flags_); }

 private:
  template <class T>
  static Member<T> OfValues(T FlagValues::* member) {
    return [member](FlagValues& v) -> T& { return v.*member; };
  }
  template <class T>
  static Member<T> OfOptions(T Options::* member) {
    return [member](FlagValues& v) -> T& { return v.options.*member; };
  }

  std::string group_;
  std::vector<Flag> flags_;
};

// The parts of the table, in the order in which they are shown.
void AddClusterFlags(FlagTable& table);
void AddScaleUpFlags(FlagTable& table);
void AddScaleDownFlags(FlagTable& table);
void AddHealthFlags(FlagTable& table);
void AddDeviationFlags(FlagTable& table);
void AddUnsupportedFlags(FlagTable& table);
void AddLogFlags(FlagTable& table);

}  // namespace coppice::autoscale
