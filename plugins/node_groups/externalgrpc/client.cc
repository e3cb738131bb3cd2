// Reads: what the picture says. The questions themselves; prices.

#include "plugins/node_groups/externalgrpc/client.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "grpc/channel.h"
#include "grpc/credentials.h"
#include "plugins/node_groups/externalgrpc/sweep.h"
#include "wire/wire.h"

namespace coppice::node_groups::externalgrpc {
namespace {

// Everything of a pod that a price can depend on. Names differ from copy to copy of one workload;
// with them in the key each of 50,000 pods would be a call.
std::string PodKey(const model::Pod& pod, Duration period) {
  model::Pod bare;
  bare.metadata.namespace_ = pod.metadata.namespace_;
  bare.metadata.labels = pod.metadata.labels;
  bare.metadata.annotations = pod.metadata.annotations;
  bare.spec = pod.spec;
  return wire::ToProto(bare) + "/" + std::to_string(period.count());
}

// Likewise: templates are named anew in every pass.
std::string NodeKey(const cloud::NodeRef& node, const std::map<std::string, std::string>& labels,
                    Duration period) {
  std::string key = node.provider_id + "\n" + std::to_string(period.count());
  for (const auto& [name, value] : labels) {
    if (name != "kubernetes.io/hostname") key += "\n" + name + "=" + value;
  }
  return key;
}

}  // namespace

Client::Client(Parts parts)
    : parts_(std::move(parts)),
      remote_(parts_.transport, parts_.clock, parts_.metrics, parts_.name),
      config_(std::make_shared<const CloudConfig>(parts_.config)),
      picture_(std::make_shared<const Picture>(Picture{.options_defaults = parts_.group_defaults})),
      wanted_defaults_(parts_.group_defaults),
      workers_(static_cast<size_t>(config()->max_concurrent_calls), 10'000) {}

Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::Open(const cloud::NodeGroupsContext& context) {
  const std::shared_ptr<Link> link =
      TRY(Link::Open(context.cloud_config, context.clock, context.log));
  const auto call = [link](const std::string& path, std::string_view request, Deadline deadline) {
    return link->Call(path, request, deadline);
  };
  return std::make_unique<Client>(
      Parts{.config = link->config(),
            .transport = call,
            .look = [link] { return link->Look(); },
            .clock = context.clock,
            .log = context.log,
            .metrics = context.metrics,
            .name = context.name.empty() ? "externalgrpc" : context.name,
            .group_defaults = context.group_defaults});
}

Deadline Client::ReadDeadline(Deadline within) const {
  return Deadline::In(parts_.clock, config()->grpc_timeout).Earlier(within);
}

void Client::Sweep(Pieces pieces) {
  externalgrpc::Sweep(workers_, static_cast<size_t>(config()->max_concurrent_calls),
                      std::move(pieces));
}

Result<GroupPtr> Client::Find(std::string_view group) const {
  return FindIn(*picture_.Load(), group);
}

Result<GroupPtr> Client::FindIn(const Picture& picture, std::string_view group) const {
  GroupPtr view = picture.Find(group);
  if (view != nullptr) return view;
  if (!picture.attempted) {
    return Unavailable("provider '" + parts_.name + "' has not been asked yet; refresh first");
  }
  if (!picture.read && !picture.failure.ok()) return picture.failure;
  return NotFound("no node group '" + std::string(group) + "' at provider '" + parts_.name + "'");
}

std::vector<cloud::GroupInfo> Client::Groups() {
  std::vector<cloud::GroupInfo> all;
  const auto picture = picture_.Load();
  for (const GroupPtr& group : picture->groups) {
    if (!group->complete()) continue;
    all.push_back(group->info);
    if (group->stale()) all.back().debug += " (stale)";
  }
  return all;
}

Result<int> Client::TargetSize(std::string_view group) { return TRY(Find(group))->target.Get(); }

Result<std::vector<cloud::Instance>> Client::Instances(std::string_view group) {
  return *TRY(TRY(Find(group))->instances.Get());
}

Result<std::shared_ptr<const model::Node>> Client::Template(std::string_view group) {
  return TRY(TRY(Find(group))->node_template.Get()).node;
}

std::string Client::GpuLabel() { return picture_.Load()->gpu_label.value.value_or(""); }

std::vector<std::string> Client::GpuTypes() {
  return picture_.Load()->gpu_types.value.value_or(std::vector<std::string>());
}

// As upstream has it for this protocol: then a node that we mean to delete counts as gone. That a
// list shows its machine, or does not show it yet, says less.
Result<bool> Client::HasInstance(const cloud::NodeRef&) {
  return Unimplemented("the protocol has no question for whether a machine exists");
}

// ---- What nobody could know ahead -------------------------------------------------------------

std::optional<Result<std::string>> Client::Want(const cloud::NodeRef& node) {
  const std::string_view version =
      node.node == nullptr ? std::string_view() : node.node->metadata.resource_version;
  return groups_of_nodes_.Want(node.provider_id + "\n" + node.name, version, generation_,
                               [&] { return NodeRequest(node); });
}

void Client::TellNodes(const cloud::EachNode& nodes) {
  if (remote_.Lacks(Method::kNodeGroupForNode)) return;
  const auto picture = picture_.Load();
  nodes([&](const cloud::NodeRef& node) {
    if (picture->FindByMachine(node.provider_id) == nullptr) (void)Want(node);
  });
}

Result<std::optional<std::string>> Client::GroupOf(const cloud::NodeRef& node) {
  const auto picture = picture_.Load();
  if (!node.provider_id.empty()) {
    const GroupPtr view = picture->FindByMachine(node.provider_id);
    if (view != nullptr) return std::optional(view->info.id);
  }
  // The lists are then all there is to go by.
  if (remote_.Lacks(Method::kNodeGroupForNode)) return std::optional<std::string>();
  const auto answer = Want(node);
  if (answer) return Named(*picture, *answer);
  // It is time to ask again whether the method is there now; until then it is not.
  if (remote_.Lacked(Method::kNodeGroupForNode)) return std::optional<std::string>();
  return Unavailable("provider '" + parts_.name + "' has not been asked about node '" + node.name +
                     "' yet: the next refresh asks");
}

Result<std::optional<std::string>> Client::Named(const Picture& picture,
                                                 const Result<std::string>& remote_id) const {
  if (!remote_id.ok()) {
    if (remote_id.code() == Code::kUnimplemented) return std::optional<std::string>();
    return remote_id.status();
  }
  // A group that is not listed cannot be scaled, so its nodes are nobody's.
  const GroupPtr view = remote_id->empty() ? nullptr : picture.FindRemote(*remote_id);
  return view == nullptr ? std::optional<std::string>() : std::optional(view->info.id);
}

// For changes, which may wait: what no Refresh has asked is asked now.
Result<std::optional<std::string>> Client::AskOwner(const cloud::NodeRef& node, Deadline deadline) {
  auto known = GroupOf(node);
  if (known.ok()) return known;
  const auto answer = AskGroupOf(NodeRequest(node), ReadDeadline(deadline));
  groups_of_nodes_.Put(node.provider_id + "\n" + node.name, answer, generation_, Now());
  return Named(*picture_.Load(), answer);
}

Result<std::optional<cloud::ScalingOptions>> Client::Options(
    std::string_view group, const cloud::ScalingOptions& defaults) {
  const auto picture = picture_.Load();
  const GroupPtr view = TRY(FindIn(*picture, group));
  if (picture->options_defaults != defaults) {
    const std::lock_guard lock(wanted_mutex_);
    wanted_defaults_ = defaults;
    return Unavailable("the options of group '" + std::string(group) +
                       "' with these defaults are asked in the next refresh");
  }
  if (view->options.failure.code() == Code::kUnimplemented) return MaybeOptions();
  return view->options.Get();
}

// ---- Prices -----------------------------------------------------------------------------------

void Client::LearnPrices(const cloud::PriceQuestions& questions, Deadline deadline) {
  if (!picture_.Load()->failure.ok()) return;  // away: what was learned before has to do
  const Duration period = questions.end - questions.start;
  std::vector<Question> of_nodes;
  for (const auto& [node, labels] : questions.nodes) {
    of_nodes.push_back({NodeKey(node, labels, period),
                        NodePriceRequest(node, labels, questions.start, questions.end)});
  }
  AskPrices(node_prices_, Method::kPricingNodePrice, std::move(of_nodes), deadline);
  std::vector<Question> of_pods;
  for (const model::Pod* pod : questions.pods) {
    of_pods.push_back(
        {PodKey(*pod, period), PodPriceRequest(*pod, questions.start, questions.end)});
  }
  AskPrices(pod_prices_, Method::kPricingPodPrice, std::move(of_pods), deadline);
}

// Each distinct one that is not known once, many at a time.
void Client::AskPrices(Asked<double>& prices, Method method, std::vector<Question> questions,
                       Deadline deadline) {
  if (remote_.Lacks(method)) return;
  const Moment moment{.generation = generation_,
                      .now = Now(),
                      .ttl = std::max<Duration>(config()->describe_ttl, std::chrono::minutes(1))};
  std::set<std::string_view> seen;
  Pieces pieces;
  for (const Question& question : questions) {
    if (!seen.insert(question.key).second || prices.Fresh(question.key, moment)) continue;
    pieces.push_back([this, &prices, &question, &moment, method, deadline] {
      if (deadline.Passed(parts_.clock) || remote_.Lacks(method)) return;
      const auto answer = remote_.Call(method, question.request, ReadDeadline(deadline));
      prices.Put(question.key,
                 answer.ok() ? ReadPrice(*answer).Context(NameOf(method))
                             : Result<double>(answer.status()),
                 moment.generation, moment.now);
    });
  }
  prices.MakeRoom(pieces.size());
  Sweep(std::move(pieces));
}

Result<double> Client::PriceOf(const Asked<double>& prices, Method method,
                               const std::string& key) const {
  const auto answer = prices.Find(key);
  if (answer) return *answer;
  if (remote_.Lacks(method)) return Unimplemented("the provider has no prices");
  return Unavailable("provider '" + parts_.name + "' has not been asked for this price");
}

Result<double> Client::NodePrice(const cloud::NodeRef& node,
                                 const std::map<std::string, std::string>& labels, TimePoint start,
                                 TimePoint end) {
  return PriceOf(node_prices_, Method::kPricingNodePrice, NodeKey(node, labels, end - start));
}

Result<double> Client::PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) {
  return PriceOf(pod_prices_, Method::kPricingPodPrice, PodKey(pod, end - start));
}

// ---- One question each ------------------------------------------------------------------------

Attempt<int> Client::AskTarget(const std::string& remote_id, Deadline deadline) {
  Attempt<int> attempt{.ticket = NextTicket(), .at = Now()};
  const auto answer = remote_.Call(Method::kTargetSize, IdRequest(remote_id), deadline);
  attempt.result = answer.ok() ? ReadTargetSize(*answer).Context(NameOf(Method::kTargetSize))
                               : Result<int>(answer.status());
  return attempt;
}

Attempt<externalgrpc::Instances> Client::AskInstances(const std::string& remote_id,
                                                      Deadline deadline) {
  Attempt<externalgrpc::Instances> attempt{.ticket = NextTicket(), .at = Now()};
  const auto ask = [&]() -> Result<externalgrpc::Instances> {
    const std::string bytes = TRY(remote_.Call(Method::kNodes, IdRequest(remote_id), deadline));
    Oddities oddities;
    auto list = TRY(ReadInstances(bytes, oddities).Context(NameOf(Method::kNodes)));
    NoteOddities(remote_id, oddities);
    return std::make_shared<const std::vector<cloud::Instance>>(std::move(list));
  };
  attempt.result = ask();
  return attempt;
}

Attempt<NodeTemplate> Client::AskTemplate(const GroupView* before, const std::string& remote_id,
                                          Deadline deadline) {
  Attempt<NodeTemplate> attempt{.ticket = NextTicket(), .at = Now()};
  const auto ask = [&]() -> Result<NodeTemplate> {
    const std::string answer =
        TRY(remote_.Call(Method::kTemplateNodeInfo, IdRequest(remote_id), deadline));
    std::string bytes = TRY(ReadTemplateBytes(answer).Context(NameOf(Method::kTemplateNodeInfo)));
    if (before != nullptr && before->node_template.known() &&
        *before->node_template.value->bytes == bytes) {
      return *before->node_template.value;
    }
    Oddities oddities;
    auto node = TRY(ReadTemplate(bytes, oddities).Context(NameOf(Method::kTemplateNodeInfo)));
    NoteOddities(remote_id, oddities);
    return NodeTemplate{.bytes = std::make_shared<const std::string>(std::move(bytes)),
                        .node = std::make_shared<const model::Node>(std::move(node))};
  };
  attempt.result = ask();
  return attempt;
}

Result<std::string> Client::AskGroupOf(const std::string& request, Deadline deadline) {
  const std::string bytes = TRY(remote_.Call(Method::kNodeGroupForNode, request, deadline));
  return ReadGroupOfNode(bytes).Context(NameOf(Method::kNodeGroupForNode));
}

Attempt<Client::MaybeOptions> Client::AskOptions(const std::string& remote_id,
                                                 const cloud::ScalingOptions& defaults,
                                                 Deadline deadline) {
  Attempt<MaybeOptions> attempt{.ticket = NextTicket(), .at = Now()};
  const auto answer =
      remote_.Call(Method::kGetOptions, OptionsRequest(remote_id, defaults), deadline);
  attempt.result = answer.ok() ? ReadOptions(*answer, defaults).Context(NameOf(Method::kGetOptions))
                               : Result<MaybeOptions>(answer.status());
  return attempt;
}

// A provider that is odd is so in every Refresh: each oddity is said once.
void Client::NoteOddities(const std::string& group, const Oddities& oddities) {
  if (oddities.empty()) return;
  const std::lock_guard lock(oddities_mutex_);
  for (const std::string& oddity : oddities) {
    if (oddities_.size() >= 1'000 || !oddities_.insert(group + "\n" + oddity).second) continue;
    parts_.log.Warning("the provider gave an odd answer",
                       {{"provider", parts_.name}, {"group", group}, {"oddity", oddity}});
  }
}

void Client::Show(const Picture& picture) {
  const MetricLabels labels{{"provider", parts_.name}};
  const auto set = [&](const char* name, const char* help, double value) {
    parts_.metrics.GetGauge(std::string("coppice_externalgrpc_") + name, help, labels).Set(value);
  };
  const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
  TimePoint oldest = Now();
  for (const GroupPtr& group : picture.groups) {
    if (group->complete()) oldest = std::min(oldest, group->oldest());
  }
  set("up", "Whether the last refresh of the provider ended well.", picture.failure.ok() ? 1 : 0);
  set("groups", "Node groups in use.", static_cast<double>(picture.by_name.size()));
  set("stale_groups", "Node groups whose last good answers are kept because newer ones failed.",
      static_cast<double>(picture.stale_groups()));
  set("oldest_answer_seconds", "Age of the oldest answer in use, at the last refresh.",
      seconds(Now() - oldest));
  if (picture.read) {
    set("last_good_refresh_timestamp_seconds", "When the last good refresh began.",
        seconds(picture.read_at.time_since_epoch()));
  }
  ShowCertificate();
}

void Client::ShowCertificate() {
  const auto config = this->config();
  const std::string& file = config->cert.empty() ? config->cacert : config->cert;
  if (file.empty()) return;
  expiry_.LookAtFile(file);
}

}  // namespace coppice::node_groups::externalgrpc
