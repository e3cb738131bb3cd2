#include "plugins/batch/nodegroup/limits.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace coppice::batch::nodegroup {
namespace {

constexpr std::string_view kLimitsKey = "volcano.sh/nodegroup-resource-limits";
using Json = nlohmann::json;

// What stands between quotes loses spaces around it, as where the API reads amounts.
std::optional<model::Quantity> ReadAmount(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto parsed = model::Quantity::Parse(text);
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

// {group: {name: amount}}. A number is taken as it is written, which a tree of values does not keep:
// 1e3, or more digits than a number has. false: that is not what stands here.
class LimitsJson final : public nlohmann::json_sax<Json> {
 public:
  std::map<std::string, model::ResourceList> groups;

  bool null() override {
    // Of an amount zero, of a group no limits, of everything nothing.
    if (depth_ == 2) groups[group_][name_] = model::Quantity();
    return true;
  }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t value) override { return Amount(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Amount(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Amount(text); }
  bool string(string_t& text) override { return Amount(text); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return ++depth_ <= 2; }
  bool key(string_t& text) override {
    (depth_ == 1 ? group_ : name_) = text;
    if (depth_ == 1) groups[group_].clear();  // of equal keys the last one counts
    return true;
  }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(size_t) override { return false; }
  bool end_array() override { return false; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool Amount(std::string_view text) {
    const auto amount = depth_ == 2 ? ReadAmount(text) : std::nullopt;
    if (amount) groups[group_][name_] = *amount;
    return amount.has_value();
  }

  int depth_ = 0;
  std::string group_;
  std::string name_;
};

}  // namespace

Limits Limits::Of(const model::Queue& queue) {
  const std::string* text = queue.metadata.annotations.Find(kLimitsKey);
  return text && !text->empty() ? Parse(*text) : Limits();
}

Limits Limits::Parse(const std::string& text) {
  Limits limits;
  LimitsJson json;
  limits.invalid_ = !Json::sax_parse(text, &json);
  if (limits.invalid_) return limits;
  for (const auto& [group, amounts] : json.groups) {
    Limit& limit = limits.groups_[group];
    for (const auto& [name, amount] : amounts) limit.names.push_back(name);
    limit.resource = Resource::From(amounts);
  }
  return limits;
}

bool Limits::Exceeded(const std::string& group, const Resource& used) const {
  const auto limit = groups_.find(group);
  if (limit == groups_.end()) return false;
  return std::ranges::any_of(limit->second.names, [&](const std::string& name) {
    const double have = used.Get(name);
    const double most = limit->second.resource.Get(name);
    return have > most && have - most >= kEpsilon;
  });
}

}  // namespace coppice::batch::nodegroup
