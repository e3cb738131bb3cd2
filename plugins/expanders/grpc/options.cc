#include "plugins/expanders/grpc/options.h"

#include "base/go_duration.h"

namespace coppice::expanders::grpc {

Result<Options> OptionsFrom(const std::map<std::string, std::string, std::less<>>& settings) {
  const auto said = [&](std::string_view name) {
    const auto it = settings.find(name);
    return it == settings.end() ? std::string() : it->second;
  };
  Options options{.url = said("grpc-expander-url"), .cert = said("grpc-expander-cert")};
  if (const std::string timeout = said("grpc-expander-timeout"); !timeout.empty()) {
    options.timeout = TRY(ParseGoDuration(timeout).Context("grpc-expander-timeout"));
    if (options.timeout <= Duration::zero())
      return InvalidArgument("grpc-expander-timeout: " + timeout + " is no time to answer in");
  }
  const std::string legacy = said("grpc-expander-legacy-fields");
  if (!legacy.empty() && legacy != "true" && legacy != "false") {
    return InvalidArgument("grpc-expander-legacy-fields: '" + legacy +
                           "' is neither true nor false");
  }
  options.legacy_fields = legacy == "true";
  return options;
}

}  // namespace coppice::expanders::grpc
