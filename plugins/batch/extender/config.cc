#include "plugins/batch/extender/config.h"

#include <algorithm>
#include <vector>

#include "base/go_duration.h"

namespace coppice::batch::extender {
namespace {

constexpr std::array<std::string_view, kVerbs> kVerbKeys{"onSessionOpenVerb",  "onSessionCloseVerb",
                                                         "predicateVerb",      "prioritizeVerb",
                                                         "preemptableVerb",    "reclaimableVerb",
                                                         "queueOverusedVerb",  "jobEnqueueableVerb",
                                                         "jobEnqueuedVerb",    "jobReadyVerb",
                                                         "allocateFuncVerb",   "deallocateFuncVerb",
                                                         "batchPredicateVerb", "bindVerb"};

class KeyReader {
 public:
  KeyReader(const Arguments& arguments, std::string_view prefix)
      : arguments_(arguments), prefix_(prefix) {}

  // A value of another type counts as absent.
  template <class T>
  void Get(std::string_view key, T& out) const {
    arguments_.Get(prefix_ + std::string(key), out);
  }
  const ArgumentValue* Find(std::string_view key) const {
    return arguments_.Find(prefix_ + std::string(key));
  }
  void GetDuration(std::string_view key, Duration& out) const {
    std::string text;
    Get(key, text);
    if (const auto duration = ParseGoDuration(text); !text.empty() && duration.ok()) {
      out = *duration;
    }
  }

 private:
  const Arguments& arguments_;
  std::string prefix_;
};

Status ReadManaged(const ArgumentValue* value, std::set<std::string>& out) {
  if (!value || value->is_null()) return Status::Ok();
  const ArgumentValue::List* list = value->AsList();
  if (!list) return InvalidArgument("extender: managedResources must be a list of texts");
  for (const ArgumentValue& item : *list) {
    // An empty item is an empty text to upstream's reader.
    if (!item.AsText() && !item.is_null()) {
      return InvalidArgument("extender: managedResources must hold nothing but texts");
    }
    out.insert(item.AsText() ? *item.AsText() : std::string());
  }
  return Status::Ok();
}

bool Names(const std::set<std::string>& managed, const model::ResourceList& list) {
  return std::ranges::any_of(list,
                             [&](const auto& entry) { return managed.contains(entry.first); });
}

}  // namespace

std::string_view KeyOf(Verb verb) { return kVerbKeys[static_cast<size_t>(verb)]; }

bool Config::Interests(const model::Pod& pod) const {
  if (managed_resources.empty()) return true;
  const auto names = [&](const std::vector<model::Container>& containers) {
    return std::ranges::any_of(containers, [&](const model::Container& container) {
      return Names(managed_resources, container.resources.requests) ||
             Names(managed_resources, container.resources.limits);
    });
  };
  return names(pod.spec.containers) || names(pod.spec.init_containers);
}

Result<Config> ReadConfig(const Arguments& arguments, std::string_view prefix, bool upstream_keys) {
  const KeyReader reader(arguments, prefix);
  Config config;
  reader.Get("urlPrefix", config.url_prefix);
  for (size_t i = 0; i < (upstream_keys ? kUpstreamVerbs : kVerbs); ++i) {
    reader.Get(kVerbKeys[i], config.verbs[i]);
  }
  reader.Get("ignorable", config.ignorable);
  reader.GetDuration("httpTimeout", config.timeout);
  TRY(ReadManaged(reader.Find("managedResources"), config.managed_resources));
  if (upstream_keys) {
    config.breaker_failures = 0;
    return config;
  }
  reader.Get("weight", config.weight);
  reader.Get("compact", config.compact);
  reader.Get("delta", config.delta);
  reader.Get("caFile", config.ca_file);
  reader.Get("certFile", config.cert_file);
  reader.Get("keyFile", config.key_file);
  reader.Get("tokenFile", config.token_file);
  reader.Get("breakerFailures", config.breaker_failures);
  reader.GetDuration("breakerPause", config.breaker_pause);
  if (config.cert_file.empty() != config.key_file.empty()) {
    return InvalidArgument("extender: certFile and keyFile are of use only together");
  }
  return config;
}

}  // namespace coppice::batch::extender
