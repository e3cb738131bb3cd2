// Any bytes as a kubeconfig, and as what an exec plug-in printed: an answer or a refusal, no crash.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kube/credentials.h"
#include "kube/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  coppice::kube::KubeconfigOptions options;
  options.allow_insecure = true;
  const auto config = coppice::kube::ParseKubeconfig(text, "fuzz", "/folder", options);
  (void)config;
  coppice::kube::ExecPlugin plugin;
  plugin.api_version = "client.authentication.k8s.io/v1";
  const auto credential = coppice::kube::ParseExecCredential(text, plugin);
  (void)credential;
  return 0;
}
