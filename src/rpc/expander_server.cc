#include "rpc/expander_server.h"

#include <memory>
#include <utility>

#include "base/mutex.h"
#include "rpc/expander_messages.h"

namespace coppice::rpc {
namespace {

class ExpanderServer {
 public:
  explicit ExpanderServer(ExpanderServerParts parts) : parts_(std::move(parts)) {
    around_.warn = [this](std::string_view reason, std::string text) {
      parts_.log.Warning("an expander warns", {{"reason", reason}, {"text", text}});
    };
    around_.config_map = [this](std::string_view name,
                                std::string_view key) -> Result<std::string> {
      if (!parts_.config_map) return NotFound("there is no ConfigMap " + std::string(name));
      return parts_.config_map(name, key);
    };
  }

  grpc::Answer BestOptions(const grpc::Call& call) {
    const auto offered = ParseBestOptionsRequest(call.request);
    if (!offered.ok()) return offered.status();
    expand::Options options;
    for (const expand::Option& option : (*offered)->options) options.push_back(&option);
    expand::Surroundings around = around_;
    around.templates = (*offered)->templates;
    const expand::Choice choice = Choose(options, around);
    Tell(options, choice);
    return SerializeBestOptionsResponse(choice.survivors);
  }

 private:
  // Reading requests is the long part and goes on in parallel; the chain is of one thread.
  expand::Choice Choose(const expand::Options& options, const expand::Surroundings& around) {
    const MutexLock lock(mutex_);
    return parts_.chain.Choose(options, around);
  }

  void Tell(const expand::Options& options, const expand::Choice& choice) const {
    std::string kept;
    for (const expand::Option* option : choice.survivors)
      kept += (kept.empty() ? "" : ", ") + option->group;
    parts_.log.Info(
        "options narrowed",
        {{"offered", options.size()}, {"kept", choice.survivors.size()}, {"groups", kept}});
    for (const expand::ChainStep& step : choice.steps) {
      if (!step.note.empty())
        parts_.log.Warning("an expander says", {{"expander", step.expander}, {"text", step.note}});
    }
  }

  const ExpanderServerParts parts_;
  expand::Surroundings around_;
  Mutex mutex_;
};

}  // namespace

grpc::Service ExpanderService(ExpanderServerParts parts) {
  const auto server = std::make_shared<ExpanderServer>(std::move(parts));
  return {.name = kExpanderService,
          .methods = {
              {.name = "BestOptions",
               .handler = [server](const grpc::Call& call) { return server->BestOptions(call); },
               .waits = true}}};
}

}  // namespace coppice::rpc
