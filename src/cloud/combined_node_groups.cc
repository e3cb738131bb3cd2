// Reads and changes: to whom a question goes. Refresh is in combined_refresh.cc.

#include "cloud/combined_node_groups.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/go_duration.h"
#include "base/strings.h"
#include "cloud/combined_routes.h"

namespace coppice::cloud {

namespace {

// As the engine names the node that it makes of a group's template.
constexpr std::string_view kTemplateName = "template-node-for-";

}  // namespace

Result<std::unique_ptr<CombinedNodeGroups>> CombinedNodeGroups::Create(std::vector<Member> members,
                                                                       const Context& context) {
  if (members.empty()) return InvalidArgument("no provider is named");
  std::set<std::string_view> names;
  for (const Member& member : members) {
    if (!names.insert(member.name).second) {
      return InvalidArgument("two providers are called '" + member.name +
                             "'; give each a name of its own");
    }
  }
  return std::unique_ptr<CombinedNodeGroups>(new CombinedNodeGroups(std::move(members), context));
}

CombinedNodeGroups::CombinedNodeGroups(std::vector<Member> members, const Context& context)
    : context_(context),
      routes_(std::make_shared<const Routes>()),
      workers_(members.size(), members.size()) {
  for (Member& member : members) {
    auto provider = std::make_unique<Provider>();
    provider->name = std::move(member.name);
    provider->groups = std::move(member.groups);
    providers_.push_back(std::move(provider));
  }
}

CombinedNodeGroups::~CombinedNodeGroups() = default;

std::vector<ProviderHealth> CombinedNodeGroups::Health() const {
  const auto routes = routes_.Load();
  std::vector<ProviderHealth> all;
  const MutexLock lock(mutex_);
  for (const auto& provider : providers_) {
    all.push_back({.provider = provider->name,
                   .failure = provider->failure,
                   .answered = provider->answered,
                   .groups = static_cast<size_t>(std::ranges::count_if(
                       routes->by_group,
                       [&](const auto& entry) { return entry.second == provider.get(); }))});
  }
  return all;
}

uint64_t CombinedNodeGroups::Version() const {
  uint64_t sum = routes_.Load()->version;
  for (const auto& provider : providers_) {
    const uint64_t version = provider->groups->Version();
    if (version == 0) return 0;
    sum += version;
  }
  return sum;
}

Result<CombinedNodeGroups::Provider*> CombinedNodeGroups::Route(std::string_view group) const {
  const auto routes = routes_.Load();
  const auto it = routes->by_group.find(group);
  if (it != routes->by_group.end()) return it->second;
  return NotFound("no node group '" + std::string(group) + "' at any provider");
}

Result<CombinedNodeGroups::Provider*> CombinedNodeGroups::RouteChange(
    std::string_view group) const {
  Provider* provider = TRY(Route(group));
  const MutexLock lock(mutex_);
  if (provider->failure.ok()) return provider;
  std::string since = "it has never answered";
  if (provider->answered) {
    const auto age =
        std::chrono::round<std::chrono::seconds>(context_.clock.Now() - *provider->answered);
    since = "it last answered " + FormatGoDuration(age) + " ago";
  }
  return Unavailable("group '" + std::string(group) + "' is not changed, provider '" +
                     provider->name + "' is broken (" + since +
                     "): " + provider->failure.message());
}

std::vector<GroupInfo> CombinedNodeGroups::Groups() { return routes_.Load()->groups; }

Result<int> CombinedNodeGroups::TargetSize(std::string_view group) {
  Provider* provider = TRY(Route(group));
  auto size = provider->groups->TargetSize(group);
  if (size.ok()) return size;
  const auto routes = routes_.Load();
  const KeptGroup* kept = routes->Kept(group);
  return kept == nullptr ? size : kept->target;
}

Result<std::vector<Instance>> CombinedNodeGroups::Instances(std::string_view group) {
  Provider* provider = TRY(Route(group));
  auto list = provider->groups->Instances(group);
  if (list.ok()) return list;
  const auto routes = routes_.Load();
  const KeptGroup* kept = routes->Kept(group);
  return kept == nullptr ? list : kept->instances;
}

Result<std::shared_ptr<const model::Node>> CombinedNodeGroups::Template(std::string_view group) {
  Provider* provider = TRY(Route(group));
  return provider->groups->Template(group);
}

Result<std::optional<ScalingOptions>> CombinedNodeGroups::Options(std::string_view group,
                                                                  const ScalingOptions& defaults) {
  Provider* provider = TRY(Route(group));
  return provider->groups->Options(group, defaults);
}

Result<std::optional<std::string>> CombinedNodeGroups::GroupOf(const NodeRef& node) {
  const auto routes = routes_.Load();
  // What a provider says counts only for groups that are in use, and in use as its own.
  const auto theirs = [&](const Provider* provider, const std::optional<std::string>& group) {
    if (!group) return false;
    const auto it = routes->by_group.find(*group);
    return it != routes->by_group.end() && it->second == provider;
  };
  if (const Routes::Machine* listed = routes->FindMachine(node.provider_id)) {
    auto group = listed->provider->groups->GroupOf(node);
    if (!group.ok()) return std::optional(listed->group->info.id);
    if (theirs(listed->provider, *group)) return group;
  }
  Status failure;
  for (const auto& provider : providers_) {
    auto group = provider->groups->GroupOf(node);
    if (group.ok() && theirs(provider.get(), *group)) return group;
    if (!group.ok()) failure = group.status().Context("provider '" + provider->name + "'");
  }
  if (!failure.ok()) return failure;
  return std::optional<std::string>();
}

Result<bool> CombinedNodeGroups::HasInstance(const NodeRef& node) {
  const auto routes = routes_.Load();
  if (const Routes::Machine* listed = routes->FindMachine(node.provider_id)) {
    return listed->provider->groups->HasInstance(node);
  }
  Status failure;
  for (const auto& provider : providers_) {
    const auto has = provider->groups->HasInstance(node);
    if (has.ok() && *has) return true;
    if (!has.ok()) failure = has.status();
  }
  if (!failure.ok()) return failure;
  return false;
}

// Each is told of all: whose a node is that none lists, one of them knows.
void CombinedNodeGroups::TellNodes(const EachNode& nodes) {
  for (const auto& provider : providers_) provider->groups->TellNodes(nodes);
}

bool CombinedNodeGroups::OrdersMayOverlap(std::string_view group) {
  const auto provider = RouteChange(group);
  return provider.ok() && (*provider)->groups->OrdersMayOverlap(group);
}

Status CombinedNodeGroups::Increase(std::string_view group, int delta, Deadline deadline) {
  Provider* provider = TRY(RouteChange(group));
  return provider->groups->Increase(group, delta, deadline);
}

Status CombinedNodeGroups::IncreaseAtomically(std::string_view group, int delta,
                                              Deadline deadline) {
  Provider* provider = TRY(RouteChange(group));
  return provider->groups->IncreaseAtomically(group, delta, deadline);
}

Status CombinedNodeGroups::Delete(std::string_view group, const std::vector<NodeRef>& nodes,
                                  Deadline deadline) {
  Provider* provider = TRY(RouteChange(group));
  return provider->groups->Delete(group, nodes, deadline);
}

Status CombinedNodeGroups::DecreaseTarget(std::string_view group, int delta, Deadline deadline) {
  Provider* provider = TRY(RouteChange(group));
  return provider->groups->DecreaseTarget(group, delta, deadline);
}

Status CombinedNodeGroups::Cleanup() {
  std::vector<std::string> problems;
  Code code = Code::kOk;
  for (const auto& provider : providers_) {
    const Status status = provider->groups->Cleanup();
    if (status.ok()) continue;
    code = status.code();
    problems.push_back("provider '" + provider->name + "': " + status.message());
  }
  return problems.empty() ? Status::Ok() : Status(code, Join(problems, "; "));
}

std::string CombinedNodeGroups::GpuLabel() {
  for (const auto& provider : providers_) {
    std::string label = provider->groups->GpuLabel();
    if (!label.empty()) return label;
  }
  return "";
}

std::vector<std::string> CombinedNodeGroups::GpuTypes() {
  std::set<std::string> all;
  for (const auto& provider : providers_) {
    for (std::string& type : provider->groups->GpuTypes()) all.insert(std::move(type));
  }
  return {all.begin(), all.end()};
}

CombinedNodeGroups::Provider* CombinedNodeGroups::PriceRoute(const Routes& routes,
                                                             const NodeRef& node) {
  if (const Routes::Machine* listed = routes.FindMachine(node.provider_id)) return listed->provider;
  if (!node.name.starts_with(kTemplateName)) return nullptr;
  const std::string_view rest = std::string_view(node.name).substr(kTemplateName.size());
  Provider* owner = nullptr;
  size_t longest = 0;  // "web" and "web-large" are both at the beginning of "web-large-x7"
  for (const auto& [group, provider] : routes.by_group) {
    const bool fits =
        rest.starts_with(group) && (rest.size() == group.size() || rest[group.size()] == '-');
    if (!fits || group.size() < longest) continue;
    owner = provider;
    longest = group.size();
  }
  return owner;
}

// One after the other, each within its share of what is left: who is slow takes nothing from the
// next one.
void CombinedNodeGroups::LearnPrices(const PriceQuestions& questions, Deadline deadline) {
  const auto routes = routes_.Load();
  size_t still = providers_.size();
  for (const auto& provider : providers_) {
    PriceQuestions theirs{.pods = questions.pods, .start = questions.start, .end = questions.end};
    std::ranges::copy_if(questions.nodes, std::back_inserter(theirs.nodes), [&](const auto& of) {
      const Provider* route = PriceRoute(*routes, of.node);
      return route == nullptr || route == provider.get();
    });
    const Deadline share = deadline.at == TimePoint::max()
                               ? deadline
                               : Deadline::In(context_.clock, deadline.Left(context_.clock) /
                                                                  static_cast<int64_t>(still));
    provider->groups->LearnPrices(theirs, share);
    --still;
  }
}

Result<double> CombinedNodeGroups::NodePrice(const NodeRef& node,
                                             const std::map<std::string, std::string>& labels,
                                             TimePoint start, TimePoint end) {
  const auto routes = routes_.Load();
  if (const Provider* owner = PriceRoute(*routes, node)) {
    return owner->groups->NodePrice(node, labels, start, end);
  }
  Status failure = Unimplemented("no price is known");
  for (const auto& provider : providers_) {
    const auto price = provider->groups->NodePrice(node, labels, start, end);
    if (price.ok()) return price;
    if (price.code() != Code::kUnimplemented) {
      failure = price.status().Context("provider '" + provider->name + "'");
    }
  }
  return failure;
}

Result<double> CombinedNodeGroups::PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) {
  std::optional<double> lowest;
  Status failure = Unimplemented("no price is known");
  for (const auto& provider : providers_) {
    const auto price = provider->groups->PodPrice(pod, start, end);
    if (price.ok()) {
      lowest = std::min(lowest.value_or(*price), *price);
    } else if (price.code() != Code::kUnimplemented) {
      failure = price.status().Context("provider '" + provider->name + "'");
    }
  }
  if (lowest) return *lowest;
  return failure;
}

}  // namespace coppice::cloud
