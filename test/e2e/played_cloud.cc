#include "test/e2e/played_cloud.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "test/e2e/api_client.h"
#include "test/support/must.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;

Json NodeOf(const Json& server) {
  const std::string name = server.at("name");
  const Json& flavor = server.at("flavor");
  const Json resources = {{"cpu", std::to_string(flavor.at("vcpu_count").get<int>())},
                          {"memory", std::to_string(flavor.at("memory_gb").get<int>()) + "Gi"},
                          {"ephemeral-storage", "50Gi"},
                          {"pods", "110"}};
  Json labels = {{"kubernetes.io/hostname", name},
                 {"kubernetes.io/arch", "amd64"},
                 {"kubernetes.io/os", "linux"},
                 {"node.kubernetes.io/instance-type", flavor.at("slug")},
                 {"topology.kubernetes.io/zone", server.at("zone").at("slug")}};
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", name},
            {"labels", labels},
            {"annotations", {{"kwok.x-k8s.io/node", "fake"}, {"e2e/played", "true"}}}}},
          {"spec", {{"providerID", "cloudscale://" + server.at("uuid").get<std::string>()}}},
          {"status",
           {{"capacity", resources},
            {"allocatable", resources},
            {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "Played"}}}}}}};
}

}  // namespace

PlayedCloud::PlayedCloud(std::string kubeconfig, Duration boot_time)
    : kubeconfig_(std::move(kubeconfig)),
      emulator_({.boot_time = boot_time}, clock_, rng_),
      server_(MustValue(emulator::WireServer::Start(
          "127.0.0.1", 0, clock_,
          [this](const emulator::Request& request) { return emulator_.Handle(request); }))),
      player_([this] { Play(); }) {}

PlayedCloud::~PlayedCloud() {
  stop_ = true;
  player_.join();
}

void PlayedCloud::Play() {
  ApiClient api(kubeconfig_);
  std::set<std::string> played;
  while (!stop_) {
    emulator::Request list{.method = "GET",
                           .path = "/v1/servers",
                           .query = {},
                           .headers = {{"authorization", "Bearer any"}},
                           .body = ""};
    const Json servers = Json::parse(emulator_.Handle(list).body, nullptr, false);
    std::set<std::string> there;
    for (const Json& server : servers.is_array() ? servers : Json::array()) {
      const std::string name = server.at("name");
      there.insert(name);
      if (server.at("status") != "running" || played.contains(name)) continue;
      Json node = NodeOf(server);
      {
        const std::lock_guard lock(mutex_);
        const auto more = dress_.find(name.substr(0, name.rfind('-')));
        if (more != dress_.end()) node.merge_patch(Json::parse(more->second));
      }
      const ApiClient::Answer created = api.Send("POST", "/api/v1/nodes", node);
      if (created.ok() || created.status == 409) {
        played.insert(name);
      } else {
        std::cerr << "no node for " << name << ": " << created.body.dump() << "\n";
      }
    }
    peak_ = std::max<size_t>(peak_, there.size());
    for (auto it = played.begin(); it != played.end();) {
      // A machine that is gone takes its node along, if nobody else has done so.
      const auto gone = [&] {
        const int status = api.Send("DELETE", "/api/v1/nodes/" + *it).status;
        return status == 200 || status == 404;
      };
      it = !there.contains(*it) && gone() ? played.erase(it) : std::next(it);
    }
    clock_.SleepFor(std::chrono::milliseconds(50));
  }
}

}  // namespace coppice::test
