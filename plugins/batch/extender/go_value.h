// One JSON value as Go's decoder sees it: the first of a text, whatever follows; members in order,
// equal names kept, because of several the last one counts.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace coppice::batch::extender {

struct GoMember;

struct GoValue {
  enum class Kind : uint8_t { kNull, kBool, kNumber, kText, kArray, kObject };
  Kind kind = Kind::kNull;
  bool flag = false;
  std::string text;  // of a text; of a number as it is written
  std::vector<GoValue> items;
  std::vector<GoMember> members;
  std::string_view raw;  // as it stands in the text that was read
};

struct GoMember {
  std::string name;
  GoValue value;
};

// kInvalidArgument: not JSON, or the text ends too early. The value refers to `text`.
Result<GoValue> ReadGoValue(std::string_view text);

// Whether a member goes into a field of that name: upper and lower case are the same.
bool GoesInto(std::string_view member, std::string_view field);

}  // namespace coppice::batch::extender
