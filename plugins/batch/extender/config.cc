#include "plugins/batch/extender/config.h"

#include <algorithm>
#include <vector>

#include "base/go_duration.h"
#include "base/strings.h"

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
  void Get(std::string_view key, T& out) {
    const ArgumentValue* value = Find(key);
    if (value && !IsReadable(*value, out)) Complain(key, "cannot be read");
    arguments_.Get(prefix_ + std::string(key), out);
  }
  const ArgumentValue* Find(std::string_view key) {
    known_.emplace_back(key);
    return arguments_.Find(prefix_ + std::string(key));
  }
  void GetDuration(std::string_view key, Duration& out) {
    const ArgumentValue* value = Find(key);
    if (!value || value->is_null()) return;
    if (prefix_.empty() && value->AsInt()) {
      out = Duration(*value->AsInt());
    } else if (const auto read = ParseGoDuration(value->AsText() ? *value->AsText() : "");
               read.ok()) {
      out = *read;
    } else {
      Complain(key, "is a time such as 100ms");
    }
  }

  // What is wrong, if anything may be wrong here.
  Status Finish() const {
    if (!prefix_.empty()) return Status::Ok();
    TRY(problem_);
    for (const auto& [key, value] : arguments_.values()) {
      if (std::ranges::find(known_, key) != known_.end()) continue;
      const std::string nearest = Nearest(key, known_);
      return InvalidArgument("the key '" + key + "' is unknown" +
                             (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    return Status::Ok();
  }

 private:
  static bool IsReadable(const ArgumentValue& value, const std::string&) {
    return value.is_null() || value.AsText();
  }
  static bool IsReadable(const ArgumentValue& value, bool) {
    return value.is_null() || value.AsBool() ||
           (value.AsText() && ParseGoBool(*value.AsText()).has_value());
  }
  static bool IsReadable(const ArgumentValue& value, double) {
    return value.is_null() || value.AsFloat() || value.AsInt();
  }
  static bool IsReadable(const ArgumentValue& value, int64_t) {
    return value.is_null() || value.AsInt();
  }

  void Complain(std::string_view key, std::string_view what) {
    if (problem_.ok()) problem_ = InvalidArgument(std::string(key) + " " + std::string(what));
  }

  const Arguments& arguments_;
  std::string prefix_;
  std::vector<std::string> known_;
  Status problem_;
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
  KeyReader reader(arguments, prefix);
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
  TRY(reader.Finish());
  if (config.cert_file.empty() != config.key_file.empty()) {
    return InvalidArgument("extender: certFile and keyFile are of use only together");
  }
  return config;
}

}  // namespace coppice::batch::extender
