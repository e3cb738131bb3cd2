// gRPC's standard health service, with Watch. Internal to this module.

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "grpc/routes.h"

namespace coppice::grpc {

class Health {
 public:
  // `services` and "" are known, and not serving yet.
  explicit Health(const std::vector<std::string>& services);

  // Any thread. Watchers hear of it at the next Tell().
  void Set(bool serving);
  // Tells watchers what changed. On the server's thread.
  void Tell();

  void AddTo(Routes& routes);

 private:
  class Watcher;

  // The status of a service; absent: not known.
  int StatusOf(const std::string& service) const;
  Answer Check(const Call& call) const;

  const std::set<std::string> services_;
  mutable Mutex mutex_;
  bool serving_ COPPICE_GUARDED_BY(mutex_) = false;
  std::set<Watcher*> watchers_;  // the server's thread only
};

}  // namespace coppice::grpc
