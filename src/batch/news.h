// News: what plug-ins know beside their answers, for reports: what queues deserve and hold, and how
// those are who are asked outside.
//
// Gathered when the actions are over and before plug-ins close, on the session's thread.

#pragma once

#include <string>
#include <vector>

#include "batch/queue.h"
#include "batch/resource.h"
#include "report/session_report.h"

namespace coppice::batch {

struct News {
  struct Share {
    const QueueInfo* queue = nullptr;
    double share = 0;
    Resource deserved;
    Resource allocated;
    Resource request = {};
    Resource inqueue = {};          // of jobs that were let in and do not hold it yet
    Resource real_capability = {};  // for others have guarantees
    bool overused = false;
  };
  struct OfJob {
    std::string namespace_;
    std::string name;
    double share = 0;  // of the cluster
  };
  std::vector<Share> shares;  // of a queue that is told of twice the last counts
  std::vector<OfJob> jobs;
  std::vector<report::SessionReport::Outside> outside;
};

// A plug-in that has some is one of these, too.
class TellsNews {
 public:
  virtual ~TellsNews() = default;
  virtual void TellNews(News& news) const = 0;
};

// The queues as a report shows them, by name.
std::vector<report::SessionReport::Queue> QueuesOf(const std::vector<QueueInfo*>& queues,
                                                   const News& news);

}  // namespace coppice::batch
