#include "test/emulator/cloudscale_emulator.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "test/emulator/catalog.h"
#include "test/emulator/create_server.h"
#include "test/emulator/faults.h"

namespace coppice::emulator {
namespace {

using Json = nlohmann::json;

Response Answer(int status, const Json& body) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}},
          .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)};
}
Response Nothing() { return {.status = 204}; }
Response Detail(int status, const std::string& text) { return Answer(status, {{"detail", text}}); }
Response Missing() { return Detail(404, "Not found."); }

std::string Rfc3339(TimePoint when) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(when.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(static_cast<std::time_t>(micros / 1'000'000)), micros % 1'000'000);
}

// "tag:key=value" filters are ANDed; without a value the key alone counts.
bool MatchesTags(const Json& item, const Request& request) {
  const Json tags = item.value("tags", Json::object());
  return std::ranges::all_of(request.query, [&](const auto& parameter) {
    if (!parameter.first.starts_with("tag:")) return true;
    const auto tag = tags.find(parameter.first.substr(4));
    return tag != tags.end() && (parameter.second.empty() || *tag == parameter.second);
  });
}

struct Server {
  Json body;
  Json request;           // what it was created from
  TimePoint listed_from;  // list lag after create
  TimePoint settles_at;   // "changing" until then
  std::string settles_as;
};

struct Ghost {  // deleted, but still listed
  Json body;
  TimePoint until;
};

}  // namespace

struct CloudscaleEmulator::State {
  EmulatorOptions options;
  Clock& clock;
  Rng& rng;
  Faults faults;
  std::vector<Server> servers;
  std::vector<Ghost> ghosts;
  // Networks, subnets, server groups: plain collections under their path.
  std::map<std::string, Json> collections = {
      {"networks", Json::array()}, {"subnets", Json::array()}, {"server-groups", Json::array()}};
  std::map<std::string, int> requests;

  std::string NewUuid() {
    return fmt::format("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", rng.Below(1ULL << 32),
                       rng.Below(1 << 16), rng.Below(1 << 12), rng.Below(1 << 12),
                       rng.Below(1ULL << 48));
  }

  void Settle() {
    const TimePoint now = clock.Now();
    for (Server& server : servers) {
      if (!server.settles_as.empty() && server.settles_at <= now) {
        server.body["status"] = std::exchange(server.settles_as, "");
      }
    }
    std::erase_if(ghosts, [now](const Ghost& ghost) { return ghost.until <= now; });
  }

  void Change(Server& server, std::string into) {
    server.body["status"] = "changing";
    server.settles_as = std::move(into);
    server.settles_at = clock.Now() + options.boot_time;
    Settle();  // a boot time of zero is over at once
  }

  std::optional<Response> Refusal(const Request& request);
  Response Route(const Request& request);
  Response Servers(const Request& request, const std::vector<std::string>& path);
  Response ListServers(const Request& request);
  Response CreateServer(const Request& request);
  Response PatchServer(Server& server, const Request& request);
  Response ServerAction(Server& server, const std::string& action);
  Response Collection(const Request& request, const std::vector<std::string>& path);
  Response CreateIn(const std::string& kind, Json item);
  Response Control(const Request& request);
  Json Add(const std::string& kind, Json item);
};

