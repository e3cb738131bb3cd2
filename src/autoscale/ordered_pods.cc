#include "autoscale/ordered_pods.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "model/resources.h"

namespace coppice::autoscale {

void LargerFirst(Pods& pods, const std::deque<StandIn>& coming, const cluster::Snapshot& snapshot) {
  double cpu_millis = 0;
  double memory_bytes = 0;
  for (const StandIn& stand_in : coming) {
    const model::ResourceList& room = stand_in.node.node.status.allocatable;
    if (const model::Quantity* cpu = room.Find(model::kCpu))
      cpu_millis += static_cast<double>(cpu->MilliValue());
    if (const model::Quantity* memory = room.Find(model::kMemory))
      memory_bytes += static_cast<double>(memory->Value());
  }
  if (cpu_millis <= 0 || memory_bytes <= 0) return;
  std::ranges::stable_sort(pods, std::greater<>(), [&](const fit::PendingPod& pod) {
    const auto& takes = snapshot.interner().spec(snapshot.spec_id(pod.index)).placed;
    return static_cast<double>(takes.cpu_millis) / cpu_millis +
           static_cast<double>(takes.memory_bytes) / memory_bytes;
  });
}

void OrderedPods::Bought(const report::ScaleUp& done) {
  auto order = std::make_shared<Order>(Order{.number = ++last_number_});
  for (const report::GroupResize& resize : done.resizes) order->groups.insert(resize.group);
  for (const auto& pod : done.triggered) bought_for_[pod->metadata.uid] = order;
}

// One attempt after the other at the same pods.
class OrderedPods::FirstFit {
 public:
  using Waiting = std::vector<std::pair<const Order*, size_t>>;  // and its place among the pods

  FirstFit(const Pods& pods, fit::Search& search)
      : placed(pods.size(), 0), pods_(pods), search_(search) {}

  // By order; 0: of all of them.
  void AddRooms(uint64_t number, const std::set<std::string>& groups,
                const std::deque<StandIn>& coming, const std::vector<ListedNode>& nodes) {
    const auto [it, added] = rooms_.try_emplace(number);
    if (!added) return;
    for (const StandIn& stand_in : coming) {
      if (number == 0 || groups.contains(stand_in.group))
        it->second.push_back(search_.snapshot().FindNode(stand_in.node.node.metadata.name));
    }
    for (const ListedNode& of : nodes) {
      if (of.ready && groups.contains(of.group)) it->second.push_back(of.index);
    }
    std::erase(it->second, cluster::kNone);
  }

  // How many have found a place.
  size_t Try(const Waiting& waiting, bool own_groups) {
    cluster::Snapshot& snapshot = search_.snapshot();
    size_t count = 0;
    std::map<std::pair<uint64_t, cluster::SpecId>, size_t> full;  // so many take no more of these
    for (const auto& [order, place] : waiting) {
      if (placed[place] != 0) continue;
      const uint64_t number = own_groups ? order->number : 0;
      const std::vector<cluster::NodeIndex>& nodes = rooms_.at(number);
      const fit::PendingPod& pod = pods_[place];
      size_t& at = full[{number, snapshot.spec_id(pod.index)}];
      while (at < nodes.size() && !search_.Fits(pod.index, nodes[at])) ++at;
      if (at == nodes.size()) continue;
      snapshot.Place(pod.index, nodes[at]);
      placed[place] = 1;
      ++count;
    }
    return count;
  }
  size_t TryAsBought(const Waiting& waiting) {
    const size_t own = Try(waiting, true);
    return own + Try(waiting, false);
  }
  void TakeBack(const Waiting& waiting) {
    for (const auto& [order, place] : waiting) {
      if (std::exchange(placed[place], uint8_t{0}) != 0)
        search_.snapshot().Unplace(pods_[place].index);
    }
  }

  std::vector<uint8_t> placed;

 private:
  const Pods& pods_;
  fit::Search& search_;
  std::map<uint64_t, std::vector<cluster::NodeIndex>> rooms_;
};

std::vector<uint8_t> OrderedPods::Place(const Pods& pods, const std::deque<StandIn>& coming,
                                        const std::vector<ListedNode>& nodes, fit::Search& search) {
  FirstFit fit(pods, search);
  std::map<std::string, std::shared_ptr<const Order>> still;
  FirstFit::Waiting by_size;
  for (size_t i = 0; i < pods.size(); ++i) {
    auto bought = bought_for_.extract(pods[i].pod->metadata.uid);
    if (bought.empty()) continue;
    by_size.emplace_back(still.insert(std::move(bought)).position->second.get(), i);
  }
  bought_for_ = std::move(still);
  if (by_size.empty() || coming.empty()) return fit.placed;

  std::set<std::string> all_groups;
  for (const auto& [order, place] : by_size) {
    fit.AddRooms(order->number, order->groups, coming, nodes);
    all_groups.insert(order->groups.begin(), order->groups.end());
  }
  fit.AddRooms(0, all_groups, coming, nodes);

  FirstFit::Waiting by_order = by_size;
  std::ranges::stable_sort(by_order, {}, [](const auto& one) { return one.first->number; });
  const size_t helped = fit.TryAsBought(by_order);
  if (helped < by_size.size()) {
    fit.TakeBack(by_size);
    if (fit.Try(by_size, false) <= helped) {
      fit.TakeBack(by_size);
      fit.TryAsBought(by_order);
    }
  }
  return std::move(fit.placed);
}

}  // namespace coppice::autoscale
