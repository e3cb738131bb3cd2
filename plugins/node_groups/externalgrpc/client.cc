// Reads: what the picture says, and what has to be asked when it is first wanted.

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
      budget_(kReadBudget.count()),
      picture_(std::make_shared<const Picture>(Picture{.options_defaults = parts_.group_defaults})),
      wanted_defaults_(parts_.group_defaults),
      workers_(static_cast<size_t>(parts_.config.max_concurrent_calls), 10'000) {}

Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::Open(const cloud::NodeGroupsContext& context) {
  CloudConfig config = TRY(ReadCloudConfig(context.cloud_config, context.log));
  grpc::ChannelOptions channel{.address = config.address,
                               .server_name = config.server_name,
                               .max_message_bytes = config.max_message_bytes,
                               .max_send_bytes = config.max_message_bytes};
  if (config.tls()) {
    const grpc::TlsFiles files{
        .cert_file = config.cert,
        .key_file = config.key,
        .ca_file = config.cacert,
        .parts = config.cert.empty() ? grpc::TlsParts::kTrust : grpc::TlsParts::kMutual};
    channel.certificates =
        TRY(grpc::CertificateStore::Open(files, context.log).Context(context.cloud_config));
  } else {
    context.log.Warning("calls to the provider are not encrypted", {{"address", config.address}});
  }
  const auto connection = std::make_shared<grpc::Channel>(std::move(channel), context.clock);
  const auto call = [connection](const std::string& path, std::string_view request,
                                 Deadline deadline) {
    return connection->Call(path, request, deadline);
  };
  return std::make_unique<Client>(
      Parts{.config = std::move(config),
            .transport = call,
            .clock = context.clock,
            .log = context.log,
            .metrics = context.metrics,
            .name = context.name.empty() ? "externalgrpc" : context.name,
            .group_defaults = context.group_defaults});
}

Deadline Client::ReadDeadline(Deadline within) const {
  return Deadline::In(parts_.clock, parts_.config.grpc_timeout).Earlier(within);
}

std::shared_ptr<const Picture> Client::Read() {
  auto picture = picture_.Load();
  if (picture->attempted) return picture;
  (void)Refresh(Deadline::In(parts_.clock, kReadBudget));  // what failed is in the picture
  return picture_.Load();
}

Result<GroupPtr> Client::Find(std::string_view group) {
  const auto picture = Read();
  GroupPtr view = picture->Find(group);
  if (view != nullptr) return view;
  if (!picture->read && !picture->failure.ok()) return picture->failure;
  return NotFound("no node group '" + std::string(group) + "' at provider '" + parts_.name + "'");
}

std::vector<cloud::GroupInfo> Client::Groups() {
  std::vector<cloud::GroupInfo> all;
  const auto picture = Read();
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

std::string Client::GpuLabel() { return Read()->gpu_label.value.value_or(""); }

std::vector<std::string> Client::GpuTypes() {
  return Read()->gpu_types.value.value_or(std::vector<std::string>());
}

// As upstream has it for this protocol: then a node that we mean to delete counts as gone. That a
// list shows its machine, or does not show it yet, says less.
Result<bool> Client::HasInstance(const cloud::NodeRef&) {
  return Unimplemented("the protocol has no question for whether a machine exists");
}

// ---- Questions between Refreshes --------------------------------------------------------------

Moment Client::MomentOf(const Picture& picture, Duration ttl) const {
  Moment moment{.generation = generation_, .now = Now(), .ttl = ttl};
  if (!picture.failure.ok()) {
    moment.may_ask =
        Unavailable("provider '" + parts_.name + "' has failed: " + picture.failure.message());
  } else if (budget_ <= 0) {
    moment.may_ask = Unavailable("provider '" + parts_.name +
                                 "' has kept reads waiting too long; asked in the next refresh");
  }
  return moment;
}

Deadline Client::SpendingDeadline() const {
  return ReadDeadline(Deadline::In(parts_.clock, Duration(std::max<int64_t>(budget_, 0))));
}

void Client::Spend(TimePoint since) { budget_ -= (Now() - since).count(); }

Result<std::optional<std::string>> Client::GroupOf(const cloud::NodeRef& node) {
  const auto picture = Read();
  if (!node.provider_id.empty()) {
    const GroupPtr view = picture->FindByMachine(node.provider_id);
    if (view != nullptr) return std::optional(view->info.id);
  }
  // The lists are then all there is to go by.
  if (remote_.Lacks(Method::kNodeGroupForNode)) return std::optional<std::string>();
  const auto remote_id = groups_of_nodes_.Get(
      node.provider_id + "\n" + node.name, [&] { return NodeRequest(node); },
      MomentOf(*picture, Duration::zero()),
      [&](const std::string& request) {
        const TimePoint start = Now();
        auto answer = AskGroupOf(request, SpendingDeadline());
        Spend(start);
        return answer;
      });
  if (!remote_id.ok()) {
    if (remote_id.code() == Code::kUnimplemented) return std::optional<std::string>();
    return remote_id.status();
  }
  // A group that is not listed cannot be scaled, so its nodes are nobody's.
  const GroupPtr view = remote_id->empty() ? nullptr : picture->FindRemote(*remote_id);
  return view == nullptr ? std::optional<std::string>() : std::optional(view->info.id);
}

Result<std::optional<cloud::ScalingOptions>> Client::Options(
    std::string_view group, const cloud::ScalingOptions& defaults) {
  GroupPtr view = TRY(Find(group));
  if (picture_.Load()->options_defaults != defaults) {
    AskAllOptions(defaults);
    const auto picture = picture_.Load();
    view = TRY(Find(group));
    if (picture->options_defaults != defaults) {
      return Unavailable("the options of group '" + std::string(group) +
                         "' with these defaults are asked in the next refresh");
    }
  }
  if (view->options.failure.code() == Code::kUnimplemented) return MaybeOptions();
  return view->options.Get();
}

// Whoever asks for one group asks for all of them next: so the first question with new defaults is
// put for every group, at once instead of one by one. Afterwards it is a look-up again.
void Client::AskAllOptions(const cloud::ScalingOptions& defaults) {
  {
    const std::lock_guard lock(wanted_mutex_);
    wanted_defaults_ = defaults;
  }
  const std::lock_guard one_at_a_time(options_mutex_);
  const auto picture = picture_.Load();
  if (picture->options_defaults == defaults) return;  // somebody else has just done it
  if (!MomentOf(*picture, Duration::zero()).may_ask.ok()) return;
  const TimePoint start = Now();
  const Deadline deadline = SpendingDeadline();
  std::vector<Attempt<MaybeOptions>> attempts(picture->groups.size());
  Pieces pieces;
  for (size_t i = 0; i < attempts.size(); ++i) {
    pieces.push_back([this, &attempts, &picture, &defaults, deadline, i] {
      attempts[i] = AskOptions(picture->groups[i]->remote_id, defaults, deadline);
    });
  }
  Sweep(workers_, static_cast<size_t>(parts_.config.max_concurrent_calls), std::move(pieces));
  Spend(start);

  const std::lock_guard lock(publish_mutex_);
  auto next = std::make_shared<Picture>(*picture_.Load());
  for (GroupPtr& group : next->groups) {
    auto view = std::make_shared<GroupView>(*group);
    view->options = {};
    for (size_t i = 0; i < attempts.size(); ++i) {
      if (picture->groups[i]->remote_id == view->remote_id) view->options.Take(attempts[i]);
    }
    group = std::move(view);
  }
  next->options_defaults = defaults;
  ++next->version;
  picture_.Store(std::move(next));
}

Result<double> Client::AskPrice(Asked<std::string, double>& prices, Method method,
                                const std::string& key,
                                const std::function<std::string()>& request) {
  const auto picture = Read();
  const Duration ttl = std::max<Duration>(parts_.config.describe_ttl, std::chrono::minutes(1));
  return prices.Get(key, request, MomentOf(*picture, ttl), [&](const std::string& question) {
    const TimePoint start = Now();
    const auto answer = remote_.Call(method, question, SpendingDeadline());
    Spend(start);
    return answer.ok() ? ReadPrice(*answer).Context(NameOf(method))
                       : Result<double>(answer.status());
  });
}

Result<double> Client::NodePrice(const cloud::NodeRef& node,
                                 const std::map<std::string, std::string>& labels, TimePoint start,
                                 TimePoint end) {
  return AskPrice(node_prices_, Method::kPricingNodePrice, NodeKey(node, labels, end - start),
                  [&] { return NodePriceRequest(node, labels, start, end); });
}

Result<double> Client::PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) {
  return AskPrice(pod_prices_, Method::kPricingPodPrice, PodKey(pod, end - start),
                  [&] { return PodPriceRequest(pod, start, end); });
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

}  // namespace coppice::node_groups::externalgrpc
