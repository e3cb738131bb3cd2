// ApiServer: the connection to a real cluster and what goes over it: reads into a World (feed),
// writes and events through one fence, the lease. Put together from what the command line says.
//
// Decision thread, but for the fence.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/pool.h"
#include "base/rng.h"
#include "cluster/world.h"
#include "host/api_errors.h"
#include "host/connection.h"
#include "kube/feed.h"
#include "kube/kube_writer.h"
#include "kube/lease.h"
#include "net/http_multi.h"

namespace coppice::host {

class ApiServer {
 public:
  struct Options {
    double qps = 0;
    int burst = 0;
    bool duplicated_events = false;
    std::optional<kube::LeaseOptions> lease;  // unset: no election, and no fence
    kube::FeedOptions feed;
  };
  struct Parts {
    kube::ConnectionConfig config;
    net::MultiClient& transport;  // ends before the executor does: its thread posts there
    cluster::World& world;
    Executor& executor;
    Workers& workers;  // for credentials that somebody else has to be asked for
    Rng& rng;
    const Log& log;
    Metrics& metrics;
    // Any thread: the process hands its lease over, nothing new is written.
    std::function<bool()> closed;
  };
  ApiServer(Options options, Parts parts);

  kube::Credentials& credentials() { return credentials_; }
  kube::EventSender& events() { return events_; }
  kube::KubeWriter& writer() { return writer_; }
  kube::ClusterFeed& feed() { return feed_; }
  kube::LeaderLease* lease() { return lease_.get(); }  // null: no election
  const std::string& url() const { return url_; }
  const ApiErrors& errors() const { return errors_; }

  // Any thread. "" or which kinds have not been read yet, or not for `max_age`.
  std::string NotReady(Duration max_age) const;

 private:
  kube::Fence MakeFence(std::function<bool()> closed);

  const std::string url_;
  ApiErrors errors_;
  kube::Credentials credentials_;
  kube::Client client_;
  std::unique_ptr<kube::LeaderLease> lease_;
  kube::EventSender events_;
  kube::KubeWriter writer_;
  kube::ClusterFeed feed_;
};

}  // namespace coppice::host
