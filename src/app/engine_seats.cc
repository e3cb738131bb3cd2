#include "app/engine_seats.h"

#include "app/autoscale_seat.h"
#include "app/batch_seat.h"
#include "app/pools_seat.h"
#include "autoscale/view.h"

namespace coppice::app {

std::vector<std::unique_ptr<EngineSeat>> MakeSeats(const RunSettings& settings,
                                                   const ProcessParts& parts) {
  std::vector<std::unique_ptr<EngineSeat>> seats;
  if (settings.node_groups) seats.push_back(MakeAutoscaleSeat(parts));
  if (settings.node_pools) seats.push_back(MakePoolsSeat(parts, *settings.node_pools));
  if (settings.batch) seats.push_back(MakeBatchSeat(*settings.batch, parts));
  return seats;
}

cluster::WorldOptions ViewOf(const RunSettings& settings) {
  return settings.node_groups ? autoscale::ViewOf(settings.flags.options) : cluster::WorldOptions{};
}

}  // namespace coppice::app
