// Instance: a running instance as the commands that ask it see it (explain, top): where it is, by the
// same flags, and what its API answers (web/assets/openapi.yaml).
//
// One thread.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/flag_set.h"
#include "base/status.h"
#include "kube/port_forward.h"
#include "net/http_client.h"

namespace coppice::app {

struct InstanceFlags {
  std::string server;
  std::string token_file;
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string namespace_;
  std::string target = "deployment/coppice";
  std::string kubeconfig;
  std::string context;
};
void AddInstanceFlags(FlagSet& set, InstanceFlags& flags);
// Whether kubectl has called us as its plug-in, which cli.cc says with a first argument that is
// taken away here.
bool TakeFromKubectl(std::vector<std::string>& args);

class Instance {
 public:
  // Starts `kubectl port-forward` if no server is named and something names a cluster, or
  // `from_kubectl` does; it ends with this object. Of several replicas kubectl picks any: one that
  // stands by is left for the pod that leads, whose name is its identity.
  static Result<std::unique_ptr<Instance>> Open(const InstanceFlags& flags, bool from_kubectl);

  const std::string& url() const { return url_; }
  // What /api/v1/PATH says; NotFound with the server's own words if it refuses.
  Result<std::string> Get(const std::string& path);

 private:
  Instance() = default;
  Status ForwardTo(const InstanceFlags& flags, const std::string& target);
  // Its name, if another replica than the one that we ask leads; "": this one does.
  Result<std::string> OtherLeader();

  SystemClock clock_;
  std::unique_ptr<kube::PortForward> forward_;
  std::unique_ptr<net::HttpClient> client_;
  std::string url_;
  Secret token_;
};

}  // namespace coppice::app
