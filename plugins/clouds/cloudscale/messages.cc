#include "plugins/clouds/cloudscale/messages.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdio>
#include <unordered_set>

#include "base/strings.h"
#include "plugins/clouds/cloudscale/provider_id.h"

namespace coppice::clouds::cloudscale {
namespace {

namespace dom = simdjson::dom;

constexpr int64_t kGiB = int64_t{1} << 30;

// The parser owns what elements point into, so both travel together.
struct Document {
  dom::parser parser;
  dom::element root;
};

Status Parse(std::string_view json, Document& document) {
  const simdjson::error_code error =
      document.parser.parse(json.data(), json.size()).get(document.root);
  if (error != simdjson::SUCCESS) {
    return Internal(fmt::format("the answer is not JSON: {}", simdjson::error_message(error)));
  }
  return Status::Ok();
}

Result<dom::array> AsList(const dom::element& root) {
  dom::array list;
  if (root.get(list) != simdjson::SUCCESS) return Internal("the answer is not a JSON list");
  return list;
}

// "" when the member is absent, null or of another type.
std::string TextAt(const dom::object& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

std::string SlugAt(const dom::object& object, std::string_view key) {
  dom::object inner;
  return object[key].get(inner) == simdjson::SUCCESS ? TextAt(inner, "slug") : "";
}

std::vector<std::string> ZonesAt(const dom::object& object) {
  std::vector<std::string> zones;
  dom::array list;
  if (object["zones"].get(list) == simdjson::SUCCESS) {
    for (const dom::element zone : list) {
      dom::object inner;
      if (zone.get(inner) == simdjson::SUCCESS) zones.push_back(TextAt(inner, "slug"));
    }
  } else if (const std::string one = SlugAt(object, "zone"); !one.empty()) {
    zones.push_back(one);
  }
  return zones;
}

Result<std::string> Required(const dom::object& object, std::string_view what,
                             std::string_view key) {
  std::string_view text;
  if (object[key].get(text) != simdjson::SUCCESS) {
    return Internal(fmt::format("{} without a text '{}' in the answer", what, key));
  }
  return std::string(text);
}

Result<cloud::Tags> TagsAt(const dom::object& object) {
  cloud::Tags tags;
  dom::element member;
  if (object["tags"].get(member) != simdjson::SUCCESS || member.is_null()) return tags;
  dom::object map;
  if (member.get(map) != simdjson::SUCCESS) return Internal("a server whose tags are not a map");
  for (const auto [key, value] : map) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      return Internal(fmt::format("a server whose tag '{}' is not a text", key));
    }
    tags.emplace(key, text);
  }
  return tags;
}

// "changing" is the only state of transition that the API shows: booting, but also stopping,
// rebooting and going. "unknown" and what may be invented later count as stopped: the machine is
// there, and not known to work.
cloud::MachineState StateOf(std::string_view status) {
  if (status == "changing") return cloud::MachineState::kCreating;
  if (status == "running" || status == "rescue_running") return cloud::MachineState::kRunning;
  if (status == "error") return cloud::MachineState::kFailed;
  if (status == "deleting" || status == "deleted") return cloud::MachineState::kDeleting;
  return cloud::MachineState::kStopped;
}

Result<cloud::Machine> MachineFrom(const dom::element& element) {
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS)
    return Internal("a server that is not a JSON object");
  const std::string uuid = TRY(Required(object, "a server", "uuid"));
  if (!IsUuid(uuid))
    return Internal(fmt::format("a server whose uuid is '{}'", uuid.substr(0, 50)));
  const std::string status = TRY(Required(object, "server " + uuid, "status"));
  cloud::Machine machine{.id = ProviderIdOf(uuid),
                         .name = TRY(Required(object, "server " + uuid, "name")),
                         .flavor = SlugAt(object, "flavor"),
                         .zone = SlugAt(object, "zone"),
                         .tags = TRY(TagsAt(object)),
                         .state = StateOf(status),
                         .created_at = ParseTime(TextAt(object, "created_at")),
                         .image = SlugAt(object, "image")};
  if (machine.state == cloud::MachineState::kFailed) {
    machine.error = {.error_class = cloud::ErrorClass::kOther,
                     .code = "SERVER_ERROR",
                     .message = "cloudscale.ch gives the server the status error"};
  }
  return machine;
}

