// Sight: how well the process sees the cluster, whichever engines it has: how old what is known of
// each kind is, and which objects are there and cannot be read. In metrics, and for /explain.
//
// Look() on the decision thread, now and then; everything else on any.

#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "kube/feed.h"
#include "net/http_server.h"

namespace coppice::host {

class Sight {
 public:
  // What it asks; the feed's (SightOf).
  struct Sources {
    std::function<std::vector<kube::ClusterFeed::UnreadableObject>()> unreadable;
    std::function<Duration()> view_age;
    std::function<std::vector<kube::ClusterFeed::KindAge>()> ages;  // any thread
    struct Reads {
      std::string kind;
      uint64_t lists = 0;
      uint64_t watches = 0;
      size_t objects = 0;
    };
    std::function<std::vector<Reads>()> reads;
  };
  Sight(Sources sources, Metrics& metrics) : sources_(std::move(sources)), metrics_(metrics) {}

  void Look();
  // Before each /metrics.
  void BeforeMetrics();
  // What is to be said of the pod (?pod=NAMESPACE/NAME) or node that is asked about, a line; "":
  // it can be read, or nobody knows it.
  std::string Explain(const net::ServerRequest& request) const;

 private:
  void TellUnreadable();

  const Sources sources_;
  Metrics& metrics_;
  std::set<std::pair<std::string, std::string>> shown_;  // kind and reason
  mutable Mutex mutex_;
  // By kind and name, what is wrong.
  std::map<std::pair<std::string, std::string>, std::string> unreadable_ COPPICE_GUARDED_BY(mutex_);
};

Sight::Sources SightOf(const kube::ClusterFeed& feed);

}  // namespace coppice::host
