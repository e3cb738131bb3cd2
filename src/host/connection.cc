#include "host/connection.h"

#include <cstdlib>

namespace coppice::host {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<kube::ConnectionConfig> Connection(const ConnectionFlags& flags) {
  if (!flags.kubeconfig.empty()) {
    kube::KubeconfigOptions options;
    options.allow_insecure = Environment("COPPICE_ALLOW_INSECURE_KUBECONFIG") == "1";
    auto config = TRY(kube::LoadKubeconfig(flags.kubeconfig, options));
    if (!flags.kubernetes.empty()) config.server = flags.kubernetes;
    return config;
  }
  auto config = TRY(kube::InClusterConfig([](const char* name) { return std::getenv(name); }));
  if (!flags.kubernetes.empty()) config.server = flags.kubernetes;
  return config;
}

void ReloadConnection(const ConnectionFlags& flags, const std::string& running,
                      kube::Credentials& credentials, const Log& log) {
  const auto refuse = [&](const Status& why) {
    log.Error("the new credentials are refused, the old ones stay in use",
              {{"file", flags.kubeconfig}, {"error", why}});
  };
  auto config = Connection(flags);
  if (!config.ok()) return refuse(config.status());
  if (config->server != running) {
    // Credentials for another server are not shown to this one.
    log.Warning("another API server takes effect after a restart only, with its credentials",
                {{"running", running}, {"configured", config->server}});
    return;
  }
  const Status taken = credentials.Replace(*std::move(config));
  if (!taken.ok()) return refuse(taken);
  log.Info("credentials for the API server are read again", {{"file", flags.kubeconfig}});
}

}  // namespace coppice::host
