#include "kube/kubeconfig.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "base/yaml.h"
#include "net/url.h"

namespace coppice::kube {
namespace {

constexpr size_t kMaxFileBytes = 4 << 20;

std::optional<std::string> DecodeBase64(std::string_view text) {
  static const std::array<int8_t, 256> kValues = [] {
    std::array<int8_t, 256> values;
    values.fill(-1);
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < kAlphabet.size(); ++i)
      values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
    return values;
  }();
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  size_t padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int8_t value = kValues[static_cast<unsigned char>(c)];
    if (value < 0 || padding > 0) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(value);
    if (++count % 4 != 1)
      out.push_back(static_cast<char>((bits >> (6 - 2 * ((count - 1) % 4))) & 0xFF));
  }
  if (count % 4 == 1 || padding > 2) return std::nullopt;
  return out;
}

// The map of the entry called `name` in a list of {name, key: {...}}.
Result<yaml::Node> FindNamed(yaml::MapReader& root, std::string_view list, std::string_view key,
                             const std::string& name, yaml::Problems& problems) {
  std::optional<yaml::Node> found;
  root.EachItem(list, [&](const yaml::Node& item) {
    yaml::MapReader entry(item, problems);
    std::string its_name;
    entry.Read("name", its_name);
    // The first of a name counts, as for kubectl.
    if (its_name == name && !found) found = entry.Get(key);
  });
  if (!found) return NotFound(fmt::format("{} has no entry named \"{}\"", list, name));
  return *found;
}

std::string Resolve(const std::string& folder, const std::string& path) {
  if (path.empty() || path.starts_with('/') || folder.empty()) return path;
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

// X-data, or the file that X names.
Result<std::string> DataOf(yaml::MapReader& map, const std::string& key) {
  std::string text;
  if (!map.Read(key + "-data", text) || text.empty()) return std::string();
  auto decoded = DecodeBase64(text);
  if (!decoded) return InvalidArgument(key + "-data is not base64");
  return *std::move(decoded);
}

Status ReadCluster(const yaml::Node& node, const std::string& folder,
                   const KubeconfigOptions& options, yaml::Problems& problems,
                   ConnectionConfig& config) {
  yaml::MapReader map(node, problems);
  map.Read("server", config.server);
  if (config.server.empty()) return InvalidArgument("the cluster has no server");
  const auto url = net::ParseUrl(config.server);
  if (!url.ok()) return url.status().Context("server");
  if (url->scheme != "https" && url->scheme != "http")
    return InvalidArgument("server: only http and https are known");
  while (config.server.ends_with('/')) config.server.pop_back();
  config.ca_pem = TRY(DataOf(map, "certificate-authority"));
  std::string ca_file;
  if (config.ca_pem.empty() && map.Read("certificate-authority", ca_file))
    config.ca_file = Resolve(folder, ca_file);
  map.Read("tls-server-name", config.tls_server_name);
  bool skip = false;
  if (map.Read("insecure-skip-tls-verify", skip) && skip) {
    if (!options.allow_insecure) {
      return FailedPrecondition(
          "insecure-skip-tls-verify is set: anybody on the way could read our credentials. "
          "Give certificate-authority-data instead, or say that you mean it");
    }
    config.insecure = true;
  }
  std::string proxy;
  if (map.Read("proxy-url", proxy) && !proxy.empty()) {
    const size_t scheme = proxy.find("://");
    const std::string kind = scheme == std::string::npos ? "" : Lower(proxy.substr(0, scheme));
    if (kind != "http" && kind != "https" && kind != "socks5")
      return InvalidArgument("proxy-url: only http, https and socks5 are known");
    // As Go has it: the proxy resolves the name.
    config.proxy_url = kind == "socks5" ? "socks5h" + proxy.substr(scheme) : proxy;
  }
  bool no_gzip = false;
  if (map.Read("disable-compression", no_gzip)) config.gzip = !no_gzip;
  return Status::Ok();
}

Status ReadExec(const yaml::Node& node, const std::string& folder, yaml::Problems& problems,
                ConnectionConfig& config) {
  yaml::MapReader map(node, problems);
  ExecPlugin exec;
  map.Read("command", exec.command);
  if (exec.command.empty()) return InvalidArgument("exec has no command");
  // A name with a slash counts from the file's folder; a bare one is looked up in PATH.
  if (exec.command.find('/') != std::string::npos) exec.command = Resolve(folder, exec.command);
  map.Read("args", exec.args);
  map.EachItem("env", [&](const yaml::Node& item) {
    yaml::MapReader entry(item, problems);
    std::string name;
    std::string value;
    entry.Read("name", name);
    entry.Read("value", value);
    if (!name.empty()) exec.env.emplace_back(name, value);
  });
  map.Read("apiVersion", exec.api_version);
  if (exec.api_version != "client.authentication.k8s.io/v1" &&
      exec.api_version != "client.authentication.k8s.io/v1beta1") {
    return InvalidArgument("exec: apiVersion has to be client.authentication.k8s.io/v1 or v1beta1");
  }
  map.Read("provideClusterInfo", exec.provide_cluster_info);
  map.Read("installHint", exec.install_hint);
  std::string mode;
  map.Read("interactiveMode", mode);
  if (mode == "Always")
    return FailedPrecondition("exec: the plug-in wants a terminal, and we have none");
  config.exec = std::move(exec);
  return Status::Ok();
}

Status ReadUser(const yaml::Node& node, const std::string& folder, yaml::Problems& problems,
                ConnectionConfig& config) {
  yaml::MapReader map(node, problems);
  config.cert_pem = TRY(DataOf(map, "client-certificate"));
  config.key_pem = Secret(TRY(DataOf(map, "client-key")));
  std::string path;
  if (config.cert_pem.empty() && map.Read("client-certificate", path))
    config.cert_file = Resolve(folder, path);
  path.clear();
  if (config.key_pem.empty() && map.Read("client-key", path))
    config.key_file = Resolve(folder, path);
  const bool cert = !config.cert_pem.empty() || !config.cert_file.empty();
  const bool key = !config.key_pem.empty() || !config.key_file.empty();
  if (cert != key)
    return InvalidArgument("a client certificate needs its key, and a key its certificate");
  std::string token;
  if (map.Read("token", token)) config.token = Secret(token);
  path.clear();
  if (map.Read("tokenFile", path)) config.token_file = Resolve(folder, path);
  map.Read("username", config.username);
  std::string password;
  if (map.Read("password", password)) config.password = Secret(password);
  if (map.Has("auth-provider"))
    return Unimplemented("auth-provider has been removed from Kubernetes; use exec instead");
  if (map.Has("exec")) TRY(ReadExec(map.Get("exec"), folder, problems, config));
  Impersonation as;
  map.Read("as", as.user);
  map.Read("as-uid", as.uid);
  map.Read("as-groups", as.groups);
  if (map.Has("as-user-extra")) {
    yaml::MapReader extra(map.Get("as-user-extra"), problems);
    for (const auto& [name, values] : map.Get("as-user-extra").entries()) {
      extra.Read(name, as.extra[name]);
    }
  }
  if (as != Impersonation()) {
    if (as.user.empty()) return InvalidArgument("as-uid, as-groups and as-user-extra need as");
    config.impersonate = std::move(as);
  }
  return Status::Ok();
}

}  // namespace

