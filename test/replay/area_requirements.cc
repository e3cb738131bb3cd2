// requirements: the algebra of node pools, one requirement against another and set against set.

#include <algorithm>
#include <string>
#include <vector>

#include "base/strings.h"
#include "model/requirements.h"
#include "test/replay/karpenter.h"
#include "test/replay/replay.h"

namespace coppice::replay {
namespace {

void CompareAnswers(const Json& expect, const Json& ours, Report& report) {
  for (const auto& [key, value] : ours.items()) {
    if (expect.at(key) != value) report.Differs(key, expect.at(key).dump(), value.dump());
  }
}

void PairCase(const Json& c, Report& report) {
  const auto a = model::NodeRequirement::From(ReadRequirement(c.at("a")), RecordedLabels());
  const auto b = model::NodeRequirement::From(ReadRequirement(c.at("b")), RecordedLabels());
  const auto both = a.Intersection(b);
  Json has = Json::array();
  Json both_has = Json::array();
  for (const Json& value : c.at("probe")) {
    has.push_back(a.Has(value.get<std::string>()));
    both_has.push_back(both.Has(value.get<std::string>()));
  }
  Json serialized = Json::array();
  for (const model::RequirementSpec& spec : both.ToSpec()) {
    Json entry{{"key", spec.key}, {"operator", spec.operator_}};
    if (!spec.values.empty()) entry["values"] = spec.values;
    if (spec.min_values) entry["minValues"] = *spec.min_values;
    serialized.push_back(std::move(entry));
  }
  CompareAnswers(c.at("expect"),
                 {{"a", Canonical(a)},
                  {"b", Canonical(b)},
                  {"aText", a.ToString()},
                  {"intersection", Canonical(both)},
                  {"intersectionText", both.ToString()},
                  {"hasIntersection", a.HasIntersection(b)},
                  {"has", has},
                  {"intersectionHas", both_has},
                  {"serialized", serialized},
                  {"len", both.Length()}},
                 report);
}

// Any wording that was seen is right.
void CompareTexts(const Json& expect, const char* key, std::vector<std::string> ours,
                  Report& report) {
  std::ranges::sort(ours);
  const std::string text = Join(ours, "; ");
  const Json theirs = expect.value(key, Json::array());
  if (theirs.empty() ? !text.empty() : std::ranges::find(theirs, Json(text)) == theirs.end())
    report.Differs(key, theirs.dump(), text);
}

void SetCase(const Json& c, Report& report) {
  const auto offer = ReadRequirements(c, "setA");
  const auto demand = ReadRequirements(c, "setB");
  auto sum = offer;
  sum.Add(demand);
  const model::LabelRules& rules = RecordedLabels();
  const Json& expect = c.at("expect");
  CompareAnswers(expect,
                 {{"sum", Canonical(sum)},
                  {"text", sum.ToString(rules)},
                  {"intersects", offer.Intersects(demand)},
                  {"compatible", offer.Compatible(demand, nullptr)},
                  {"compatibleAllowWellKnown", offer.Compatible(demand, &rules)}},
                 report);
  CompareTexts(expect, "errors", offer.WhyNotCompatible(demand, nullptr), report);
  CompareTexts(expect, "errorsAllowWellKnown", offer.WhyNotCompatible(demand, &rules), report);
}

}  // namespace

void requirements(const Json& c, Report& report) {
  c.contains("a") ? PairCase(c, report) : SetCase(c, report);
}

}  // namespace coppice::replay
