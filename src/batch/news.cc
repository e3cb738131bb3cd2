#include "batch/news.h"

#include <map>

namespace coppice::batch {
namespace {

using Amount = report::SessionReport::Amount;

double NumberOf(const std::string& resource, const model::Quantity& quantity) {
  return static_cast<double>(resource == "cpu" ? quantity.MilliValue() : quantity.Value());
}

void Fill(std::map<std::string, Amount>& amounts, const model::ResourceList& list,
          double Amount::* which) {
  for (const auto& [resource, quantity] : list) {
    Amount& amount = amounts[resource];
    amount.resource = resource;
    amount.*which = NumberOf(resource, quantity);
  }
}

}  // namespace

std::vector<report::SessionReport::Queue> QueuesOf(const std::vector<QueueInfo*>& queues,
                                                   const News& news) {
  std::map<const QueueInfo*, const News::Share*> shares;
  for (const News::Share& share : news.shares) shares[share.queue] = &share;
  std::vector<report::SessionReport::Queue> all;
  for (const QueueInfo* queue : queues) {
    const model::QueueSpec& spec = queue->object.spec;
    const model::QueueStatus& status = queue->object.status;
    report::SessionReport::Queue& told = all.emplace_back();
    told.name = queue->name;
    told.parent = spec.parent;
    told.state = status.state;
    told.weight = queue->weight;
    told.running = status.running;
    std::map<std::string, Amount> amounts;
    const auto share = shares.find(queue);
    if (share != shares.end()) {
      told.share = share->second->share;
      Fill(amounts, ToResourceList(share->second->allocated), &Amount::held);
      Fill(amounts, ToResourceList(share->second->deserved), &Amount::deserved);
    } else {
      Fill(amounts, status.allocated, &Amount::held);
      Fill(amounts, spec.deserved, &Amount::deserved);
    }
    Fill(amounts, spec.capability, &Amount::most);
    for (auto& [resource, amount] : amounts) {
      // Every resource of the cluster is named, most of them with nothing.
      if (amount.held > 0 || amount.deserved > 0 || amount.most >= 0)
        told.amounts.push_back(std::move(amount));
    }
  }
  return all;
}

}  // namespace coppice::batch
