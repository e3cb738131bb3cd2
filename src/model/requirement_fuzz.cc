// Any two requirements: the algebra keeps its laws, and what it writes reads back.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "model/requirements.h"

using coppice::model::LabelRules;
using coppice::model::NodeRequirement;
using coppice::model::NodeRequirements;
using coppice::model::RequirementSpec;

namespace {

constexpr const char* kFuzzedOperators[] = {"In", "NotIn", "Exists", "DoesNotExist",
                                            "Gt", "Lt",    "Gte",    "Lte"};

// The first byte is the operator, the rest are values, commas between them.
NodeRequirement ReadFuzzed(const std::string& text) {
  RequirementSpec spec{.key = "key"};
  const auto first = static_cast<unsigned char>(text.empty() ? 0 : text.front());
  spec.operator_ = kFuzzedOperators[first % 8];
  if (text.size() > 1) spec.values = coppice::Split(text.substr(1), ',');
  return NodeRequirement::From(spec, LabelRules::Default());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t middle = text.find('|');
  const NodeRequirement a = ReadFuzzed(text.substr(0, middle));
  const NodeRequirement b = ReadFuzzed(middle == text.npos ? "" : text.substr(middle + 1));
  const NodeRequirement both = a.Intersection(b);
  CHECK(both == b.Intersection(a));
  CHECK(a.HasIntersection(b) == b.HasIntersection(a));
  CHECK(both.Intersection(a) == both);
  for (const auto* one : {&a, &b}) {
    for (const std::string& value : one->values())
      CHECK(both.Has(value) == (a.Has(value) && b.Has(value)));
  }
  NodeRequirements read;
  for (const RequirementSpec& spec : both.ToSpec())
    read.Add(NodeRequirement::From(spec, LabelRules::Default()));
  CHECK(read.Get("key").gte() == both.gte() && read.Get("key").lte() == both.lte());
  (void)both.ToString();
  return 0;
}
