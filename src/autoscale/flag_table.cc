#include "autoscale/flag_table.h"

#include <algorithm>

#include "base/go_duration.h"
#include "base/strings.h"

namespace coppice::autoscale {

namespace {

// What Go's strconv.ParseBool takes.
Result<bool> Bool(std::string_view text) {
  for (const char* yes : {"true", "True", "TRUE", "t", "T", "1"})
    if (text == yes) return true;
  for (const char* no : {"false", "False", "FALSE", "f", "F", "0"})
    if (text == no) return false;
  return BadFlagValue(text, "true or false");
}

Status CheckType(std::string_view type, std::string_view text) {
  if (type == "bool") return Bool(text).status();
  if (type == "int") return FlagNumber<int64_t>(text, "a number").status();
  if (type == "float") return FlagNumber<double>(text, "a number").status();
  if (type == "duration") return ParseGoDuration(text).status();
  return Status::Ok();
}

}  // namespace

Status BadFlagValue(std::string_view value, std::string_view wanted) {
  return InvalidArgument("'" + std::string(value) + "' is not " + std::string(wanted));
}

void FlagTable::AddBool(std::string name, Member<bool> member, std::string help) {
  FlagValues defaults;
  Add(std::move(name), "bool", member(defaults) ? "true" : "false", std::move(help),
      [member](FlagValues& v, std::string_view text) -> Status {
        member(v) = TRY(Bool(text));
        return Status::Ok();
      });
}

void FlagTable::AddDuration(std::string name, Member<Duration> member, std::string help) {
  FlagValues defaults;
  Add(std::move(name), "duration", FormatGoDuration(member(defaults)), std::move(help),
      [member](FlagValues& v, std::string_view text) -> Status {
        member(v) = TRY(ParseGoDuration(text));
        return Status::Ok();
      });
}

void FlagTable::AddDuration(std::string name, Duration cloud::ScalingOptions::* member,
                            std::string help) {
  AddDuration(
      std::move(name),
      [member](FlagValues& v) -> Duration& { return v.options.group_defaults.*member; },
      std::move(help) + " A group may override it.");
}

void FlagTable::AddString(std::string name, Member<std::string> member, std::string help) {
  FlagValues defaults;
  Add(std::move(name), "string", member(defaults), std::move(help),
      [member](FlagValues& v, std::string_view text) {
        member(v) = std::string(text);
        return Status::Ok();
      });
}

void FlagTable::AddRepeated(std::string name, Member<std::vector<std::string>> member,
                            std::string help) {
  Add(std::move(name), "list", "", std::move(help) + " May be given several times.",
      [member](FlagValues& v, std::string_view text) {
        member(v).emplace_back(text);
        return Status::Ok();
      });
}

void FlagTable::AddList(std::string name, Member<std::vector<std::string>> member,
                        std::string help) {
  FlagValues defaults;
  Add(std::move(name), "list", Join(member(defaults), ","), std::move(help),
      [member](FlagValues& v, std::string_view text) {
        member(v) = text.empty() ? std::vector<std::string>{} : Split(text, ',');
        return Status::Ok();
      });
}

void FlagTable::AddLists(std::string name, Member<std::vector<std::string>> member,
                         std::string help) {
  Add(std::move(name), "list", "",
      std::move(help) + " Comma separated; may be given several times.",
      [member](FlagValues& v, std::string_view text) {
        if (text.empty()) return Status::Ok();
        for (std::string& part : Split(text, ',')) member(v).push_back(std::move(part));
        return Status::Ok();
      });
}

void FlagTable::Refuse(std::string name, std::string default_text, std::string instead) {
  const bool is_bool = default_text == "true" || default_text == "false";
  std::string help = "Not supported: " + instead + ".";
  Add(std::move(name), is_bool ? "bool" : "string", default_text, std::move(help),
      [default_text, instead, is_bool](FlagValues&, std::string_view text) -> Status {
        const bool same =
            is_bool ? TRY(Bool(text)) == (default_text == "true") : text == default_text;
        if (same) return Status::Ok();
        return Unimplemented("is not supported here: " + instead);
      });
}

void FlagTable::Accept(std::string name, std::string type, std::string default_text,
                       std::string why, bool note) {
  const std::string flag = "--" + name;
  Add(std::move(name), type, default_text, "No effect: " + why + ".",
      [flag, type, default_text, why, note](FlagValues& v, std::string_view text) -> Status {
        TRY(CheckType(type, text));
        if (note && text != default_text)
          v.notes.push_back(flag + "=" + std::string(text) + " has no effect: " + why);
        return Status::Ok();
      });
}

void FlagTable::Alias(std::string name, std::string of) {
  const auto original = std::ranges::find(flags_, of, &Flag::name);
  Flag flag = *original;
  flag.name = std::move(name);
  flag.alias_of = of;
  flag.help = "Another name of --" + of + ".";
  flag.group = group_;
  flags_.push_back(std::move(flag));
}

void FlagTable::Add(std::string name, std::string type, std::string default_text, std::string help,
                    std::function<Status(FlagValues&, std::string_view)> set) {
  const bool is_bool = type == "bool";
  flags_.push_back({std::move(name), group_, std::move(type), std::move(default_text),
                    std::move(help), is_bool, "", std::move(set)});
}

}  // namespace coppice::autoscale
