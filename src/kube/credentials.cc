#include "kube/credentials.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "wire/time_text.h"

namespace coppice::kube {
namespace {

// As client-go: a rotated token file is noticed within a minute.
constexpr Duration kReadAgain = std::chrono::minutes(1);
constexpr Duration kBeforeExpiry = std::chrono::seconds(10);
constexpr Duration kPluginPoll = std::chrono::milliseconds(20);

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k)
      bits = (bits << 8) | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k)
      out.push_back(k <= count ? kAlphabet[(bits >> (18 - 6 * k)) & 63] : '=');
  }
  return out;
}

// Keys of `extra` go into a header's name: what may not stand there is percent-encoded.
std::string HeaderKey(std::string_view key) {
  std::string out;
  for (const char c : Lower(key)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       std::string_view("!#$&'*+-.^_`|~").find(c) != std::string_view::npos;
    if (plain) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string TextOf(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

Result<ExecCredential> ParseExecCredential(std::string_view text, const ExecPlugin& plugin) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("the exec plug-in printed no JSON object");
  if (TextOf(json, "kind") != "ExecCredential" ||
      TextOf(json, "apiVersion") != plugin.api_version) {
    return InvalidArgument("the exec plug-in did not print an ExecCredential of " +
                           plugin.api_version);
  }
  const auto status = json.find("status");
  if (status == json.end() || !status->is_object())
    return InvalidArgument("the exec plug-in printed no status");
  ExecCredential credential;
  credential.token = Secret(TextOf(*status, "token"));
  credential.cert_pem = TextOf(*status, "clientCertificateData");
  credential.key_pem = Secret(TextOf(*status, "clientKeyData"));
  if (credential.cert_pem.empty() != credential.key_pem.empty())
    return InvalidArgument("the exec plug-in printed a certificate without key, or the reverse");
  if (credential.cert_pem.empty() && credential.token.empty())
    return InvalidArgument("the exec plug-in printed neither a token nor a certificate");
  if (const std::string expires = TextOf(*status, "expirationTimestamp"); !expires.empty()) {
    credential.expires = wire::ParseRfc3339(expires);
    if (!credential.expires)
      return InvalidArgument("the exec plug-in printed an expirationTimestamp that is no time");
  }
  return credential;
}

Credentials::Credentials(Parts parts) : parts_(std::move(parts)) { SetHeaders(); }

void Credentials::SetHeaders() {
  const ConnectionConfig& config = parts_.config;
  now_.headers.clear();
  if (config.impersonate) {
    const Impersonation& as = *config.impersonate;
    now_.headers.emplace_back("Impersonate-User", as.user);
    if (!as.uid.empty()) now_.headers.emplace_back("Impersonate-Uid", as.uid);
    for (const auto& group : as.groups) now_.headers.emplace_back("Impersonate-Group", group);
    for (const auto& [key, values] : as.extra) {
      for (const auto& value : values)
        now_.headers.emplace_back("Impersonate-Extra-" + HeaderKey(key), value);
    }
  }
  if (!config.username.empty()) {
    now_.headers.emplace_back("Authorization",
                              "Basic " + Base64(config.username + ":" + config.password.Reveal()));
  }
}

void Credentials::Refused() {
  read_ = false;
  from_exec_.reset();
}

Status Credentials::Replace(ConnectionConfig config) {
  files_ = TRY(ReadFiles(config));
  parts_.config = std::move(config);
  from_exec_.reset();
  now_.tls = nullptr;  // its name and its trust may be others, too
  read_ = true;
  read_at_ = parts_.executor.clock().Now();
  SetHeaders();
  return Status::Ok();
}

Result<Credentials::Material> Credentials::ReadFiles(const ConnectionConfig& config) const {
  Material read{config.ca_pem, config.cert_pem, config.key_pem, config.token};
  if (!config.ca_file.empty())
    read.ca_pem = TRY(parts_.read_file(config.ca_file).Context("certificate authority"));
  if (!config.cert_file.empty())
    read.cert_pem = TRY(parts_.read_file(config.cert_file).Context("client certificate"));
  if (!config.key_file.empty())
    read.key_pem = Secret(TRY(parts_.read_file(config.key_file).Context("client key")));
  if (!config.token_file.empty()) {
    const std::string text = TRY(parts_.read_file(config.token_file).Context("token file"));
    read.token = Secret(std::string(Trim(text)));
    if (read.token.empty()) return FailedPrecondition(config.token_file + ": is empty");
  }
  return read;
}

Task<Status> Credentials::RefreshExec() {
  // One run serves everybody who waits for it.
  while (running_) co_await parts_.executor.Sleep(kPluginPoll);
  if (!parts_.config.exec) co_return Status::Ok();  // replaced meanwhile
  const TimePoint now = parts_.executor.clock().Now();
  if (from_exec_ && (!from_exec_->expires || *from_exec_->expires - kBeforeExpiry > now))
    co_return Status::Ok();
  running_ = true;
  Promise<Result<std::string>> promise(parts_.executor);
  const ExecPlugin plugin = *parts_.config.exec;
  const Status submitted =
      parts_.workers.Submit([promise, run = parts_.run_plugin, plugin, config = parts_.config] {
        promise.Set(run(plugin, config));
      });
  if (!submitted.ok()) {
    running_ = false;
    co_return submitted;
  }
  const Result<std::string> printed = co_await promise.future();
  running_ = false;
  if (parts_.config.exec != plugin) co_return co_await RefreshExec();  // replaced meanwhile
  if (!printed.ok()) co_return printed.status();
  auto credential = ParseExecCredential(*printed, plugin);
  if (!credential.ok()) co_return credential.status();
  from_exec_ = *std::move(credential);
  co_return Status::Ok();
}

Task<Result<RequestIdentity>> Credentials::Get() {
  const TimePoint now = parts_.executor.clock().Now();
  if (!read_ || now - read_at_ >= kReadAgain) {
    auto files = ReadFiles(parts_.config);
    // A file that is being replaced is not a reason to forget the one before.
    if (!files.ok() && !now_.tls) co_return files.status();
    if (files.ok()) {
      files_ = *std::move(files);
      read_ = true;
    }
    read_at_ = now;
  }
  if (parts_.config.exec) {
    const Status refreshed = co_await RefreshExec();
    if (!refreshed.ok()) co_return refreshed;
  }
  Secret token = files_.token;
  std::string cert = files_.cert_pem;
  Secret key = files_.key_pem;
  if (from_exec_) {
    if (!from_exec_->token.empty()) token = from_exec_->token;
    if (!from_exec_->cert_pem.empty()) {
      cert = from_exec_->cert_pem;
      key = from_exec_->key_pem;
    }
  }
  now_.bearer_token = token;
  const bool same = now_.tls && now_.tls->ca_pem == files_.ca_pem && now_.tls->cert_pem == cert &&
                    now_.tls->key_pem == key;
  if (!same) {
    net::TlsIdentity tls;
    tls.ca_pem = files_.ca_pem;
    tls.cert_pem = cert;
    tls.key_pem = key;
    tls.server_name = parts_.config.tls_server_name;
    tls.insecure = parts_.config.insecure;
    now_.tls = std::make_shared<const net::TlsIdentity>(std::move(tls));
  }
  co_return now_;
}

}  // namespace coppice::kube
