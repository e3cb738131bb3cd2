// quantity: parsing, rounding and printing of resource.Quantity. Where upstream refuses, the text
// of its error is Go's own; that we refuse is what counts.

#include <cstdint>
#include <string>

#include "model/quantity.h"
#include "test/replay/replay.h"

namespace coppice::replay {

void quantity(const Json& c, Report& report) {
  const Json& expect = c.at("expect");
  const auto parsed = model::Quantity::Parse(c.at("s").get<std::string>());
  if (expect.contains("error") || !parsed.ok()) {
    if (expect.contains("error") != !parsed.ok()) {
      report.Differs("parse", expect.dump(),
                     parsed.ok() ? parsed->ToString() : parsed.status().ToString());
    }
    return;
  }
  const Json ours{
      {"value", parsed->Value()},         {"milliValue", parsed->MilliValue()},
      {"canonical", parsed->Canonical()}, {"string", parsed->ToString()},
      {"sign", parsed->Sign()},           {"format", model::ToString(parsed->format())}};
  for (const auto& [key, value] : ours.items()) {
    if (expect.at(key) != value) {
      report.Differs(c.at("s").get<std::string>() + ": " + key, expect.at(key).dump(),
                     value.dump());
    }
  }
}

}  // namespace coppice::replay
