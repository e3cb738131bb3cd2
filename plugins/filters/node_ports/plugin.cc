// NodePorts: two pods cannot have the same port of the same host.
//
// 0.0.0.0 is every address; "::" is an ordinary one, as kube-scheduler has it.

#include <algorithm>
#include <string_view>

#include "fit/filter.h"

namespace coppice::filters::node_ports {
namespace {

constexpr std::string_view kName = "NodePorts";
constexpr std::string_view kEveryAddress = "0.0.0.0";

using Ports = std::vector<cluster::HostPort>;

bool Clash(const cluster::HostPort& a, const cluster::HostPort& b) {
  return a.port == b.port && a.protocol == b.protocol &&
         (a.ip == b.ip || a.ip == kEveryAddress || b.ip == kEveryAddress);
}

bool Clash(const Ports& a, const Ports& b) {
  return std::ranges::any_of(a, [&](const auto& x) {
    return std::ranges::any_of(b, [&](const auto& y) { return Clash(x, y); });
  });
}

class FreePorts final : public fit::NodeCheck {
 public:
  FreePorts(const Ports& wanted, const cluster::Snapshot& snapshot, model::Verdict refusal)
      : wanted_(wanted), snapshot_(snapshot), refusal_(std::move(refusal)) {}

  model::Verdict Check(cluster::NodeIndex node) const override {
    const auto clashes = [&](cluster::PodIndex pod) {
      return Clash(wanted_, snapshot_.pod(pod).spec.host_ports);
    };
    return std::ranges::any_of(snapshot_.pods_with_ports_on(node), clashes) ? refusal_
                                                                            : model::Verdict::Yes();
  }
  bool OwnNodeOnly() const override { return true; }

 private:
  const Ports& wanted_;
  const cluster::Snapshot& snapshot_;
  model::Verdict refusal_;
};

class NodePorts final : public fit::StateFilter {
 public:
  fit::Preparation Prepare(const cluster::PodView& pod,
                           const cluster::Snapshot& snapshot) const override {
    if (pod.spec.host_ports.empty()) return fit::Preparation::Skip().ForSpec();
    return fit::Preparation::Ask(
               std::make_unique<FreePorts>(pod.spec.host_ports, snapshot, refusal_))
        .ForSpec();
  }

 private:
  const model::Verdict refusal_ =
      model::Verdict::No(kName, model::VerdictCode::kUnschedulable,
                         "node(s) didn't have free ports for the requested pod ports");
};

}  // namespace

void Register(fit::FilterRegistry& registry) { registry.Add(kName, fit::FactoryOf<NodePorts>()); }

}  // namespace coppice::filters::node_ports
