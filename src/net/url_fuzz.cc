// What parses, prints as something that parses to the same; a target never leaves "/".
#include "net/url.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice::net;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto url = ParseUrl(text); url.ok()) {
    const auto again = ParseUrl(url->ToString());
    CHECK(again.ok() && *again == *url);
  }
  if (const auto target = ParseTarget(text); target.ok()) {
    const std::string& path = target->path;
    CHECK(path.starts_with('/'));
    CHECK(("/" + path + "/").find("/../") == std::string::npos);
    const auto again = ParseQuery(FormatQuery(target->query));
    CHECK(again.ok());
    // Items with neither name nor value print as "=", so nothing is lost.
    CHECK(*again == target->query);
  }
  if (const auto address = ParseHostPort(text); address.ok()) {
    const auto again = ParseHostPort(ToString(*address));
    CHECK(again.ok() && again->host == address->host && again->port == address->port);
  }
  CHECK(*PercentDecode(PercentEncode(text)) == text);
  return 0;
}