// Faults and rights, before anything is done.
std::optional<Response> CloudscaleEmulator::State::Refusal(const Request& request) {
  const std::string* authorization = request.Header("authorization");
  const std::string token = authorization != nullptr && authorization->starts_with("Bearer ")
                                ? authorization->substr(7)
                                : "";
  if (token.empty()) return Detail(401, "Authentication credentials were not provided.");
  const bool read_only = !options.read_only_token.empty() && token == options.read_only_token;
  if (!options.token.empty() && token != options.token && !read_only) {
    return Detail(401, "Invalid token.");
  }
  if (read_only && request.method != "GET") {
    return Detail(403, "You do not have permission to perform this action.");
  }
  if (!(request.method + " " + request.path).starts_with(faults.only)) return std::nullopt;
  const auto strikes = [](int& count) { return count > 0 && count-- > 0; };
  if (strikes(faults.too_many_requests)) {
    Response response = Detail(429, "Request was throttled.");
    response.headers.emplace_back("Retry-After", std::to_string(faults.retry_after_seconds));
    return response;
  }
  if (strikes(faults.server_errors)) return Detail(500, "Internal server error.");
  if (strikes(faults.html_errors)) {
    return Response{
        .status = 502,
        .headers = {{"Content-Type", "text/html"}},
        .body = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"};
  }
  return std::nullopt;
}

Response CloudscaleEmulator::State::ListServers(const Request& request) {
  Json list = Json::array();
  for (const Server& server : servers) {
    if (server.listed_from <= clock.Now() && MatchesTags(server.body, request))
      list.push_back(server.body);
  }
  for (const Ghost& ghost : ghosts) {
    if (MatchesTags(ghost.body, request)) list.push_back(ghost.body);
  }
  return Answer(200, list);
}

Response CloudscaleEmulator::State::CreateServer(const Request& request) {
  const Json wanted = Json::parse(request.body, nullptr, false);
  if (wanted.is_discarded()) return Detail(400, "JSON parse error.");
  Json body;
  Json errors = Json::object();
  BuildServer(wanted,
              {collections["networks"], collections["subnets"], collections["server-groups"],
               [this] { return NewUuid(); }},
              body, errors);
  if (!errors.empty()) return Answer(400, errors);
  if (faults.refuse_duplicate_names && std::ranges::any_of(servers, [&](const Server& s) {
        return s.body["name"] == body["name"];
      })) {
    return Answer(400, {{"name", "A server with this name already exists."}});
  }
  if (faults.server_quota >= 0 && servers.size() >= static_cast<size_t>(faults.server_quota)) {
    return Detail(400, "Your quota of servers is exhausted.");
  }
  const std::string uuid = NewUuid();
  body["uuid"] = uuid;
  body["href"] = "https://api.cloudscale.ch/v1/servers/" + uuid;
  body["created_at"] = Rfc3339(clock.Now());
  const auto strikes = [](int& count) { return count > 0 && count-- > 0; };
  Server& server = servers.emplace_back(Server{
      .body = body, .request = wanted, .listed_from = clock.Now() + faults.list_lag_after_create});
  Change(server, strikes(faults.failed_creates) ? "error" : "running");
  Response response = Answer(201, server.body);
  response.delay = faults.create_latency;
  if (strikes(faults.closed_creates)) response.ending = Response::Ending::kClose;
  if (strikes(faults.hung_creates)) response.ending = Response::Ending::kHang;
  return response;
}

Response CloudscaleEmulator::State::PatchServer(Server& server, const Request& request) {
  const Json change = Json::parse(request.body, nullptr, false);
  if (!change.is_object() || change.empty()) return Detail(400, "JSON object expected.");
  if (change.size() > 1) return Detail(400, "Only one attribute can be changed at a time.");
  const std::string& key = change.begin().key();
  const Json& value = change.begin().value();
  if (key == "tags") {
    if (!ValidTags(value)) return Answer(400, {{"tags", "Must be a map of strings."}});
    server.body["tags"] = value;
  } else if (key == "name") {
    if (!value.is_string() || !ValidHostName(value.get<std::string>())) {
      return Answer(400, {{"name", "Name must be a valid host name or FQDN."}});
    }
    server.body["name"] = value;
  } else if (key == "flavor") {
    const Json flavor =
        value.is_string() ? FindIn(Flavors(), "slug", value.get<std::string>()) : Json();
    if (flavor.is_null()) return Answer(400, {{"flavor", "Flavor does not exist."}});
    if (server.body["status"] != "stopped")
      return Detail(400, "The server must be stopped to be scaled.");
    server.body["flavor"] = flavor;
    server.body["flavor"].erase("zones");
  } else if (key == "status" && (value == "running" || value == "stopped")) {
    Change(server, value.get<std::string>());
  } else {
    return Answer(400, {{key, "This field cannot be changed."}});
  }
  return Nothing();
}

Response CloudscaleEmulator::State::ServerAction(Server& server, const std::string& action) {
  if (action == "start" || action == "reboot") {
    Change(server, "running");
  } else if (action == "stop") {
    Change(server, "stopped");
  } else {
    return Missing();
  }
  return Nothing();
}

Response CloudscaleEmulator::State::Servers(const Request& request,
                                            const std::vector<std::string>& path) {
  if (path.size() == 2) {
    if (request.method == "GET") return ListServers(request);
    if (request.method == "POST") return CreateServer(request);
    return Detail(405, "Method not allowed.");
  }
  const auto found =
      std::ranges::find_if(servers, [&](const Server& s) { return s.body["uuid"] == path[2]; });
  if (found == servers.end()) return Missing();
  if (path.size() == 4) {
    return request.method == "POST" ? ServerAction(*found, path[3])
                                    : Detail(405, "Method not allowed.");
  }
  if (request.method == "GET") return Answer(200, found->body);
  if (request.method == "PATCH") return PatchServer(*found, request);
  if (request.method != "DELETE") return Detail(405, "Method not allowed.");
  if (faults.list_lag_after_delete > Duration::zero()) {
    ghosts.push_back({found->body, clock.Now() + faults.list_lag_after_delete});
  }
  servers.erase(found);
  return Nothing();
}

Json CloudscaleEmulator::State::Add(const std::string& kind, Json item) {
  const std::string uuid = NewUuid();
  item["uuid"] = uuid;
  item["href"] = fmt::format("https://api.cloudscale.ch/v1/{}/{}", kind, uuid);
  item["created_at"] = Rfc3339(clock.Now());
  if (!item.contains("tags")) item["tags"] = Json::object();
  collections[kind].push_back(item);
  return item;
}

Response CloudscaleEmulator::State::CreateIn(const std::string& kind, Json item) {
  if (!item.is_object()) return Detail(400, "JSON object expected.");
  if (item.contains("tags") && !ValidTags(item["tags"]))
    return Answer(400, {{"tags", "Must be a map of strings."}});
  if (kind == "subnets") {
    const Json network = FindIn(collections["networks"], "uuid", item.value("network", ""));
    if (network.is_null()) return Answer(400, {{"network", "Network does not exist."}});
    item["network"] = {
        {"href", network["href"]}, {"uuid", network["uuid"]}, {"name", network["name"]}};
  } else {
    if (item.value("name", "").empty()) return Answer(400, {{"name", "This field is required."}});
    item["zone"] = {{"slug", item.value("zone", "rma1")}};
    if (kind == "server-groups") item["servers"] = Json::array();
    if (kind == "networks") item["subnets"] = Json::array();
  }
  return Answer(201, Add(kind, std::move(item)));
}

Response CloudscaleEmulator::State::Collection(const Request& request,
                                               const std::vector<std::string>& path) {
  Json& list = collections.at(path[1]);
  if (path.size() == 2) {
    if (request.method == "POST")
      return CreateIn(path[1], Json::parse(request.body, nullptr, false));
    Json matching = Json::array();
    for (const Json& item : list) {
      if (MatchesTags(item, request)) matching.push_back(item);
    }
    return Answer(200, matching);
  }
  const auto found =
      std::ranges::find_if(list, [&](const Json& i) { return i["uuid"] == path[2]; });
  if (found == list.end()) return Missing();
  if (request.method == "GET") return Answer(200, *found);
  if (request.method == "DELETE") {
    list.erase(found);
    return Nothing();
  }
  const Json change = Json::parse(request.body, nullptr, false);
  if (request.method != "PATCH" || !change.is_object()) return Detail(400, "JSON object expected.");
  found->update(change);
  return Nothing();
}

Response CloudscaleEmulator::State::Route(const Request& request) {
  std::vector<std::string> path = Split(request.path.substr(1), '/');
  if (!path.empty() && path.back().empty()) path.pop_back();  // a slash at the end means nothing
  if (path.size() < 2 || path[0] != "v1" || path.size() > 4) return Missing();
  ++requests[fmt::format("{} /v1/{}", request.method, path[1])];
  if (auto refusal = Refusal(request)) return *refusal;
  if (path[1] == "servers") return Servers(request, path);
  if (collections.contains(path[1]) && path.size() <= 3) return Collection(request, path);
  if (request.method != "GET" || path.size() != 2) return Missing();
  if (path[1] == "flavors") return Answer(200, Flavors());
  if (path[1] == "images") return Answer(200, Images());
  if (path[1] == "custom-images") return Answer(200, CustomImages());
  if (path[1] == "regions") return Answer(200, Regions());
  static const std::vector<std::string> kEmpty = {
      "volumes", "volume-snapshots", "floating-ips", "load-balancers", "objects-users", "metrics"};
  if (std::ranges::find(kEmpty, path[1]) != kEmpty.end()) return Answer(200, Json::array());
  return Missing();
}

Response CloudscaleEmulator::State::Control(const Request& request) {
  if (request.path == "/emulator/faults") {
    if (request.method == "GET") return Answer(200, FaultsToJson(faults));
    Json all = FaultsToJson(faults);
    const Json changes = Json::parse(request.body, nullptr, false);
    if (!changes.is_object()) return Detail(400, "A JSON object of faults is expected.");
    for (const auto& [key, value] : changes.items()) {
      if (!all.contains(key)) return Detail(400, "There is no fault '" + key + "'.");
      all[key] = value;
    }
    faults = FaultsFromJson(all);
    return Answer(200, FaultsToJson(faults));
  }
  if (request.path == "/emulator/stats") {
    return Answer(200, {{"servers", servers.size()}, {"requests", requests}});
  }
  if (request.path == "/emulator/reset" && request.method == "POST") {
    servers.clear();
    ghosts.clear();
    requests.clear();
    for (auto& [kind, list] : collections) list = Json::array();
    faults = {};
    return Nothing();
  }
  return Missing();
}

CloudscaleEmulator::CloudscaleEmulator(EmulatorOptions options, Clock& clock, Rng& rng)
    : state_(new State{.options = std::move(options), .clock = clock, .rng = rng}) {}
CloudscaleEmulator::~CloudscaleEmulator() = default;

Response CloudscaleEmulator::Handle(const Request& request) {
  const std::lock_guard lock(mutex_);
  state_->Settle();
  try {
    if (request.path.starts_with("/emulator/")) return state_->Control(request);
    if (!request.path.starts_with('/')) return Missing();
    Response response = state_->Route(request);
    response.delay += state_->faults.latency;
    if (state_->faults.truncated_answers > 0 && response.body.size() > 1 &&
        (request.method + " " + request.path).starts_with(state_->faults.only)) {
      --state_->faults.truncated_answers;
      response.ending = Response::Ending::kTruncate;
    }
    return response;
  } catch (const Json::exception&
               wrong_type) {  // a request whose values have other types than asked for
    return Detail(400, wrong_type.what());
  }
}

Faults CloudscaleEmulator::faults() const {
  const std::lock_guard lock(mutex_);
  return state_->faults;
}

void CloudscaleEmulator::SetFaults(const Faults& faults) {
  const std::lock_guard lock(mutex_);
  state_->faults = faults;
}

Status CloudscaleEmulator::SetFaultsFromJson(std::string_view json) {
  const Response response =
      Handle({.method = "PUT", .path = "/emulator/faults", .body = std::string(json)});
  return response.status == 200 ? Status::Ok() : InvalidArgument(response.body);
}

int CloudscaleEmulator::Requests(const std::string& what) const {
  const std::lock_guard lock(mutex_);
  const auto found = state_->requests.find(what);
  return found == state_->requests.end() ? 0 : found->second;
}

size_t CloudscaleEmulator::server_count() const {
  const std::lock_guard lock(mutex_);
  return state_->servers.size();
}

std::vector<std::string> CloudscaleEmulator::server_names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Server& server : state_->servers)
    names.push_back(server.body["name"].get<std::string>());
  return names;
}

