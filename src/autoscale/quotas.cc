#include "autoscale/quotas.h"

#include <algorithm>

#include "autoscale/gpu.h"
#include "model/resources.h"

namespace coppice::autoscale {

namespace {

int64_t CapacityOf(const model::Node& node, std::string_view resource) {
  const model::Quantity* quantity = node.status.capacity.Find(resource);
  return quantity == nullptr ? 0 : std::max<int64_t>(0, quantity->Value());
}

bool IsVirtualKubelet(const model::Node& node) {
  const std::string* type = node.metadata.labels.Find("type");
  return type != nullptr && *type == "virtual-kubelet";
}

}  // namespace

Quotas::Amounts Quotas::GpusOf(const model::Node& node, std::string_view gpu_label) {
  if (gpu_label.empty()) return {};
  const std::string* type = node.metadata.labels.Find(gpu_label);
  const int64_t gpus = AllocatableGpus(node);
  if (type == nullptr || type->empty() || gpus <= 0) return {};
  return {{*type, gpus}};
}

const Quotas::Amounts& Quotas::AmountsOf(const NodeOf& of) {
  if (!of.group.empty()) {
    const auto known = by_group_.find(of.group);
    if (known != by_group_.end()) return known->second;
  }
  Amounts amounts;
  amounts["cpu"] = CapacityOf(*of.node, model::kCpu);
  amounts["memory"] = CapacityOf(*of.node, model::kMemory);
  for (auto& [type, count] : devices_of_ ? devices_of_(of) : GpusOf(*of.node, gpu_label_))
    amounts[type] = count;
  if (of.group.empty()) return ungrouped_ = std::move(amounts);
  return by_group_.emplace(std::string(of.group), std::move(amounts)).first->second;
}

Quotas::Amounts Quotas::Usage(const std::vector<NodeOf>& nodes) {
  Amounts usage;
  for (const NodeOf& of : nodes) {
    if (IsVirtualKubelet(*of.node)) continue;
    for (const auto& [resource, amount] : AmountsOf(of)) usage[resource] += amount;
  }
  return usage;
}

Quotas Quotas::ToMaxima(const LimitOptions& options, const std::vector<NodeOf>& nodes,
                        std::string gpu_label, DevicesOf devices_of) {
  Quotas quotas(std::move(gpu_label), std::move(devices_of));
  Amounts usage = quotas.Usage(nodes);
  quotas.left_["cpu"] = std::max<int64_t>(0, options.cores_total.max - usage["cpu"]);
  quotas.left_["memory"] = std::max<int64_t>(0, options.memory_total.max - usage["memory"]);
  for (const auto& [type, range] : options.gpu_total) {
    quotas.left_[type] = std::max<int64_t>(0, range.max - usage[type]);
  }
  const auto over = [&](const std::string& resource, int64_t max) {
    if (usage[resource] > max) quotas.over_[resource] = usage[resource] - max;
  };
  over("cpu", options.cores_total.max);
  over("memory", options.memory_total.max);
  for (const auto& [type, range] : options.gpu_total) over(type, range.max);
  return quotas;
}

Quotas Quotas::ToMinima(const LimitOptions& options, const std::vector<NodeOf>& nodes,
                        std::string gpu_label, DevicesOf devices_of) {
  Quotas quotas(std::move(gpu_label), std::move(devices_of));
  const bool limited =
      options.cores_total.min > 0 || options.memory_total.min > 0 ||
      std::ranges::any_of(options.gpu_total, [](const auto& gpu) { return gpu.second.min > 0; });
  if (!limited) return quotas;
  Amounts usage = quotas.Usage(nodes);
  const auto limit = [&](const std::string& resource, int64_t min) {
    if (min > 0) quotas.left_[resource] = std::max<int64_t>(0, usage[resource] - min);
  };
  limit("cpu", options.cores_total.min);
  limit("memory", options.memory_total.min);
  for (const auto& [type, range] : options.gpu_total) limit(type, range.min);
  return quotas;
}

QuotaAnswer Quotas::Check(const NodeOf& like, int count) {
  QuotaAnswer answer{count, {}};
  for (const auto& [resource, amount] : AmountsOf(like)) {
    const auto left = left_.find(resource);
    if (amount <= 0 || left == left_.end() || left->second >= amount * count) continue;
    answer.allowed = static_cast<int>(std::min<int64_t>(answer.allowed, left->second / amount));
    answer.exceeded.push_back(resource);
  }
  return answer;
}

std::vector<std::pair<std::string, int64_t>> Quotas::Missing(const NodeOf& like, int count) {
  std::vector<std::pair<std::string, int64_t>> missing;
  for (const auto& [resource, amount] : AmountsOf(like)) {
    const auto left = left_.find(resource);
    if (amount <= 0 || left == left_.end() || left->second >= amount * count) continue;
    const auto over = over_.find(resource);
    missing.emplace_back(resource,
                         amount * count - left->second + (over == over_.end() ? 0 : over->second));
  }
  return missing;
}

QuotaAnswer Quotas::Consume(const NodeOf& like, int count) {
  QuotaAnswer answer = Check(like, count);
  if (answer.allowed != count) return answer;
  for (const auto& [resource, amount] : AmountsOf(like)) {
    const auto left = left_.find(resource);
    if (left != left_.end()) left->second = std::max<int64_t>(0, left->second - amount * count);
  }
  return answer;
}

}  // namespace coppice::autoscale
