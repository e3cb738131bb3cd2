#include "base/flag_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <utility>

#include "base/check.h"
#include "base/go_duration.h"
#include "base/strings.h"

namespace coppice {
namespace {

Status CheckFlagType(std::string_view type, std::string_view text) {
  if (type == "bool") return FlagBool(text).status();
  if (type == "int") return FlagNumber<int64_t>(text, AnyNumber<int64_t>()).status();
  if (type == "float") return FlagNumber<double>(text, AnyNumber<double>()).status();
  if (type == "duration") return ParseGoDuration(text).status();
  return Status::Ok();
}

bool AsksForHelp(std::string_view arg) { return arg == "--help" || arg == "-help" || arg == "-h"; }
bool AsksForAllHelp(std::string_view arg) { return arg == "--help-flags"; }

// Upstream takes --log_dir for --log-dir, and so do we everywhere.
std::string WithDashes(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

// Of --name=value, -name and the like.
std::string NameIn(std::string_view arg) {
  arg.remove_prefix(arg.starts_with("--") ? 2 : 1);
  return WithDashes(arg.substr(0, arg.find('=')));
}

}  // namespace

void FlagSet::AddBool(std::string name, bool& value, std::string help) {
  Add(std::move(name), "bool", value ? "true" : "false", std::move(help),
      [&value](std::string_view text) -> Status {
        value = TRY(FlagBool(text));
        return Status::Ok();
      });
}

template <class T>
void FlagSet::AddNumber(std::string name, T& value, std::type_identity_t<Between<T>> range,
                        std::string help) {
  Add(std::move(name), std::integral<T> ? "int" : "float", fmt::format("{}", value),
      std::move(help), [&value, range](std::string_view text) -> Status {
        value = TRY(FlagNumber<T>(text, range));
        return Status::Ok();
      });
}
template void FlagSet::AddNumber<int>(std::string, int&, Between<int>, std::string);
template void FlagSet::AddNumber<int64_t>(std::string, int64_t&, Between<int64_t>, std::string);
template void FlagSet::AddNumber<uint64_t>(std::string, uint64_t&, Between<uint64_t>, std::string);
template void FlagSet::AddNumber<double>(std::string, double&, Between<double>, std::string);

template <class T>
void FlagSet::AddNumber(std::string name, std::optional<T>& value, std::string help) {
  Add(std::move(name), std::integral<T> ? "int" : "float", value ? fmt::format("{}", *value) : "",
      std::move(help), [&value](std::string_view text) -> Status {
        value = TRY(FlagNumber<T>(text));
        return Status::Ok();
      });
}
template void FlagSet::AddNumber<double>(std::string, std::optional<double>&, std::string);
template void FlagSet::AddNumber<int>(std::string, std::optional<int>&, std::string);

void FlagSet::AddDuration(std::string name, Duration& value, Between<Duration> range,
                          std::string help) {
  Add(std::move(name), "duration", FormatGoDuration(value), std::move(help),
      [&value, range](std::string_view text) -> Status {
        value = TRY(FlagDuration(text, range));
        return Status::Ok();
      });
}

void FlagSet::AddDuration(std::string name, std::optional<Duration>& value, std::string help) {
  Add(std::move(name), "duration", value ? FormatGoDuration(*value) : "", std::move(help),
      [&value](std::string_view text) -> Status {
        value = TRY(FlagDuration(text));
        return Status::Ok();
      });
}

void FlagSet::AddString(std::string name, std::string& value, std::string help) {
  Add(std::move(name), "string", value, std::move(help), [&value](std::string_view text) {
    value = std::string(text);
    return Status::Ok();
  });
}

void FlagSet::AddString(std::string name, std::optional<std::string>& value, std::string help) {
  Add(std::move(name), "string", value.value_or(""), std::move(help),
      [&value](std::string_view text) {
        value = std::string(text);
        return Status::Ok();
      });
}

void FlagSet::AddChoice(std::string name, std::string& value, std::vector<std::string> words,
                        std::string help) {
  std::string listed = words.front();
  for (size_t i = 1; i < words.size(); ++i)
    listed += (i + 1 == words.size() ? " or " : ", ") + words[i];
  Add(std::move(name), "string", value, listed + ": " + std::move(help),
      [&value, words, listed](std::string_view text) -> Status {
        if (std::ranges::find(words, text) == words.end()) {
          const std::string nearest = Nearest(text, words);
          return BadFlagValue(text,
                              listed + (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
        }
        value = std::string(text);
        return Status::Ok();
      });
}

void FlagSet::AddRepeated(std::string name, std::vector<std::string>& value, std::string help,
                          Check check) {
  Add(std::move(name), "list", "", std::move(help) + " May be given several times.",
      [&value, check = std::move(check)](std::string_view text) -> Status {
        if (check) TRY(check(text));
        value.emplace_back(text);
        return Status::Ok();
      });
}

void FlagSet::AddList(std::string name, std::vector<std::string>& value, std::string help) {
  Add(std::move(name), "list", Join(value, ","), std::move(help), [&value](std::string_view text) {
    value = text.empty() ? std::vector<std::string>{} : Split(text, ',');
    return Status::Ok();
  });
}

void FlagSet::AddLists(std::string name, std::vector<std::string>& value, std::string help) {
  Add(std::move(name), "list", "",
      std::move(help) + " Comma separated; may be given several times.",
      [&value](std::string_view text) {
        if (text.empty()) return Status::Ok();
        for (std::string& part : Split(text, ',')) value.push_back(std::move(part));
        return Status::Ok();
      });
}

void FlagSet::Refuse(std::string name, std::string default_text, std::string instead) {
  const bool is_bool = default_text == "true" || default_text == "false";
  std::string help = "Not supported: " + instead + ".";
  Add(std::move(name), is_bool ? "bool" : "string", default_text, std::move(help),
      [default_text, instead, is_bool](std::string_view text) -> Status {
        const bool same =
            is_bool ? TRY(FlagBool(text)) == (default_text == "true") : text == default_text;
        if (same) return Status::Ok();
        return Unimplemented("is not supported here: " + instead);
      });
}

void FlagSet::Accept(std::string name, std::string type, std::string default_text, std::string why,
                     bool note) {
  const std::string flag = "--" + name;
  Add(std::move(name), type, default_text, "No effect: " + why + ".",
      [this, flag, type, default_text, why, note](std::string_view text) -> Status {
        TRY(CheckFlagType(type, text));
        if (note && text != default_text)
          notes_.push_back(flag + "=" + std::string(text) + " has no effect: " + why);
        return Status::Ok();
      });
}

void FlagSet::Alias(std::string name, const std::string& of) {
  Flag flag = Known(of);
  flag.alias_of = std::exchange(flag.name, prefix_ + name);
  flag.help = "Another name of --" + of + ".";
  if (!flag.group.empty()) flag.group = group_;
  flag.further = further_;
  flags_.push_back(std::move(flag));
}

void FlagSet::Add(std::string name, std::string type, std::string default_text, std::string help,
                  std::function<Status(std::string_view)> set) {
  Flag flag;
  flag.name = prefix_ + name;
  flag.with = with_;
  // Else two modules of one command want the same name.
  CHECK(std::ranges::none_of(flags_, [&](const Flag& other) {
    return other.name == flag.name && other.with == flag.with;
  }));
  if (prefix_.empty()) flag.group = group_;
  flag.type = std::move(type);
  flag.default_text = std::move(default_text);
  flag.help = std::move(help);
  flag.further = further_;
  flag.set = std::move(set);
  flags_.push_back(std::move(flag));
}

void FlagSet::AddWords(std::string label, std::vector<std::string>& words, bool required,
                       std::string help) {
  words_label_ = std::move(label);
  words_help_ = std::move(help);
  words_ = &words;
  words_required_ = required;
}

const Flag* FlagSet::Find(std::string_view name) const {
  const Flag* found = nullptr;
  for (const Flag& flag : flags_) {
    if (flag.name != name) continue;
    if (!flag.with.empty() && Counts(flag)) return &flag;
    if (found == nullptr || flag.with.empty()) found = &flag;
  }
  return found;
}

Flag& FlagSet::Known(std::string_view name) {
  const std::string whole = prefix_ + std::string(name);
  const auto it = std::ranges::find_if(
      flags_, [&](const Flag& flag) { return flag.name == whole && flag.with == with_; });
  CHECK(it != flags_.end());
  return *it;
}

bool FlagSet::Counts(const Flag& flag) const {
  return flag.with.empty() || std::ranges::find(on_, flag.with) != on_.end();
}

// Before the rest is read: whose a name is depends on them.
void FlagSet::FindSwitches(const std::vector<std::string>& args) {
  on_.clear();
  for (const std::string& arg : args) {
    if (!arg.starts_with('-')) continue;
    const std::string name = NameIn(arg);
    if (std::ranges::find(flags_, name, &Flag::with) == flags_.end()) continue;
    const size_t equals = arg.find('=');
    const std::string value = equals == std::string::npos ? "true" : arg.substr(equals + 1);
    const auto on = FlagBool(value);
    std::erase(on_, name);
    // A switch need not be a bool: a file that is named is one, too.
    if (on.ok() ? *on : !value.empty()) on_.push_back(name);
  }
}

bool FlagSet::Given(std::string_view name) const {
  const Flag* flag = Find(name);
  return flag != nullptr && flag->given;
}

Status FlagSet::Unknown(const std::string& name) const {
  std::vector<std::string> names{"help"};
  for (const Flag& known : flags_) names.push_back(known.name);
  const std::string nearest = Nearest(name, names);
  return InvalidArgument(
      "there is no flag --" + name +
      (nearest.empty() ? "; --help lists them" : "; did you mean --" + nearest + "?"));
}

Status FlagSet::NoFlag(const std::string& word) const {
  const std::string name = WithDashes(std::string_view(word).substr(0, word.find('=')));
  return InvalidArgument("'" + word + "' is no flag; flags begin with --" +
                         (Find(name) == nullptr ? "" : ": did you mean --" + word + "?"));
}

Result<std::vector<FlagSet::Setting>> FlagSet::Read(const std::vector<std::string>& args) {
  std::vector<Setting> settings;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (!arg.starts_with('-') || arg == "-" || arg == "--") {
      if (words_ == nullptr || arg == "--") return NoFlag(arg);
      words_->push_back(arg);
      continue;
    }
    const std::string name = NameIn(arg);
    const Flag* flag = Find(name);
    if (flag == nullptr) return Unknown(name);
    if (!Counts(*flag))
      return InvalidArgument("--" + name + " counts with --" + flag->with +
                             " only, which is not given");
    const size_t equals = arg.find('=');
    std::string value = "true";
    if (equals != std::string::npos) {
      value = arg.substr(equals + 1);
    } else if (!flag->is_bool()) {
      // Go takes whatever stands next. A flag that we know stands there only if a value was
      // forgotten.
      const bool forgotten =
          i + 1 == args.size() || (args[i + 1].size() > 1 && args[i + 1].starts_with('-') &&
                                   Find(NameIn(args[i + 1])) != nullptr);
      if (forgotten) return InvalidArgument("--" + name + " needs a value");
      value = args[++i];
    }
    settings.push_back({static_cast<size_t>(flag - flags_.data()), name, std::move(value)});
  }
  return settings;
}

Status FlagSet::Apply(const Setting& setting) {
  Flag& flag = flags_[setting.flag];
  flag.given = true;
  flag.values.push_back(setting.value);
  if (!flag.alias_of.empty()) {
    for (Flag& other : flags_)
      if (other.name == flag.alias_of && other.with == flag.with) other.given = true;
  }
  return flag.set(setting.value).Context("--" + setting.name + "=" + setting.value);
}

Status FlagSet::Parse(const std::vector<std::string>& args) {
  help_wanted_ = std::ranges::any_of(args, AsksForHelp);
  all_help_wanted_ = std::ranges::any_of(args, AsksForAllHelp);
  if (help_wanted()) return Status::Ok();
  for (Flag& flag : flags_) flag.values.clear();
  FindSwitches(args);
  const std::vector<Setting> settings = TRY(Read(args));
  for (const bool first : {true, false}) {
    for (const Setting& setting : settings)
      if (flags_[setting.flag].first == first) TRY(Apply(setting));
  }
  for (const Flag& flag : flags_) {
    if (flag.required && !flag.given && Counts(flag))
      return InvalidArgument("--" + flag.name + " is required: " + flag.help);
  }
  if (words_ != nullptr && words_required_ && words_->empty())
    return InvalidArgument(words_label_ + " is required: " + words_help_);
  return Status::Ok();
}

std::string FlagSet::AsHelp() const {
  std::string text;
  size_t left_out = 0;
  if (words_ != nullptr) text += "\n  " + words_label_ + "\n      " + words_help_ + "\n";
  std::string group;
  for (const Flag& flag : flags_) {
    if (flag.group.empty()) continue;
    if (flag.further && !all_help_wanted_) {
      ++left_out;
      continue;
    }
    if (flag.group != group) {
      group = flag.group;
      text += "\n" + group + ":\n";
    }
    text += "  --" + flag.name + " " + flag.type;
    if (flag.required) text += " (required)";
    if (!flag.default_text.empty()) text += " (" + flag.default_text + ")";
    text += "\n      " + flag.help + "\n";
  }
  if (left_out > 0) text += fmt::format("\n--help-flags shows {} more.\n", left_out);
  return text;
}

std::string FlagSet::AsMarkdown() const {
  std::string text;
  std::string group;
  for (const Flag& flag : flags_) {
    if (flag.group.empty()) continue;
    if (flag.group != group) {
      group = flag.group;
      text += "\n## " + group + "\n\n| Flag | Type | Default | Meaning |\n|---|---|---|---|\n";
    }
    text += "| `--" + flag.name + "` | " + flag.type + " | " +
            (flag.default_text.empty() ? "" : "`" + flag.default_text + "`") + " | " + flag.help +
            " |\n";
  }
  return text;
}

}  // namespace coppice
