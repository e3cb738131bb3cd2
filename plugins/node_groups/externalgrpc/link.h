// Link: the connection that a cloud-config file describes, and what becomes of it when the file
// changes. A new address, certificate or name is a new connection; what is under way over the old
// one ends there. A file that cannot be read or opened changes nothing, and is said once.
//
// Any thread.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "grpc/channel.h"
#include "plugins/node_groups/externalgrpc/cloud_config.h"

namespace coppice::node_groups::externalgrpc {

class Link {
 public:
  // Does not connect yet. `clock` and `log` outlive the object.
  static Result<std::shared_ptr<Link>> Open(std::string path, const Clock& clock, const Log& log);

  Result<std::string> Call(const std::string& method, std::string_view request, Deadline deadline);

  CloudConfig config() const;
  // The configuration, if the file says another one than before and it is in force now.
  std::optional<CloudConfig> Look();

 private:
  using Connection = std::shared_ptr<grpc::Channel>;
  Link(std::string path, const Clock& clock, const Log& log)
      : path_(std::move(path)), clock_(clock), log_(log) {}
  Result<Connection> Connect(const CloudConfig& config) const;
  Status Reopen() COPPICE_REQUIRES(mutex_);

  const std::string path_;
  const Clock& clock_;
  const Log& log_;
  mutable Mutex mutex_;
  std::string signature_ COPPICE_GUARDED_BY(mutex_);  // of the file that is in force
  std::string said_ COPPICE_GUARDED_BY(mutex_);       // what was wrong with it last
  CloudConfig config_ COPPICE_GUARDED_BY(mutex_);
  Connection connection_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice::node_groups::externalgrpc
