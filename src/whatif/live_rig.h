// Of tests: the answer to a live what-if as JSON, held against the API's description.

#pragma once

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "test/support/api_schema.h"
#include "whatif/live.h"

namespace coppice::whatif {

inline nlohmann::json CheckedJson(const LiveAnswer& answer) {
  std::ifstream file("src/web/assets/openapi.yaml");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  nlohmann::json json = nlohmann::json::parse(AsJson(answer), nullptr, false);
  const test::ApiSchema schema(text);
  EXPECT_EQ(schema.Complaint(json, "Difference"), "") << json.dump(1);
  return json;
}

}  // namespace coppice::whatif
