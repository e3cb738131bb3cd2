#include "seats/engine_seats.h"

#include "autoscale/view.h"
#include "provision/view.h"
#include "seats/autoscale_seat.h"
#include "seats/batch_seat.h"
#include "seats/pools_seat.h"

namespace coppice::seats {

std::vector<std::unique_ptr<EngineSeat>> MakeSeats(const RunSettings& settings,
                                                   const ProcessParts& parts) {
  std::vector<std::unique_ptr<EngineSeat>> seats;
  if (settings.node_groups) seats.push_back(MakeAutoscaleSeat(parts));
  if (settings.node_pools) seats.push_back(MakePoolsSeat(parts, *settings.node_pools));
  if (settings.batch) {
    std::vector<EngineSeat*> others;  // opened before
    for (const auto& seat : seats) others.push_back(seat.get());
    std::function<std::vector<market::Seller*>()> sellers;
    if (!others.empty()) {
      sellers = [others] {
        std::vector<market::Seller*> all;
        for (EngineSeat* seat : others) {
          if (market::Seller* const seller = seat->seller()) all.push_back(seller);
        }
        return all;
      };
    }
    seats.push_back(MakeBatchSeat(*settings.batch, parts, sellers));
  }
  return seats;
}

RunSettings Together(RunSettings settings) {
  if (!settings.batch || settings.flags.upstream_exact) return settings;
  const auto& names = settings.batch->engine.session.scheduler_names;
  if (settings.node_groups) settings.flags.options.gang_scheduler_names = names;
  if (settings.node_pools) settings.node_pools->gang_scheduler_names = names;
  return settings;
}

cluster::WorldOptions ViewOf(const RunSettings& settings) {
  // Batch plans on a World of its own.
  if (!settings.node_groups && !settings.node_pools) return {};
  if (!settings.node_groups) return {.counts = nullptr, .marks = provision::MarksOnPods()};
  cluster::WorldOptions view = autoscale::ViewOf(settings.flags.options);
  if (settings.node_pools) view.marks = cluster::Together(view.marks, provision::MarksOnPods());
  return view;
}

std::optional<std::vector<std::string>> TellingAnnotations(const RunSettings& settings) {
  if (settings.flags.upstream_exact) return std::nullopt;
  return ViewOf(settings).marks.eviction_annotations;
}

}  // namespace coppice::seats
