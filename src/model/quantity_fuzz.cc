// Any text: refused, or a quantity that prints as something that reads back as the same amount, as
// far as its suffixes reach, and whose arithmetic holds together.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/quantity.h"

using coppice::model::Quantity;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = Quantity::Parse(text);
  if (!parsed.ok()) return 0;
  const Quantity& quantity = *parsed;
  (void)quantity.Value();
  (void)quantity.MilliValue();
  // Upstream has no suffix above E and then prints another amount.
  const auto beyond_suffixes = Quantity::Parse("1000E");
  Quantity magnitude = quantity;
  if (magnitude.Sign() < 0) {
    magnitude = Quantity();
    magnitude.Sub(quantity);
  }
  if (magnitude.Compare(*beyond_suffixes) < 0) {
    const auto again = Quantity::Parse(quantity.Canonical());
    CHECK(again.ok() && *again == quantity);
  }
  const auto same = Quantity::Parse(quantity.ToString());
  CHECK(same.ok());
  Quantity sum = quantity;
  sum.Add(quantity);
  sum.Sub(quantity);
  CHECK(sum == quantity);
  sum.Sub(quantity);
  CHECK(sum.IsZero());
  return 0;
}