std::string CloudscaleEmulator::CreateRequestOf(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  for (const Server& server : state_->servers) {
    if (server.body["name"] == name) return server.request.dump();
  }
  return "";
}

std::string CloudscaleEmulator::AddServer(const std::string& name,
                                          const std::map<std::string, std::string>& tags) {
  const Json request = {{"name", name},
                        {"flavor", "flex-4-1"},
                        {"image", "debian-12"},
                        {"zone", "rma1"},
                        {"tags", tags}};
  const std::lock_guard lock(mutex_);
  const Response created = state_->CreateServer({.method = "POST", .body = request.dump()});
  state_->servers.back().listed_from = {};
  return Json::parse(created.body).at("uuid").get<std::string>();
}

void CloudscaleEmulator::SetServerStatus(const std::string& uuid, const std::string& status) {
  const std::lock_guard lock(mutex_);
  for (Server& server : state_->servers) {
    if (server.body["uuid"] != uuid) continue;
    server.body["status"] = status;
    server.settles_as.clear();
  }
}

std::string CloudscaleEmulator::AddNetwork(const std::string& name, const std::string& zone) {
  const std::lock_guard lock(mutex_);
  return state_
      ->Add("networks", {{"name", name}, {"zone", {{"slug", zone}}}, {"subnets", Json::array()}})
      .at("uuid")
      .get<std::string>();
}

std::string CloudscaleEmulator::AddSubnet(const std::string& network_uuid,
                                          const std::string& cidr) {
  const std::lock_guard lock(mutex_);
  return state_->Add("subnets", {{"cidr", cidr}, {"network", {{"uuid", network_uuid}}}})
      .at("uuid")
      .get<std::string>();
}

std::string CloudscaleEmulator::AddServerGroup(const std::string& name, const std::string& zone) {
  const std::lock_guard lock(mutex_);
  return state_
      ->Add("server-groups", {{"name", name},
                              {"type", "anti-affinity"},
                              {"zone", {{"slug", zone}}},
                              {"servers", Json::array()}})
      .at("uuid")
      .get<std::string>();
}

}  // namespace coppice::emulator
