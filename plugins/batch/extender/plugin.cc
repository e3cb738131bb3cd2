// The `extender` plug-in under its name. Lines to extenders are kept from session to session, by
// everything that the configuration says about them.

#include <mutex>

#include "batch/plugin.h"
#include "plugins/batch/extender/extender.h"
#include "plugins/batch/extender/factory.h"

namespace coppice::batch::extender {
namespace {

// Whatever makes two extenders different ones.
std::string Fingerprint(const Config& config, bool upstream_exact) {
  std::string all = upstream_exact ? "exact" : "";
  for (const std::string& part :
       {config.url_prefix, std::to_string(config.timeout.count()), config.ca_file, config.cert_file,
        config.key_file, config.token_file, std::to_string(config.breaker_failures),
        std::to_string(config.breaker_pause.count()), config.verb(Verb::kSessionOpen),
        std::string(config.delta ? "delta" : "")}) {
    all += '\n';
    all += part;
  }
  return all;
}

// Idle lines. One that is in use is not here, so two sessions at once never share one.
class Lines {
 public:
  Lines(const Clock& clock, ClientMaker make, PipesMaker make_pipes)
      : clock_(clock), make_(std::move(make)), make_pipes_(std::move(make_pipes)) {}

  Result<std::unique_ptr<Line>> Take(const std::string& key, const Config& config, bool exact) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = idle_.find(key); found != idle_.end()) {
        std::unique_ptr<Line> line = std::move(found->second);
        idle_.erase(found);
        return line;
      }
    }
    auto line = std::make_unique<Line>();
    line->caller = TRY(Caller::Create(config, exact, clock_, make_, make_pipes_));
    return line;
  }
  void Return(const std::string& key, std::unique_ptr<Line> line) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() >= kMostIdle) idle_.clear();  // configurations came and went
    idle_.emplace(key, std::move(line));
  }

 private:
  static constexpr size_t kMostIdle = 64;
  const Clock& clock_;
  ClientMaker make_;
  PipesMaker make_pipes_;
  std::mutex mutex_;
  std::multimap<std::string, std::unique_ptr<Line>> idle_;
};

}  // namespace

PluginFactory MakeFactory(const Clock& clock, ClientMaker make, PipesMaker make_pipes) {
  auto lines = std::make_shared<Lines>(clock, std::move(make), std::move(make_pipes));
  return [lines](const PluginContext& context) -> Result<std::unique_ptr<Plugin>> {
    const bool exact = context.options.upstream_exact;
    Config config = TRY(
        ReadConfig(context.arguments, context.name == kListedExtender ? "" : "extender.", exact));
    const std::string key = Fingerprint(config, exact);
    auto line = TRY(lines->Take(key, config, exact));
    return std::unique_ptr<Plugin>(std::make_unique<Extender>(
        std::move(config), exact, std::move(line),
        [lines, key](std::unique_ptr<Line> back) { lines->Return(key, std::move(back)); }));
  };
}

void Register(PluginRegistry& registry) {
  static const SystemClock kClock;
  registry.Add("extender", MakeFactory(
                               kClock,
                               [](net::HttpClientOptions options) {
                                 return net::MakeHttpClient(std::move(options), kClock);
                               },
                               net::MakeHttpPipes));
}

}  // namespace coppice::batch::extender