Result<cloud::Flavor> FlavorFrom(const dom::element& element) {
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS)
    return Internal("a flavor that is not a JSON object");
  cloud::Flavor flavor{.name = TRY(Required(object, "a flavor", "slug")), .zones = ZonesAt(object)};
  int64_t cpus = 0;
  int64_t memory_gb = 0;
  if (object["vcpu_count"].get(cpus) != simdjson::SUCCESS ||
      object["memory_gb"].get(memory_gb) != simdjson::SUCCESS || cpus <= 0 || cpus > 100'000 ||
      memory_gb <= 0 || memory_gb > 1'000'000) {
    return Internal(
        fmt::format("flavor '{}' without a sensible vcpu_count and memory_gb", flavor.name));
  }
  flavor.cpu_millis = cpus * 1000;
  flavor.memory_bytes = memory_gb * kGiB;
  dom::object gpu;
  if (object["gpu"].get(gpu) == simdjson::SUCCESS) {
    int64_t count = 0;
    if (gpu["count"].get(count) != simdjson::SUCCESS || count < 0 || count > 1000) {
      return Internal(fmt::format("flavor '{}' without a sensible number of GPUs", flavor.name));
    }
    flavor.gpu_count = count;
    flavor.gpu_type = count > 0 ? TextAt(gpu, "name") : "";
  }
  return flavor;
}

void AppendField(std::string& out, std::string_view key, std::string_view text) {
  if (out.size() > 1) out += ',';
  AppendJsonString(out, key);
  out += ':';
  AppendJsonString(out, text);
}

void AppendRaw(std::string& out, std::string_view key, std::string_view json) {
  if (out.size() > 1) out += ',';
  AppendJsonString(out, key);
  out += ':';
  out += json;
}

std::string JsonList(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    if (out.size() > 1) out += ',';
    AppendJsonString(out, text);
  }
  return out + "]";
}

std::string ExtraAt(const cloud::MachineSpec& spec, const char* key) {
  const auto it = spec.extra.find(key);
  return it == spec.extra.end() ? "" : it->second;
}

// The two use_* flags and `interfaces` are alternatives: one family is sent, never both.
void AppendNetworks(std::string& out, const cloud::MachineSpec& spec) {
  const std::string network = ExtraAt(spec, kNetwork);
  const std::string subnet = ExtraAt(spec, kSubnet);
  const std::string use_public = ExtraAt(spec, kUsePublicNetwork);
  const std::string use_private = ExtraAt(spec, kUsePrivateNetwork);
  if (network.empty()) {
    if (!use_public.empty())
      AppendRaw(out, "use_public_network", use_public == "true" ? "true" : "false");
    if (!use_private.empty())
      AppendRaw(out, "use_private_network", use_private == "true" ? "true" : "false");
    return;
  }
  std::string interfaces = "[";
  if (use_public == "true") interfaces += R"({"network":"public"},)";
  std::string wanted = "{";
  AppendField(wanted, "network", network);
  if (!subnet.empty()) {
    std::string address = "{";
    AppendField(address, "subnet", subnet);
    AppendRaw(wanted, "addresses", "[" + address + "}]");
  }
  interfaces += wanted + "}]";
  AppendRaw(out, "interfaces", interfaces);
}

}  // namespace

Result<std::vector<cloud::Machine>> ParseServers(std::string_view json) {
  Document document;
  TRY(Parse(json, document));
  const dom::array list = TRY(AsList(document.root));
  std::vector<cloud::Machine> machines;
  machines.reserve(list.size());
  std::unordered_set<std::string> seen;
  for (const dom::element element : list) {
    cloud::Machine machine = TRY(MachineFrom(element));
    // One server twice (a list that moved under its reader) counts once.
    if (seen.insert(machine.id).second) machines.push_back(std::move(machine));
  }
  return machines;
}

Result<cloud::Machine> ParseServer(std::string_view json) {
  Document document;
  TRY(Parse(json, document));
  return MachineFrom(document.root);
}

