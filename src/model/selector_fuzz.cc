// Any text: refused, or a selector whose canonical text reads back as the same selector.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/selector.h"

using coppice::model::Labels;
using coppice::model::Selector;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = Selector::Parse({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) return 0;
  const auto again = Selector::Parse(parsed->Canonical());
  CHECK(again.ok() && *again == *parsed);
  const Labels labels{{"app", "web"}, {"x", "1"}};
  CHECK(parsed->Matches(labels) == again->Matches(labels));
  return 0;
}
