#include "provider/provider_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/strings.h"
#include "provider/provider_group.h"

namespace coppice::provider {
namespace {

constexpr std::streamsize kMaxUserDataBytes = 1 << 20;

Result<std::string> ReadUserDataFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return FailedPrecondition(path + " is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  std::string bytes(static_cast<size_t>(kMaxUserDataBytes) + 1, '\0');
  file.read(bytes.data(), kMaxUserDataBytes + 1);
  bytes.resize(static_cast<size_t>(file.gcount()));
  if (file.bad()) return Unavailable(path + " cannot be read");
  if (bytes.size() > static_cast<size_t>(kMaxUserDataBytes)) {
    return ResourceExhausted(fmt::format("{} is larger than {} bytes", path, kMaxUserDataBytes));
  }
  return bytes;
}

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
// Single characters that are names by themselves in a shell, and so in Go.
bool IsSpecialName(char c) {
  return std::string_view("*#$@!?-0123456789").find(c) != std::string_view::npos;
}

// The name at the start of `text` (after the dollar) and how many bytes it takes, braces included.
// An empty name with a length is bad syntax that disappears.
std::pair<std::string_view, size_t> NameAt(std::string_view text) {
  if (text[0] == '{') {
    if (text.size() > 2 && IsSpecialName(text[1]) && text[2] == '}') return {text.substr(1, 1), 3};
    const size_t close = text.find('}');
    if (close == std::string_view::npos) return {"", 1};  // only the brace goes
    if (close == 1) return {"", 2};
    return {text.substr(1, close - 1), close + 1};
  }
  if (IsSpecialName(text[0])) return {text.substr(0, 1), 1};
  size_t length = 0;
  while (length < text.size() && IsNameByte(text[length])) ++length;
  return {text.substr(0, length), length};
}

// Reads the top level and hands each group on.
class Reader {
 public:
  Reader(std::string path, const ConfigRules& rules, const ReadFile& read_file,
         yaml::Problems& problems)
      : path_(std::move(path)), rules_(rules), read_file_(read_file), problems_(problems) {}

  ProviderConfig Read(const yaml::Node& root) {
    config_.files.push_back(path_);
    yaml::MapReader map(root, problems_);
    ReadExpanded(map, "listen", config_.listen);
    if (config_.listen.empty()) map.Complain("listen", "must not be empty; remove it for :8086");
    std::string metrics;
    if (ReadExpanded(map, "metricsListen", metrics)) config_.metrics_listen = metrics;
    ReadExpanded(map, "clusterTag", config_.cluster_tag);
    Duration after{};
    if (map.Read("answerIncreaseAfter", after)) config_.answer_increase_after = after;
    if (after < Duration::zero()) {
      map.Complain("answerIncreaseAfter", "must not be negative; 0 waits for every create");
    }
    ReadTls(map);
    ReadCloud(map);
    ReadGroups(map);
    if (config_.cluster_tag.empty()) {
      map.Complain("clusterTag",
                   "is not set: a second cluster in the same project with a node group of the same "
                   "name would "
                   "share its machines",
                   yaml::Severity::kWarning);
    }
    map.Finish();
    return std::move(config_);
  }

 private:
  bool ReadExpanded(yaml::MapReader& map, const char* key, std::string& out) {
    std::string text;
    if (!map.Read(key, text)) return false;
    std::vector<std::string> missing;
    out = ExpandEnv(text, rules_.getenv, missing);
    for (const std::string& name : missing) {
      map.Complain(
          key, fmt::format("the environment has no variable '{}', so it reads as nothing", name),
          yaml::Severity::kWarning);
    }
    return true;
  }

  void ReadTls(yaml::MapReader& map) {
    const yaml::Node node = map.Get("tls");
    if (node.kind() == yaml::Node::Kind::kAbsent || node.kind() == yaml::Node::Kind::kNull) return;
    config_.tls_node = node;
    yaml::MapReader tls(node, problems_);
    ProviderTls& out = config_.tls.emplace();
    const auto file = [&](const char* key, std::string& path) {
      if (!ReadExpanded(tls, key, path) || path.empty()) {
        tls.Complain(key,
                     "is required, for both sides show a certificate; remove the whole of tls for "
                     "plaintext");
      }
    };
    file("certFile", out.cert_file);
    file("keyFile", out.key_file);
    file("caFile", out.ca_file);
    tls.Read("allowedClientNames", out.allowed_client_names);
    tls.Finish();
  }

