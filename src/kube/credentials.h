// Credentials: what a request has to carry right now. Token and certificate files are looked at
// again after a while (a service account's token rotates), exec plug-ins are run on another thread
// and their answer is kept until it expires or the server refuses it.
//
// Decision thread only.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/promise.h"
#include "kube/kubeconfig.h"
#include "net/http_multi.h"

namespace coppice::kube {

struct RequestIdentity {
  std::shared_ptr<const net::TlsIdentity> tls;
  Secret bearer_token;
  std::vector<std::pair<std::string, std::string>> headers;  // impersonation, basic auth
};

// What an exec plug-in printed.
struct ExecCredential {
  Secret token;
  std::string cert_pem;
  Secret key_pem;
  std::optional<TimePoint> expires;
};
Result<ExecCredential> ParseExecCredential(std::string_view text, const ExecPlugin& plugin);

// Runs the program and reads what it prints; blocks. Its standard error is ours.
using RunPlugin =
    std::function<Result<std::string>(const ExecPlugin& plugin, const ConnectionConfig& config)>;
Result<std::string> RunExecPlugin(const ExecPlugin& plugin, const ConnectionConfig& config);

class Credentials {
 public:
  struct Parts {
    ConnectionConfig config;
    Executor& executor;
    Workers& workers;  // where plug-ins run
    ReadFile read_file = ReadWholeFile;
    RunPlugin run_plugin = RunExecPlugin;
  };
  explicit Credentials(Parts parts);

  Task<Result<RequestIdentity>> Get();
  // That is shown to the server, as PEM; "": none, or nothing has been sent yet.
  std::string client_certificate() const { return now_.tls ? now_.tls->cert_pem : std::string(); }
  // The server said 401: do not offer the same again.
  void Refused();
  // From now on these, for the same server. A file that they name and that cannot be read keeps
  // the old ones.
  Status Replace(ConnectionConfig config);

 private:
  // What the files hold.
  struct Material {
    std::string ca_pem;
    std::string cert_pem;
    Secret key_pem;
    Secret token;
  };
  Result<Material> ReadFiles(const ConnectionConfig& config) const;
  void SetHeaders();
  Task<Status> RefreshExec();

  Parts parts_;
  RequestIdentity now_;
  bool read_ = false;
  TimePoint read_at_;
  Material files_;
  std::optional<ExecCredential> from_exec_;
  bool running_ = false;  // a plug-in, for somebody else's request
};

}  // namespace coppice::kube
