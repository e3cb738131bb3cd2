// Expander: which of several ways to help is the best? Each narrows the options; they are chained.
//
// A pure function of the options and of what surrounds the decision. Called on the decision thread;
// one that has to ask somebody else (grpc) says so by Blocks(), and is then called on a worker
// while the decision thread serves others. One call at a time either way.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/registry.h"
#include "base/rng.h"
#include "base/status.h"
#include "cloud/node_groups.h"
#include "expand/option.h"

namespace coppice::expand {

// What an expander may look at beside the options. Everything outlives the call. The functions may
// be empty where there is nothing behind them.
struct Surroundings {
  size_t cluster_nodes = 0;
  // data[key] of a ConfigMap in the autoscaler's namespace. NotFound: no such map;
  // FailedPrecondition: it has no such key. Not for expanders that block: ConfigMaps are the
  // decision thread's.
  std::function<Result<std::string>(std::string_view config_map, std::string_view key)> config_map;
  // A warning event on that ConfigMap.
  std::function<void(std::string_view reason, std::string text)> warn;
  // Template of every group that has one, also of groups that are no option.
  std::vector<std::pair<std::string, const model::Node*>> templates;
  // A sentence about this step that the report shows, for example why all options were kept. The
  // chain sets it.
  std::function<void(std::string sentence)> note;
  // What was measured of an option, for the report: a number, and a clause that says what it is
  // ("wastes 12.5%"). The chain sets it.
  std::function<void(const Option& option, double value, std::string text)> measured = nullptr;
};

class Expander {
 public:
  virtual ~Expander() = default;

  // Some of `options`, in their order; empty means that none will do.
  virtual Options Narrow(const Options& options, const Surroundings& surroundings) = 0;

  // Always leaves exactly one: nothing may follow it in a chain.
  virtual bool PicksOne() const { return false; }
  virtual bool Blocks() const { return false; }
};

// What an expander is made from. References outlive it.
struct ExpanderContext {
  Clock& clock;
  Rng& rng;
  const Log& log;
  Metrics& metrics;
  cloud::NodeGroups* groups =
      nullptr;  // for prices; null where there is no cluster (coppice expander)
  // What only one expander understands, as text under the names of the flags that say it. Whoever
  // has options of its own reads them from here.
  std::map<std::string, std::string, std::less<>> settings = {};
};

using ExpanderFactory = std::function<Result<std::unique_ptr<Expander>>(const ExpanderContext&)>;
using ExpanderRegistry = Registry<ExpanderFactory>;

}  // namespace coppice::expand
