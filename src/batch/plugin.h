// Plugin: what stands behind a name in a tier. Made anew for every session.
//
// Open() is handed the session, reads what it needs, and puts itself into the slots of the roles
// that it wants to play; handlers of events are added to the session. Close() comes before statuses
// are written, in the order of the plug-ins' names.

#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/registry.h"
#include "base/status.h"
#include "batch/arguments.h"
#include "batch/options.h"
#include "batch/roles.h"
#include "fit/filter.h"

namespace coppice::batch {

class Session;

class Plugin {
 public:
  virtual ~Plugin() = default;
  // An error ends the session before anything was decided.
  virtual Status Open(Session& session, Slots& slots) = 0;
  virtual void Close(Session&) {}
};

// The name in the context of an extender that stands in the list `extenders`, beside the tiers.
inline constexpr std::string_view kListedExtender = "extenders";

struct PluginContext {
  std::string_view name;
  const Arguments& arguments;
  const Options& options;
  const fit::FilterRegistry& filters;
};

// An error: the arguments cannot be used. A configuration is not taken into use with one.
using PluginFactory = std::function<Result<std::unique_ptr<Plugin>>(const PluginContext& context)>;

// Under the name that volcano-scheduler.conf calls it by.
class PluginRegistry : public Registry<PluginFactory> {
 public:
  PluginRegistry() : Registry("batch plug-in") {}
};

// The factory of a plug-in that is made from its context, from its arguments, or from nothing.
template <class P>
PluginFactory FactoryOf() {
  return [](const PluginContext& context) -> Result<std::unique_ptr<Plugin>> {
    if constexpr (std::is_constructible_v<P, const PluginContext&>) {
      return std::unique_ptr<Plugin>(std::make_unique<P>(context));
    } else if constexpr (std::is_constructible_v<P, const Arguments&>) {
      return std::unique_ptr<Plugin>(std::make_unique<P>(context.arguments));
    } else {
      return std::unique_ptr<Plugin>(std::make_unique<P>());
    }
  };
}

}  // namespace coppice::batch
