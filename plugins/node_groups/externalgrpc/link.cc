#include "plugins/node_groups/externalgrpc/link.h"

#include <utility>

#include "base/file_signature.h"

namespace coppice::node_groups::externalgrpc {
namespace {

// What makes it another connection; the rest is about how it is used.
bool SameConnection(const CloudConfig& a, const CloudConfig& b) {
  return a.address == b.address && a.key == b.key && a.cert == b.cert && a.cacert == b.cacert &&
         a.server_name == b.server_name && a.plaintext == b.plaintext &&
         a.max_message_bytes == b.max_message_bytes;
}

}  // namespace

Result<std::shared_ptr<Link>> Link::Open(std::string path, const Clock& clock, const Log& log) {
  const std::shared_ptr<Link> link(new Link(std::move(path), clock, log));
  const MutexLock lock(link->mutex_);
  // Before it is read: a change in between is seen by the next look.
  link->signature_ = FileSignature({link->path_});
  link->config_ = TRY(ReadCloudConfig(link->path_, log));
  link->connection_ = TRY(link->Connect(link->config_));
  return link;
}

Result<Link::Connection> Link::Connect(const CloudConfig& config) const {
  grpc::ChannelOptions channel{.address = config.address,
                               .server_name = config.server_name,
                               .max_message_bytes = config.max_message_bytes,
                               .max_send_bytes = config.max_message_bytes};
  if (config.tls()) {
    const grpc::TlsFiles files{
        .cert_file = config.cert,
        .key_file = config.key,
        .ca_file = config.cacert,
        .parts = config.cert.empty() ? grpc::TlsParts::kTrust : grpc::TlsParts::kMutual};
    channel.certificates = TRY(grpc::CertificateStore::Open(files, log_).Context(path_));
  } else {
    log_.Warning("calls to the provider are not encrypted", {{"address", config.address}});
  }
  return std::make_shared<grpc::Channel>(std::move(channel), clock_);
}

Result<std::string> Link::Call(const std::string& method, std::string_view request,
                               Deadline deadline) {
  Connection connection;  // held: it may be replaced meanwhile
  {
    const MutexLock lock(mutex_);
    connection = connection_;
  }
  return connection->Call(method, request, deadline);
}

CloudConfig Link::config() const {
  const MutexLock lock(mutex_);
  return config_;
}

Status Link::Reopen() {
  CloudConfig next = TRY(ReadCloudConfig(path_, log_));
  // Group ids are names in events, metrics and memories; threads are made once.
  if (next.group_prefix != config_.group_prefix ||
      next.max_concurrent_calls != config_.max_concurrent_calls) {
    log_.Warning(
        "the cloud-config has another group_prefix or max_concurrent_calls: these need a restart, "
        "the rest of it is in force",
        {{"file", path_}});
    next.group_prefix = config_.group_prefix;
    next.max_concurrent_calls = config_.max_concurrent_calls;
  }
  if (!SameConnection(next, config_)) connection_ = TRY(Connect(next));
  config_ = std::move(next);
  return Status::Ok();
}

std::optional<CloudConfig> Link::Look() {
  const MutexLock lock(mutex_);
  std::string signature = FileSignature({path_});
  if (signature == signature_) return std::nullopt;
  if (const Status status = Reopen(); !status.ok()) {
    // Looked at again next time: a certificate that it names may come a moment later.
    if (said_ != status.message()) {
      log_.Warning("the cloud-config has changed and cannot be used; the old one stays in force",
                   {{"file", path_}, {"error", status}});
    }
    said_ = status.message();
    return std::nullopt;
  }
  said_.clear();
  signature_ = std::move(signature);
  log_.Info("the cloud-config was read again", {{"file", path_}, {"address", config_.address}});
  return config_;
}

}  // namespace coppice::node_groups::externalgrpc
