// remote: a cloud in any language. Another process speaks for it over proto/cloud.proto; the
// `cloud:` part of the file says where it is.

#include <memory>
#include <utility>

#include "cloud/cloud.h"
#include "grpc/channel.h"
#include "grpc/expiry_watch.h"
#include "plugins/clouds/remote/options.h"
#include "plugins/clouds/remote/remote_cloud.h"

namespace coppice::clouds::remote {
namespace {

Result<std::unique_ptr<cloud::Cloud>> Make(const cloud::CloudContext& context) {
  const Options options = ReadOptions(context.config, context.problems);
  if (context.problems.has_errors()) return context.problems.ToStatus();
  std::shared_ptr<grpc::CertificateStore> certificates;
  if (options.tls()) {
    certificates = TRY(grpc::CertificateStore::Open(
        {.cert_file = options.cert,
         .key_file = options.key,
         .ca_file = options.cacert,
         .parts = options.cert.empty() ? grpc::TlsParts::kTrust : grpc::TlsParts::kMutual},
        context.log));
  }
  std::shared_ptr<grpc::ExpiryWatch> expiry;
  if (certificates != nullptr) {
    expiry = std::make_shared<grpc::ExpiryWatch>(certificates, context.clock, context.log,
                                                 context.metrics, "coppice_remote_cloud_");
  }
  const auto channel =
      std::make_shared<grpc::Channel>(grpc::ChannelOptions{.address = options.address,
                                                           .certificates = std::move(certificates),
                                                           .server_name = options.server_name},
                                      context.clock);
  return std::unique_ptr<cloud::Cloud>(std::make_unique<RemoteCloud>(
      [channel, expiry](const std::string& method, std::string_view request, Deadline deadline) {
        if (expiry != nullptr) expiry->LookSometimes();
        return channel->Call(method, request, deadline);
      },
      options.metric_prefix));
}

}  // namespace

void Register(cloud::CloudRegistry& registry) { registry.Add("remote", Make); }

}  // namespace coppice::clouds::remote
