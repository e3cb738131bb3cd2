// Where the API server is and how to prove to it who we are: from a kubeconfig file, or from what
// a pod finds in its own file system.
//
// Reading resolves everything that does not change (context, inline data, certificate files named
// once); what rotates (token files, exec plug-ins) is named here and fetched by credentials.h.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/secret.h"
#include "base/status.h"

namespace coppice::kube {

// A program that prints a credential (client.authentication.k8s.io).
struct ExecPlugin {
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;  // v1 or v1beta1
  bool provide_cluster_info = false;
  std::string install_hint;
  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};

struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  friend bool operator==(const Impersonation&, const Impersonation&) = default;
};

struct ConnectionConfig {
  std::string server;   // https://host:port[/prefix], without a slash at the end
  std::string ca_pem;   // empty: the system's authorities
  std::string ca_file;  // re-read when it changes; wins over ca_pem
  std::string tls_server_name;
  bool insecure = false;
  std::optional<std::string> proxy_url;
  bool gzip = true;

  std::string cert_pem;
  Secret key_pem;
  std::string cert_file;  // re-read when they change; win over the texts
  std::string key_file;
  Secret token;
  std::string token_file;  // re-read; wins over token
  std::string username;
  Secret password;
  std::optional<ExecPlugin> exec;
  std::optional<Impersonation> impersonate;

  std::string namespace_;  // of the context, or the pod's own
};

// How files are read; tests and the fuzzer hand in their own.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;
Result<std::string> ReadWholeFile(const std::string& path);

struct KubeconfigOptions {
  std::string context;          // empty: current-context
  bool allow_insecure = false;  // follow insecure-skip-tls-verify: true
  ReadFile read_file = ReadWholeFile;
};

// Relative paths in it count from `folder`.
Result<ConnectionConfig> ParseKubeconfig(std::string_view text, const std::string& file_name,
                                         const std::string& folder,
                                         const KubeconfigOptions& options = {});
Result<ConnectionConfig> LoadKubeconfig(const std::string& path,
                                        const KubeconfigOptions& options = {});

// KUBERNETES_SERVICE_HOST and _PORT, and the service account's folder. `get_env` as getenv.
using GetEnv = std::function<const char*(const char*)>;
Result<ConnectionConfig> InClusterConfig(
    const GetEnv& get_env,
    const std::string& folder = "/var/run/secrets/kubernetes.io/serviceaccount",
    const ReadFile& read_file = ReadWholeFile);

}  // namespace coppice::kube
