// selector: label selectors from text and from objects, their canonical form and what they match.
// Of upstream's complaints only the fact is recorded.

#include <optional>
#include <string>

#include "model/selector.h"
#include "test/replay/replay.h"

namespace coppice::replay {
namespace {

// An absent list or map, and a null one, are empty.
std::optional<model::LabelSelector> ReadSelector(const Json& json) {
  if (json.is_null()) return std::nullopt;
  model::LabelSelector selector;
  const Json labels = json.value("matchLabels", Json::object());  // outlives items()
  for (const auto& [key, value] : labels.items()) selector.match_labels[key] = value;
  for (const Json& item : json.value("matchExpressions", Json::array())) {
    selector.match_expressions.push_back(
        {.key = item.value("key", ""),
         .operator_ = item.value("operator", ""),
         .values = item.value("values", std::vector<std::string>())});
  }
  return selector;
}

}  // namespace

void selector(const Json& c, Report& report) {
  const Json& expect = c.at("expect");
  const auto compiled = c.contains("string")
                            ? model::Selector::Parse(c.at("string").get<std::string>())
                            : model::Selector::From(ReadSelector(c.at("selector")));
  if (expect.contains("error") || !compiled.ok()) {
    if (expect.contains("error") != !compiled.ok()) {
      report.Differs("compile", expect.dump(),
                     compiled.ok() ? compiled->Canonical() : compiled.status().ToString());
    }
    return;
  }
  Json matches = Json::array();
  for (const Json& set : c.at("labels")) {
    model::Labels labels;
    for (const auto& [key, value] : set.items()) labels[key] = value;
    matches.push_back(compiled->Matches(labels));
  }
  const Json ours{
      {"canonical", compiled->Canonical()}, {"empty", compiled->empty()}, {"matches", matches}};
  for (const auto& [key, value] : ours.items()) {
    if (expect.at(key) != value) report.Differs(key, expect.at(key).dump(), value.dump());
  }
}

}  // namespace coppice::replay
