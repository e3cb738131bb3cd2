// What this expander alone wants to know.

#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::expanders::grpc {

struct Options {
  std::string url;                             // --grpc-expander-url
  std::string cert;                            // --grpc-expander-cert: path of a PEM bundle
  Duration timeout = std::chrono::seconds(5);  // grpc-expander-timeout
  bool legacy_fields = false;  // --grpc-expander-legacy-fields: for servers of before 1.34.2
};

// From the settings of an ExpanderContext.
Result<Options> OptionsFrom(const std::map<std::string, std::string, std::less<>>& settings);

}  // namespace coppice::expanders::grpc
