// The configuration file of `coppice provider`.
//
// Its keys are those of the Go provider for cloudscale.ch, with the same meaning, so that its files
// work unchanged; ours are added (the README of this folder marks them). Every complaint names
// file, line and column; an unknown key is a warning that names the nearest known one.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/yaml.h"
#include "cloud/cloud.h"
#include "cloud/group_config.h"

namespace coppice::provider {

struct ProviderTls {
  std::string cert_file;
  std::string key_file;
  std::string ca_file;
  std::vector<std::string> allowed_client_names;  // empty: every certificate of the CA
  friend bool operator==(const ProviderTls&, const ProviderTls&) = default;
};

struct ProviderConfig {
  std::string listen = ":8086";
  std::optional<std::string> metrics_listen;  // unset: the flag's default counts
  std::optional<ProviderTls> tls;             // unset: plaintext, which has to be allowed elsewhere
  yaml::Node tls_node;                        // where tls stands, for complaints about its files
  std::string cluster_tag;
  // After how long an increase is answered although the cloud has not answered every create; zero:
  // when it has. Unset: a second over gRPC, and in the autoscaler's own process when it has.
  std::optional<Duration> answer_increase_after;
  std::string cloud_kind = "cloudscale";
  yaml::Node cloud;  // what the cloud's factory reads; absent reads as empty
  std::vector<cloud::GroupConfig> groups;
  // What was read, the configuration file first: whoever re-reads on change watches these.
  std::vector<std::string> files;
};

// null when the variable is not set
using GetEnv = std::function<const char*(const char* name)>;
// The bytes of a file that userData names with "@".
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Whether a file without groups is of any use: it is to who buys by the shape (node pools).
enum class Groups { kRequired, kOptional };

// What a file is held against. `clouds` say what their groups need (CloudFactory); who opens no
// cloud hands in none, and nothing of the kind is required.
struct ConfigRules {
  const cloud::CloudRegistry& clouds;
  GetEnv getenv;
  Groups groups = Groups::kRequired;
};

// The configuration, with warnings in `problems`; or an error: the file cannot be read, is not
// YAML, or InvalidArgument with all complaints, one per line, which are in `problems` too.
Result<ProviderConfig> LoadProviderConfig(const std::string& path, const ConfigRules& rules,
                                          yaml::Problems& problems);

// The same on a text; `path` is for complaints and for what is relative to it.
Result<ProviderConfig> ParseProviderConfig(std::string_view text, const std::string& path,
                                           const ConfigRules& rules, const ReadFile& read_file,
                                           yaml::Problems& problems);

// $NAME and ${NAME} as Go's os.ExpandEnv replaces them. Names that are not set become "" and are
// added to `missing`.
std::string ExpandEnv(std::string_view text, const GetEnv& getenv,
                      std::vector<std::string>& missing);

}  // namespace coppice::provider