  // The cloud's own keys are read, and judged, by its plug-in.
  void ReadCloud(yaml::MapReader& map) {
    config_.cloud = map.Get("cloud");
    if (config_.cloud.kind() == yaml::Node::Kind::kAbsent) return;
    yaml::MapReader cloud(config_.cloud, problems_);
    cloud.Read("kind", config_.cloud_kind);
    if (config_.cloud_kind.empty())
      cloud.Complain("kind", "must name a cloud, such as cloudscale or simulated");
  }

  // That there is no such cloud is said by whoever opens it.
  std::vector<std::string> RequiredKeys() const {
    const auto factory = rules_.clouds.Find(config_.cloud_kind);
    return factory.ok() ? factory->required_group_keys() : std::vector<std::string>();
  }

  void ReadGroups(yaml::MapReader& map) {
    std::map<std::string, std::string> lines;  // name to where it is
    const GroupContext context{
        .cluster_tag = config_.cluster_tag,
        .required = RequiredKeys(),
        .user_data = [this](const std::string& text) { return UserData(text); }};
    map.EachItem("nodeGroups", [&](const yaml::Node& item) {
      cloud::GroupConfig group = ReadGroup(item, context, problems_);
      const std::string where = fmt::format("line {}", item.place().line);
      const auto [first, added] = lines.emplace(group.name, where);
      if (!added && !group.name.empty()) {
        problems_.Add({.place = item.place(),
                       .path = item.path() + ".name",
                       .text = fmt::format("'{}' is the name of the group in {} already",
                                           group.name, first->second)});
      }
      config_.groups.push_back(std::move(group));
    });
    const yaml::Node::Kind kind = map.Get("nodeGroups").kind();
    if (rules_.groups == Groups::kRequired && config_.groups.empty() &&
        kind != yaml::Node::Kind::kScalar && kind != yaml::Node::Kind::kMap) {
      map.Complain("nodeGroups", "at least one node group is required");
    }
  }

  // "@file" is read, relative to the configuration file; a lone "@" is itself.
  Result<std::string> UserData(const std::string& text) {
    if (text.size() < 2 || text[0] != '@') return text;
    const std::filesystem::path named(text.substr(1));
    const std::string file = named.is_absolute()
                                 ? named.string()
                                 : (std::filesystem::path(path_).parent_path() / named).string();
    const auto known = user_data_files_.find(file);
    if (known != user_data_files_.end()) return known->second;
    std::string bytes = TRY(read_file_(file));
    config_.files.push_back(file);
    user_data_files_.emplace(file, bytes);
    return bytes;
  }

  const std::string path_;
  const ConfigRules& rules_;
  const ReadFile& read_file_;
  yaml::Problems& problems_;
  ProviderConfig config_;
  std::map<std::string, std::string> user_data_files_;  // two hundred groups often share one
};

Result<ProviderConfig> FromRoot(const yaml::Node& root, const std::string& path,
                                const ConfigRules& rules, const ReadFile& read_file,
                                yaml::Problems& problems) {
  ProviderConfig config = Reader(path, rules, read_file, problems).Read(root);
  if (problems.has_errors()) return problems.ToStatus();
  return config;
}

}  // namespace

std::string ExpandEnv(std::string_view text, const GetEnv& getenv,
                      std::vector<std::string>& missing) {
  std::string out;
  size_t i = 0;
  while (i < text.size()) {
    if (text[i] != '$' || i + 1 >= text.size()) {
      out += text[i++];
      continue;
    }
    const auto [name, length] = NameAt(text.substr(i + 1));
    if (name.empty() && length == 0) out += '$';  // a dollar in front of something else stays
    if (!name.empty()) {
      const std::string variable(name);
      if (const char* value = getenv(variable.c_str())) {
        out += value;
      } else {
        missing.push_back(variable);
      }
    }
    i += 1 + length;
  }
  return out;
}

Result<ProviderConfig> LoadProviderConfig(const std::string& path, const ConfigRules& rules,
                                          yaml::Problems& problems) {
  const yaml::Node root = TRY(yaml::ParseFile(path));
  return FromRoot(root, path, rules, ReadUserDataFile, problems);
}

Result<ProviderConfig> ParseProviderConfig(std::string_view text, const std::string& path,
                                           const ConfigRules& rules, const ReadFile& read_file,
                                           yaml::Problems& problems) {
  const yaml::Node root = TRY(yaml::Parse(text, path));
  return FromRoot(root, path, rules, read_file, problems);
}

}  // namespace coppice::provider