Result<std::string> ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(path + ": cannot be opened");
  std::string text;
  std::array<char, 16 << 10> buffer;
  while (file.read(buffer.data(), buffer.size()), file.gcount() > 0) {
    text.append(buffer.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > kMaxFileBytes) return ResourceExhausted(path + ": too large");
  }
  if (file.bad()) return Unavailable(path + ": cannot be read");
  return text;
}

Result<ConnectionConfig> ParseKubeconfig(std::string_view text, const std::string& file_name,
                                         const std::string& folder,
                                         const KubeconfigOptions& options) {
  const auto root = TRY(yaml::Parse(text, file_name, yaml::Duplicates::kLastWins));
  yaml::Problems problems;
  yaml::MapReader map(root, problems);
  std::string context_name = options.context;
  if (context_name.empty()) map.Read("current-context", context_name);
  if (context_name.empty())
    return InvalidArgument(file_name + ": no context is chosen: current-context is empty");
  const auto in_file = [&](Status status) { return status.Context(file_name); };

  const auto context = FindNamed(map, "contexts", "context", context_name, problems);
  if (!context.ok()) return in_file(context.status());
  yaml::MapReader context_map(*context, problems);
  std::string cluster_name;
  std::string user_name;
  ConnectionConfig config;
  context_map.Read("cluster", cluster_name);
  context_map.Read("user", user_name);
  context_map.Read("namespace", config.namespace_);

  const auto cluster = FindNamed(map, "clusters", "cluster", cluster_name, problems);
  if (!cluster.ok()) return in_file(cluster.status());
  if (const Status read = ReadCluster(*cluster, folder, options, problems, config); !read.ok())
    return in_file(read.Context("cluster \"" + cluster_name + "\""));
  if (!user_name.empty()) {
    const auto user = FindNamed(map, "users", "user", user_name, problems);
    if (!user.ok()) return in_file(user.status());
    if (const Status read = ReadUser(*user, folder, problems, config); !read.ok())
      return in_file(read.Context("user \"" + user_name + "\""));
  }
  TRY(problems.ToStatus());
  return config;
}

Result<ConnectionConfig> LoadKubeconfig(const std::string& path, const KubeconfigOptions& options) {
  const std::string text = TRY(options.read_file(path).Context("kubeconfig"));
  return ParseKubeconfig(text, path, std::filesystem::path(path).parent_path().string(), options);
}

Result<ConnectionConfig> InClusterConfig(const GetEnv& get_env, const std::string& folder,
                                         const ReadFile& read_file) {
  const char* host = get_env("KUBERNETES_SERVICE_HOST");
  const char* port = get_env("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || *host == '\0' || port == nullptr || *port == '\0') {
    return FailedPrecondition(
        "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set. Outside of "
        "a cluster give --kubeconfig");
  }
  ConnectionConfig config;
  const std::string name = host;
  const bool v6 = name.find(':') != std::string::npos;
  config.server = fmt::format("https://{}:{}", v6 ? "[" + name + "]" : name, port);
  config.ca_file = folder + "/ca.crt";
  config.token_file = folder + "/token";
  TRY(read_file(config.token_file).Context("service account"));  // said now rather than with a 401
  if (const auto own = read_file(folder + "/namespace"); own.ok())
    config.namespace_ = std::string(Trim(*own));
  return config;
}

}  // namespace coppice::kube
