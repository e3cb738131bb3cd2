// Picture: a moment of the cluster as the dashboard and the API show it: JSON fragments by section
// and name. Two pictures make a delta, a picture and deltas make another picture; the page, the
// event stream and the history all speak this one shape:
//
//   {"seq":7,"at":1767592800,"total":{...},"rows":{NAME:{...}},"nodes":{...},"pending":{...},
//    "queues":{...},"gone":{"nodes":[NAME,...]}}
//
// Values; pure functions.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "report/pass_report.h"
#include "report/provision_report.h"
#include "web/seen.h"

namespace coppice::web {

// Rows are groups and pools; queues and claims are there for the engines that have them.
enum class Section { kRows, kNodes, kPending, kQueues };
inline constexpr std::array<std::string_view, 4> kSectionNames = {"rows", "nodes", "pending",
                                                                  "queues"};

struct Picture {
  std::string total;  // JSON of what there is one of
  std::array<std::map<std::string, std::string, std::less<>>, kSectionNames.size()> sections;

  std::map<std::string, std::string, std::less<>>& of(Section section) {
    return sections[static_cast<size_t>(section)];
  }
  const std::map<std::string, std::string, std::less<>>& of(Section section) const {
    return sections[static_cast<size_t>(section)];
  }
  friend bool operator==(const Picture&, const Picture&) = default;
};

struct Delta {
  Picture set;  // total empty: as it was
  std::array<std::vector<std::string>, kSectionNames.size()> gone;
  bool empty() const;
};
Delta Difference(const Picture& from, const Picture& to);
void Apply(const Delta& delta, Picture& to);

// One line each. The whole is a delta from nothing.
std::string ToJson(const Delta& delta, uint64_t seq, TimePoint at);
std::string ToJson(const Picture& picture, uint64_t seq, TimePoint at);

// Numbers of the moment, for the timeline.
struct Sample {
  TimePoint at;
  int32_t nodes = 0;
  int32_t coming = 0;   // booting, starting, imagined
  int32_t leaving = 0;  // draining
  int32_t unneeded = 0;
  int32_t running = 0;  // pods
  int32_t pending = 0;
  float cost = 0;  // per hour
  float cpu = 0;   // requested of all that can be had, 0 to 1
  float memory = 0;
};

// What an engine had to say last about a pod that still waits.
struct Told {
  enum class Kind { kBought, kFits, kAwaits, kUnserved, kUnhelped };  // the best first
  Kind kind = Kind::kBought;
  // Of node groups.
  std::shared_ptr<const report::PassReport> report = nullptr;  // keeps alive what is pointed to
  const report::ScaleUp* round = nullptr;
  const report::Unhelped* unhelped = nullptr;
  std::string node = {};  // of kFits
  // Of node pools.
  std::shared_ptr<const report::ProvisionReport> pools = nullptr;
  const report::PlannedMachine* machine = nullptr;
  const report::UnplacedPod* unplaced = nullptr;

  TimePoint at() const { return report ? report->at : pools->at; }
};
std::string_view WordOf(Told::Kind kind);

// Several engines may look at one pod; it is helped if one of them helps it.
struct ToldBy {
  std::optional<Told> groups;
  std::optional<Told> pools;
  std::string gang = {};      // that it waits with
  std::string gang_why = {};  // and why that waits
  const Told* best() const;   // null: neither
};
using ToldPods = std::map<std::string, ToldBy, std::less<>>;  // by namespace/name

// What the last passes said. Null: none has ended.
struct LastPasses {
  const report::PassReport* groups = nullptr;
  const report::ProvisionReport* pools = nullptr;
};
Picture Draw(const Seen& seen, const LastPasses& last, const ToldPods& told, Sample& sample);

int64_t Unix(TimePoint at);  // seconds

}  // namespace coppice::web
