// FlagSet: the flags of one command as a table. Parsing, --help and docs/flags.md read the same
// table, so that they cannot disagree.
//
// A module adds its flags, each bound to a member of its own small options; what stands in the
// member at that moment is the default. A command adds the modules that it is made of and parses
// once, so that it has one list of names and one way of refusing. The forms are Go's, for that is
// what manifests of the Kubernetes world hold: `--name=value`, `--name value`, `-name=value`, a
// switch without a value, and `_` for `-`. Given twice, the last one counts.
//
// Each refusal names the flag and the value and says what would be taken. Numbers and times have a
// range, from zero upwards unless told otherwise; NaN and infinity are no numbers. What two flags
// mean together is left to the module, which looks at its options afterwards.
//
// One thread. What is bound must outlive the FlagSet.

#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace coppice {

// What a number or a time may be, both ends included.
template <class T>
struct Between {
  T least{};
  T most = std::numeric_limits<T>::max();
};
template <>
struct Between<Duration> {
  Duration least = Duration::zero();
  Duration most = Duration::max();
};
template <class T>
constexpr Between<T> AnyNumber() {
  return {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
}
constexpr Between<double> kShare{0, 1};

// The readers that the table uses, for values that are made of several. InvalidArgument says what
// would have been taken; the caller says of which flag.
Status BadFlagValue(std::string_view value, std::string_view wanted);
template <class T>  // int, int32_t, int64_t, uint64_t, double
Result<T> FlagNumber(std::string_view text, Between<T> range = {});
Result<bool> FlagBool(std::string_view text);
Result<Duration> FlagDuration(std::string_view text, Between<Duration> range = {});

struct Flag {
  std::string name;
  std::string group;         // heading in --help; "": not shown
  std::string type;          // bool, int, float, duration, string, list, range
  std::string default_text;  // as it would be written
  std::string help;
  std::string alias_of;  // another name for that one
  std::string with;      // the switch without which it does not count
  bool required = false;
  bool first = false;    // is set before all others, wherever it stands
  bool further = false;  // --help-flags shows it, --help does not
  bool given = false;
  std::vector<std::string> values;  // as they were written
  std::function<Status(std::string_view value)> set;

  bool is_bool() const { return type == "bool"; }  // may stand without a value
};

class FlagSet {
 public:
  FlagSet() = default;
  FlagSet(const FlagSet&) = delete;  // its flags know it
  FlagSet& operator=(const FlagSet&) = delete;

  // The heading of what is added from here on; "" hides it.
  void Group(std::string heading) { group_ = std::move(heading); }
  // What is added from here on is shown by --help-flags only: another command's, say.
  void Further() { further_ = true; }
  // What is added from here on counts only with that switch, and is refused without it; "" ends
  // this. Its name may be somebody else's, too: who has the switch has the flag, the first of
  // several, and without a switch it is that of whoever needs none.
  void With(std::string switch_name) { with_ = std::move(switch_name); }
  // What is added from here on begins with it, and is not shown: a second set of the same flags.
  void Prefix(std::string prefix) { prefix_ = std::move(prefix); }

  void AddBool(std::string name, bool& value, std::string help);
  template <class T>
  void AddNumber(std::string name, T& value, std::type_identity_t<Between<T>> range,
                 std::string help);
  template <class T>
  void AddNumber(std::string name, T& value, std::string help) {
    AddNumber<T>(std::move(name), value, Between<T>{}, std::move(help));
  }
  template <class T>
  void AddNumber(std::string name, std::optional<T>& value, std::string help);
  void AddDuration(std::string name, Duration& value, Between<Duration> range, std::string help);
  void AddDuration(std::string name, Duration& value, std::string help) {
    AddDuration(std::move(name), value, {}, std::move(help));
  }
  void AddDuration(std::string name, std::optional<Duration>& value, std::string help);
  void AddString(std::string name, std::string& value, std::string help);
  void AddString(std::string name, std::optional<std::string>& value, std::string help);
  // One of a few words.
  void AddChoice(std::string name, std::string& value, std::vector<std::string> words,
                 std::string help);

  // Each occurrence adds one; with a check, each is looked at.
  using Check = std::function<Status(std::string_view)>;
  void AddRepeated(std::string name, std::vector<std::string>& value, std::string help,
                   Check check = nullptr);
  // Comma separated; replaces what was there.
  void AddList(std::string name, std::vector<std::string>& value, std::string help);
  // Comma separated; each occurrence adds.
  void AddLists(std::string name, std::vector<std::string>& value, std::string help);

  // Accepted at its default; otherwise refused with what to do instead.
  void Refuse(std::string name, std::string default_text, std::string instead);
  // Understood, and without effect by design. `why` is its help; with `note`, a value other than
  // the default is told at start.
  void Accept(std::string name, std::string type, std::string default_text, std::string why,
              bool note = true);
  void Alias(std::string name, const std::string& of);
  // Any other kind of value.
  void Add(std::string name, std::string type, std::string default_text, std::string help,
           std::function<Status(std::string_view)> set);

  // What stands there without a dash. Without it such a word is refused.
  void AddWords(std::string label, std::vector<std::string>& words, bool required,
                std::string help);

  void Require(std::string_view name) { Known(name).required = true; }
  // Sets the defaults of others, so it has to be read before them.
  void First(std::string_view name) { Known(name).first = true; }

  // Fills what is bound. After --help or --help-flags nothing else is looked at.
  Status Parse(const std::vector<std::string>& args);
  bool help_wanted() const { return help_wanted_ || all_help_wanted_; }
  bool Given(std::string_view name) const;

  const std::vector<Flag>& flags() const { return flags_; }
  // What was asked for and has no effect, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  std::string AsHelp() const;      // as wanted
  std::string AsMarkdown() const;  // tables only

 private:
  struct Setting {
    size_t flag;
    std::string name;  // as it was written
    std::string value;
  };

  const Flag* Find(std::string_view name) const;
  Flag& Known(std::string_view name);  // of those that are being added
  bool Counts(const Flag& flag) const;
  void FindSwitches(const std::vector<std::string>& args);
  Status Unknown(const std::string& name) const;
  Status NoFlag(const std::string& word) const;
  Result<std::vector<Setting>> Read(const std::vector<std::string>& args);
  Status Apply(const Setting& setting);

  std::string group_ = "Flags";
  std::string with_;
  std::string prefix_;
  std::vector<std::string> on_;  // switches
  std::vector<Flag> flags_;
  std::vector<std::string> notes_;
  std::string words_label_;
  std::string words_help_;
  std::vector<std::string>* words_ = nullptr;
  bool words_required_ = false;
  bool further_ = false;
  bool help_wanted_ = false;
  bool all_help_wanted_ = false;
};

}  // namespace coppice
