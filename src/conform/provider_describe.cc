// What a machine of a group will be, how the group is treated, and what it costs: the answers that
// have fields of two eras.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "conform/provider_probe.h"
#include "wire/wire.h"

namespace coppice::conform {
namespace {

using Template = pb::NodeGroupTemplateNodeInfoResponse;

Result<Template> AskTemplate(const ProviderProbe& probe, const std::string& group) {
  pb::NodeGroupTemplateNodeInfoRequest request;
  request.set_id(group);
  return probe.calls.Ask<Template>("NodeGroupTemplateNodeInfo", request);
}

const std::string& BytesOf(const Template& answer) {
  return answer.nodebytes().empty() ? answer.nodeinfo() : answer.nodebytes();
}

Outcome NoTemplates() { return NotApplicable("no group has a template"); }

// Asks each group that has a template.
Outcome ForTemplates(const ProviderProbe& probe,
                     const std::function<std::optional<std::string>(
                         const std::string& group, const Template& answer)>& judge) {
  bool any = false;
  for (const pb::NodeGroup& group : probe.groups) {
    const auto answer = AskTemplate(probe, group.id());
    if (!answer.ok() || BytesOf(*answer).empty()) continue;
    any = true;
    if (auto wrong = judge(group.id(), *answer)) return Failed(*wrong);
  }
  return any ? Passed() : NoTemplates();
}

constexpr int64_t kMinute = 60;
constexpr int64_t kNanos = 1'000'000'000;

// The durations of one question or answer, in seconds, by era; -1 where there is none.
struct Durations {
  std::array<int64_t, 3> old = {-1, -1, -1};  // unneeded, unready, provision
  std::array<int64_t, 3> now = {-1, -1, -1};
};
constexpr std::array<const char*, 3> kDurationNames = {"scaleDownUnneeded", "scaleDownUnready",
                                                       "MaxNodeProvision"};

Durations DurationsOf(const pb::NodeGroupAutoscalingOptions& options) {
  Durations found;
  if (options.has_scaledownunneededtime())
    found.old[0] = options.scaledownunneededtime().duration() / kNanos;
  if (options.has_scaledownunreadytime())
    found.old[1] = options.scaledownunreadytime().duration() / kNanos;
  if (options.has_maxnodeprovisiontime())
    found.old[2] = options.maxnodeprovisiontime().duration() / kNanos;
  if (options.has_scaledownunneededduration())
    found.now[0] = options.scaledownunneededduration().seconds();
  if (options.has_scaledownunreadyduration())
    found.now[1] = options.scaledownunreadyduration().seconds();
  if (options.has_maxnodeprovisionduration())
    found.now[2] = options.maxnodeprovisionduration().seconds();
  return found;
}

enum class Era { kOld, kNew, kBoth };
constexpr std::string_view kEraNames[] = {"1.34 and before", "1.35 and later", "1.34.2 to 1.34.5"};

// Defaults as an autoscaler of that era sends them. `set` chooses among two sets of values.
pb::NodeGroupAutoscalingOptions Defaults(Era era, int set) {
  pb::NodeGroupAutoscalingOptions defaults;
  defaults.set_scaledownutilizationthreshold(set == 0 ? 0.51 : 0.31);
  defaults.set_scaledowngpuutilizationthreshold(set == 0 ? 0.52 : 0.32);
  const std::array<int64_t, 3> seconds = set == 0
                                             ? std::array{11 * kMinute, 22 * kMinute, 16 * kMinute}
                                             : std::array{7 * kMinute, 13 * kMinute, 17 * kMinute};
  if (era != Era::kNew) {
    defaults.mutable_scaledownunneededtime()->set_duration(seconds[0] * kNanos);
    defaults.mutable_scaledownunreadytime()->set_duration(seconds[1] * kNanos);
    defaults.mutable_maxnodeprovisiontime()->set_duration(seconds[2] * kNanos);
  }
  if (era != Era::kOld) {
    defaults.mutable_scaledownunneededduration()->set_seconds(seconds[0]);
    defaults.mutable_scaledownunreadyduration()->set_seconds(seconds[1]);
    defaults.mutable_maxnodeprovisionduration()->set_seconds(seconds[2]);
  }
  return defaults;
}

Result<pb::NodeGroupAutoscalingOptionsResponse> AskOptions(const ProviderProbe& probe,
                                                           const std::string& group, Era era,
                                                           int set) {
  pb::NodeGroupAutoscalingOptionsRequest request;
  request.set_id(group);
  *request.mutable_defaults() = Defaults(era, set);
  return probe.calls.Ask<pb::NodeGroupAutoscalingOptionsResponse>("NodeGroupGetOptions", request);
}

std::optional<std::string> Missing(const std::string& group, Era era,
                                   const pb::NodeGroupAutoscalingOptions& options) {
  const Durations found = DurationsOf(options);
  for (size_t i = 0; i < kDurationNames.size(); ++i) {
    const bool lacks =
        (era != Era::kNew && found.old[i] <= 0) || (era != Era::kOld && found.now[i] <= 0);
    if (lacks) {
      return fmt::format(
          "group '{}' answers an autoscaler of {} without the duration {}; it "
          "counts as 0 there, or crashes it",
          group, kEraNames[static_cast<size_t>(era)], kDurationNames[i]);
    }
  }
  if (options.scaledownutilizationthreshold() == 0 &&
      options.scaledowngpuutilizationthreshold() == 0) {
    return fmt::format(
        "group '{}' answers both thresholds with 0: copy the request's defaults "
        "first",
        group);
  }
  return std::nullopt;
}

// One price in either form of the question, or why not.
template <class Request, class Answer>
Outcome SamePrice(const ProviderProbe& probe, const char* method,
                  const std::array<Request, 2>& questions) {
  std::array<double, 2> prices{};
  for (size_t i = 0; i < 2; ++i) {
    const auto answer = probe.calls.Ask<Answer>(method, questions[i]);
    if (answer.code() == Code::kUnimplemented && i == 0) {
      return NotApplicable(std::string(method) + " is Unimplemented, as it may be");
    }
    if (!answer.ok()) {
      return Failed(
          fmt::format("asked as {} does: {}", kEraNames[1 - i], answer.status().ToString()));
    }
    prices[i] = answer->price();
    if (!std::isfinite(prices[i]) || prices[i] < 0) {
      return Failed(fmt::format("a price of {}", prices[i]));
    }
  }
  if (prices[0] != prices[1]) {
    return Failed(fmt::format("{} with the fields of {}, {} with those of {}", prices[0],
                              kEraNames[1], prices[1], kEraNames[0]));
  }
  return Passed(fmt::format("{} an hour", prices[0]));
}

template <class Request>
void SetTimes(Request& request, Era era, TimePoint now) {
  const int64_t start =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const auto from =
      era == Era::kNew ? request.mutable_starttimestamp() : request.mutable_starttime();
  const auto to = era == Era::kNew ? request.mutable_endtimestamp() : request.mutable_endtime();
  from->set_seconds(start);
  to->set_seconds(start + 60 * kMinute);
}

}  // namespace

Outcome TemplateThere(ProviderProbe& probe) {
  size_t unimplemented = 0;
  for (const pb::NodeGroup& group : probe.groups) {
    const auto answer = AskTemplate(probe, group.id());
    if (answer.code() == Code::kUnimplemented) {
      ++unimplemented;
    } else if (!answer.ok()) {
      return Failed("group '" + group.id() + "': " + answer.status().ToString());
    } else if (BytesOf(*answer).empty()) {
      return Failed("group '" + group.id() +
                    "' is answered with OK and no node, which crashes Cluster Autoscaler when the "
                    "group has no node; answer Unimplemented");
    }
  }
  if (probe.groups.empty()) return NotApplicable("no group is listed");
  if (unimplemented == 0) return Passed();
  return NotApplicable(fmt::format("Unimplemented for {} of {} groups: these cannot grow from zero",
                                   unimplemented, probe.groups.size()));
}

Outcome TemplateBothEras(ProviderProbe& probe) {
  return ForTemplates(
      probe, [](const std::string& group, const Template& answer) -> std::optional<std::string> {
        if (answer.nodeinfo() == answer.nodebytes()) return std::nullopt;
        if (answer.nodeinfo().empty()) {
          return "group '" + group +
                 "' fills nodeBytes alone: Cluster Autoscaler 1.25 to 1.34.1 finds no node there";
        }
        if (answer.nodebytes().empty()) {
          return "group '" + group +
                 "' fills nodeInfo alone: Cluster Autoscaler from 1.35 on finds no node there";
        }
        return "group '" + group + "' has one node in nodeInfo and another in nodeBytes";
      });
}

Outcome TemplateReads(ProviderProbe& probe) {
  return ForTemplates(
      probe, [&](const std::string& group, const Template& answer) -> std::optional<std::string> {
        auto node = wire::FromProto<model::Node>(BytesOf(answer));
        if (!node.ok()) return "group '" + group + "': " + node.status().message();
        probe.templates.emplace(group, *std::move(node));
        return std::nullopt;
      });
}

Outcome TemplateResources(ProviderProbe& probe) {
  for (const auto& [group, node] : probe.templates) {
    for (const char* resource : {"cpu", "memory", "pods"}) {
      const auto* allocatable = node.status.allocatable.Find(resource);
      if (allocatable == nullptr || allocatable->Sign() <= 0) {
        return Failed(fmt::format("the template of '{}' has no allocatable {}: no pod fits it",
                                  group, resource));
      }
      const auto* capacity = node.status.capacity.Find(resource);
      if (capacity == nullptr || allocatable->Compare(*capacity) > 0) {
        return Failed(fmt::format("the template of '{}' has more allocatable {} than capacity",
                                  group, resource));
      }
    }
  }
  return probe.templates.empty() ? NoTemplates() : Passed();
}

Outcome TemplateLabels(ProviderProbe& probe) {
  for (const auto& [group, node] : probe.templates) {
    for (const char* label : {"kubernetes.io/os", "kubernetes.io/arch",
                              "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"}) {
      if (!node.metadata.labels.contains(label)) {
        return Failed(
            fmt::format("the template of '{}' lacks the label {}: a pod that selects by "
                        "it never gets a node, for nobody fills it in",
                        group, label));
      }
    }
  }
  return probe.templates.empty() ? NoTemplates() : Passed();
}

Outcome OptionsComplete(ProviderProbe& probe) {
  size_t filled = 0;
  for (const pb::NodeGroup& group : probe.groups) {
    for (const Era era : {Era::kOld, Era::kNew, Era::kBoth}) {
      const auto answer = AskOptions(probe, group.id(), era, 0);
      if (answer.code() == Code::kUnimplemented) continue;
      if (!answer.ok()) {
        return Failed("group '" + group.id() + "': " + answer.status().ToString() +
                      "; its nodes cannot be removed then");
      }
      if (!answer->has_nodegroupautoscalingoptions()) continue;
      ++filled;
      if (auto lacks = Missing(group.id(), era, answer->nodegroupautoscalingoptions())) {
        return Failed(*lacks);
      }
    }
  }
  return filled == 0 ? NotApplicable("no group has options of its own") : Passed();
}

Outcome OptionsErasAgree(ProviderProbe& probe) {
  bool both = false;
  for (const pb::NodeGroup& group : probe.groups) {
    const auto answer = AskOptions(probe, group.id(), Era::kBoth, 0);
    if (!answer.ok() || !answer->has_nodegroupautoscalingoptions()) continue;
    const Durations found = DurationsOf(answer->nodegroupautoscalingoptions());
    for (size_t i = 0; i < kDurationNames.size(); ++i) {
      if (found.old[i] < 0 || found.now[i] < 0) continue;
      both = true;
      if (found.old[i] != found.now[i]) {
        return Failed(fmt::format("group '{}' has {} {} s in the old field and {} s in the new one",
                                  group.id(), kDurationNames[i], found.old[i], found.now[i]));
      }
    }
  }
  return both ? Passed() : NotApplicable("no answer fills the fields of both eras");
}

Outcome OptionsFollowDefaults(ProviderProbe& probe) {
  bool any = false;
  for (const pb::NodeGroup& group : probe.groups) {
    std::array<std::array<double, 5>, 2> got{};
    std::array<std::array<double, 5>, 2> sent{};
    bool there = true;
    for (int set = 0; set < 2 && there; ++set) {
      const auto answer = AskOptions(probe, group.id(), Era::kBoth, set);
      there = answer.ok() && answer->has_nodegroupautoscalingoptions();
      if (!there) break;
      const auto values = [](const pb::NodeGroupAutoscalingOptions& options) {
        const Durations found = DurationsOf(options);
        std::array<double, 5> all{options.scaledownutilizationthreshold(),
                                  options.scaledowngpuutilizationthreshold()};
        for (size_t i = 0; i < 3; ++i) {
          all[2 + i] = static_cast<double>(found.now[i] >= 0 ? found.now[i] : found.old[i]);
        }
        return all;
      };
      got[static_cast<size_t>(set)] = values(answer->nodegroupautoscalingoptions());
      sent[static_cast<size_t>(set)] = values(Defaults(Era::kBoth, set));
    }
    if (!there) continue;
    any = true;
    constexpr const char* kNames[] = {"scaleDownUtilizationThreshold",
                                      "scaleDownGpuUtilizationThreshold", kDurationNames[0],
                                      kDurationNames[1], kDurationNames[2]};
    for (size_t i = 0; i < std::size(kNames); ++i) {
      const bool own = got[0][i] == got[1][i];
      const bool passed_on = got[0][i] == sent[0][i] && got[1][i] == sent[1][i];
      if (!own && !passed_on) {
        return Failed(
            fmt::format("group '{}': {} is {} where the default is {}, and {} where it "
                        "is {}: neither the default nor a value of its own",
                        group.id(), kNames[i], got[0][i], sent[0][i], got[1][i], sent[1][i]));
      }
    }
  }
  return any ? Passed() : NotApplicable("no group has options of its own");
}

Outcome GpuLabel(ProviderProbe& probe) {
  const auto answer = probe.calls.Ask<pb::GPULabelResponse>("GPULabel", pb::GPULabelRequest());
  if (answer.ok()) return Passed();
  return Failed(answer.status().ToString() +
                "; Cluster Autoscaler asks again for every node as long as this fails");
}

Outcome GpuTypes(ProviderProbe& probe) {
  const auto answer = probe.calls.Ask<pb::GetAvailableGPUTypesResponse>(
      "GetAvailableGPUTypes", pb::GetAvailableGPUTypesRequest());
  return answer.ok() ? Passed() : Failed(answer.status().ToString());
}

Outcome NodePrice(ProviderProbe& probe) {
  if (probe.templates.empty()) return NoTemplates();
  const auto& [group, node] = *probe.templates.begin();
  std::array<pb::PricingNodePriceRequest, 2> questions;
  for (size_t i = 0; i < 2; ++i) {
    pb::ExternalGrpcNode& asked = *questions[i].mutable_node();
    asked.set_name("template-node-for-" + group);
    for (const auto& [key, value] : node.metadata.labels) (*asked.mutable_labels())[key] = value;
    SetTimes(questions[i], i == 0 ? Era::kNew : Era::kOld, probe.calls.clock().Now());
  }
  return SamePrice<pb::PricingNodePriceRequest, pb::PricingNodePriceResponse>(
      probe, "PricingNodePrice", questions);
}

Outcome PodPrice(ProviderProbe& probe) {
  model::Pod pod;
  pod.metadata.name = "conform";
  pod.metadata.namespace_ = "default";
  const std::string bytes = wire::ToProto(pod);
  std::array<pb::PricingPodPriceRequest, 2> questions;
  questions[0].set_pod_bytes(bytes);
  questions[1].set_pod(bytes);
  SetTimes(questions[0], Era::kNew, probe.calls.clock().Now());
  SetTimes(questions[1], Era::kOld, probe.calls.clock().Now());
  return SamePrice<pb::PricingPodPriceRequest, pb::PricingPodPriceResponse>(
      probe, "PricingPodPrice", questions);
}

}  // namespace coppice::conform