Result<std::vector<cloud::Flavor>> ParseFlavors(std::string_view json) {
  Document document;
  TRY(Parse(json, document));
  std::vector<cloud::Flavor> flavors;
  for (const dom::element element : TRY(AsList(document.root))) {
    flavors.push_back(TRY(FlavorFrom(element)));
  }
  return flavors;
}

Result<std::vector<CatalogItem>> ParseCatalog(std::string_view json) {
  Document document;
  TRY(Parse(json, document));
  std::vector<CatalogItem> items;
  for (const dom::element element : TRY(AsList(document.root))) {
    dom::object object;
    if (element.get(object) != simdjson::SUCCESS)
      return Internal("an item that is not a JSON object");
    CatalogItem item{.slug = TextAt(object, "slug"),
                     .uuid = TextAt(object, "uuid"),
                     .name = TextAt(object, "name"),
                     .zones = ZonesAt(object)};
    dom::object network;
    if (object["network"].get(network) == simdjson::SUCCESS)
      item.network_uuid = TextAt(network, "uuid");
    items.push_back(std::move(item));
  }
  return items;
}

Result<std::string> CreateRequest(const cloud::MachineSpec& spec) {
  if (!simdjson::validate_utf8(spec.user_data)) {
    return InvalidArgument(
        "the user data is not UTF-8, and the API takes no other; encode it, for "
        "example as base64 in a cloud-config");
  }
  std::string out = "{";
  AppendField(out, "name", spec.name);
  AppendField(out, "flavor", spec.flavor);
  AppendField(out, "image", spec.image);
  if (!spec.zone.empty()) AppendField(out, "zone", spec.zone);
  if (spec.disk_bytes > 0) {
    AppendRaw(out, "volume_size_gb", std::to_string((spec.disk_bytes + kGiB - 1) / kGiB));
  }
  // A list even when there is none: the API refuses null.
  AppendRaw(out, "ssh_keys", JsonList(Split(ExtraAt(spec, kSshKeys), '\n')));
  AppendNetworks(out, spec);
  if (const std::string groups = ExtraAt(spec, kServerGroups); !groups.empty()) {
    AppendRaw(out, "server_groups", JsonList(Split(groups, ',')));
  }
  if (!spec.user_data.empty()) AppendField(out, "user_data", spec.user_data);
  std::string tags = "{";
  for (const auto& [key, value] : spec.tags) AppendField(tags, key, value);
  AppendRaw(out, "tags", tags + "}");
  return out + "}";
}

std::map<std::string, std::string> ExtraOf(const cloud::GroupConfig& group) {
  std::map<std::string, std::string> extra = group.extra;
  extra[kUsePublicNetwork] = group.use_public_network ? "true" : "false";
  extra[kUsePrivateNetwork] = group.use_private_network ? "true" : "false";
  if (!group.ssh_keys.empty()) extra[kSshKeys] = Join(group.ssh_keys, "\n");
  if (!group.server_group_uuids.empty()) extra[kServerGroups] = Join(group.server_group_uuids, ",");
  if (!group.network_uuid.empty()) extra[kNetwork] = group.network_uuid;
  if (!group.subnet_uuid.empty()) extra[kSubnet] = group.subnet_uuid;
  return extra;
}

TimePoint ParseTime(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
  const std::string copy(text.substr(0, 40));
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
                  &second, &used) != 6) {
    return {};
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1970 || year > 2200 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 60) {
    return {};
  }
  Duration fraction{};
  auto rest = std::string_view(copy).substr(static_cast<size_t>(used));
  if (rest.starts_with('.')) {
    int64_t unit = 100'000'000;
    for (rest.remove_prefix(1); !rest.empty() && rest[0] >= '0' && rest[0] <= '9';
         rest.remove_prefix(1)) {
      fraction += Duration((rest[0] - '0') * unit);
      unit /= 10;
    }
  }
  Duration offset{};
  if (rest.size() == 6 && (rest[0] == '+' || rest[0] == '-')) {
    int hours = 0, minutes = 0;
    if (std::sscanf(std::string(rest.substr(1)).c_str(), "%2d:%2d", &hours, &minutes) != 2)
      return {};
    offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
    if (rest[0] == '-') offset = -offset;
  } else if (rest != "Z" && rest != "z") {
    return {};
  }
  return TimePoint(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second) + fraction - offset;
}

}  // namespace coppice::clouds::cloudscale
