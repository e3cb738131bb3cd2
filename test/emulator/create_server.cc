#include "test/emulator/create_server.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "test/emulator/catalog.h"

namespace coppice::emulator {
namespace {

using Json = nlohmann::json;

constexpr int kMinVolumeGb = 10;

std::string Text(const Json& request, const char* key, Json& errors, bool required) {
  const auto it = request.find(key);
  if (it == request.end()) {
    if (required) errors[key] = "This field is required.";
    return "";
  }
  if (!it->is_string() || (required && it->get<std::string>().empty())) {
    errors[key] = "Not a valid string.";
    return "";
  }
  return it->get<std::string>();
}

bool Flag(const Json& request, const char* key, bool otherwise, Json& errors) {
  const auto it = request.find(key);
  if (it == request.end()) return otherwise;
  if (!it->is_boolean()) errors[key] = "Must be a valid boolean.";
  return it->is_boolean() ? it->get<bool>() : otherwise;
}

Json ImageOf(const std::string& name) {
  if (name.starts_with("custom:")) return FindIn(CustomImages(), "slug", name.substr(7));
  const Json custom = FindIn(CustomImages(), "uuid", name);
  return custom.is_null() ? FindIn(Images(), "slug", name) : custom;
}

Json Address(const Json& subnet, int version) {
  return {{"version", version},
          {"address", version == 4 ? "10.0.0.2" : "2a06:c01::2"},
          {"prefix_length", version == 4 ? 24 : 64},
          {"gateway", version == 4 ? "10.0.0.1" : "2a06:c01::1"},
          {"reverse_ptr", ""},
          {"subnet", subnet}};
}

Json PublicInterface() {
  const Json network = {
      {"href", ""}, {"name", "public"}, {"uuid", "00000000-0000-4000-8000-000000000001"}};
  return {{"type", "public"},
          {"network", network},
          {"addresses",
           Json::array({Address({{"href", ""}, {"cidr", "5.102.144.0/24"}, {"uuid", ""}}, 4)})}};
}

// One entry of `interfaces`: a network by UUID or "public", optionally with subnets; [] is layer 2
// only.
Json Interface(const Json& wanted, const std::string& zone, const ProjectView& project,
               Json& errors) {
  const auto complain = [&errors](const char* text) {
    errors["interfaces"] = text;
    return Json();
  };
  if (!wanted.is_object()) return complain("Invalid interface.");
  std::string network_uuid = wanted.value("network", "");
  Json subnet;
  if (wanted.contains("addresses") && wanted["addresses"].is_array() &&
      !wanted["addresses"].empty()) {
    const Json& address = wanted["addresses"][0];
    if (!address.is_object()) return complain("Invalid address.");
    if (address.contains("subnet")) {
      subnet = FindIn(project.subnets, "uuid", address.value("subnet", ""));
      if (subnet.is_null()) return complain("Subnet does not exist.");
      const std::string owner = subnet["network"].value("uuid", "");
      if (!network_uuid.empty() && network_uuid != owner) {
        return complain("Subnet is not part of the network.");
      }
      network_uuid = owner;
    }
  }
  if (network_uuid == "public") return PublicInterface();
  const Json network = FindIn(project.networks, "uuid", network_uuid);
  if (network.is_null()) return complain("Network does not exist.");
  if (network["zone"].value("slug", "") != zone) return complain("Network is in another zone.");
  Json addresses = Json::array();
  const bool layer_two = wanted.contains("addresses") && wanted["addresses"].empty();
  if (!layer_two) addresses.push_back(Address(subnet, 4));
  return {{"type", "private"},
          {"network",
           {{"href", network.value("href", "")},
            {"name", network.value("name", "")},
            {"uuid", network_uuid}}},
          {"addresses", addresses}};
}

void AddInterfaces(const Json& request, const std::string& zone, const ProjectView& project,
                   Json& server, Json& errors) {
  const bool use_public = Flag(request, "use_public_network", true, errors);
  const bool use_private = Flag(request, "use_private_network", false, errors);
  Flag(request, "use_ipv6", true, errors);
  Json interfaces = Json::array();
  if (request.contains("interfaces")) {
    if (!request["interfaces"].is_array()) {
      errors["interfaces"] = "Expected a list of items.";
      return;
    }
    for (const Json& wanted : request["interfaces"]) {
      interfaces.push_back(Interface(wanted, zone, project, errors));
    }
  } else {
    if (use_public) interfaces.push_back(PublicInterface());
    if (use_private) {
      interfaces.push_back(
          {{"type", "private"},
           {"network",
            {{"href", ""}, {"name", "default"}, {"uuid", "00000000-0000-4000-8000-000000000002"}}},
           {"addresses", Json::array({Address(nullptr, 4)})}});
    }
  }
  server["interfaces"] = interfaces;
}

void AddVolumes(const Json& request, const ProjectView& project, Json& server, Json& errors) {
  Json volumes = Json::array();
  const auto add = [&](int64_t size, const std::string& type) {
    const std::string uuid = project.new_uuid();
    volumes.push_back({{"href", "https://api.cloudscale.ch/v1/volumes/" + uuid},
                       {"uuid", uuid},
                       {"name", volumes.empty() ? server.value("name", "") + "-root" : ""},
                       {"type", type},
                       {"size_gb", size}});
  };
  const Json root = request.value("volume_size_gb", Json(kMinVolumeGb));
  if (!root.is_number_integer() || root.get<int64_t>() < kMinVolumeGb) {
    errors["volume_size_gb"] = "Ensure this value is greater than or equal to 10.";
    return;
  }
  add(root.get<int64_t>(), "ssd");
  for (const Json& extra : request.value("volumes", Json::array())) {
    if (!extra.is_object() || !extra.value("size_gb", Json()).is_number_integer()) {
      errors["volumes"] = "Invalid volume.";
      return;
    }
    add(extra["size_gb"].get<int64_t>(), extra.value("type", "ssd"));
  }
  server["volumes"] = volumes;
}

void AddServerGroups(const Json& request, const std::string& zone, const ProjectView& project,
                     Json& server, Json& errors) {
  Json groups = Json::array();
  const Json wanted = request.value("server_groups", Json::array());
  for (const Json& uuid : wanted) {
    const Json group =
        uuid.is_string() ? FindIn(project.server_groups, "uuid", uuid.get<std::string>()) : Json();
    if (group.is_null()) {
      errors["server_groups"] = "Server group does not exist.";
    } else if (group["zone"].value("slug", "") != zone) {
      errors["server_groups"] = "Server group is in another zone.";
    } else {
      groups.push_back(
          {{"href", group.value("href", "")}, {"uuid", uuid}, {"name", group.value("name", "")}});
    }
  }
  server["server_groups"] = groups;
}

void CheckKeys(const Json& request, Json& errors) {
  if (!request.contains("ssh_keys")) return;
  const Json& keys = request["ssh_keys"];
  const auto is_key = [](const Json& key) {
    if (!key.is_string()) return false;
    const auto text = key.get<std::string>();
    return text.find(' ') != std::string::npos &&
           (text.starts_with("ssh-") || text.starts_with("ecdsa-") || text.starts_with("sk-"));
  };
  if (!keys.is_array()) {
    errors["ssh_keys"] = "This field may not be null.";
  } else if (!std::ranges::all_of(keys, is_key)) {
    errors["ssh_keys"] = "Not a valid SSH public key.";
  }
}

}  // namespace

bool ValidHostName(const std::string& name) {
  if (name.empty() || name.size() > 253) return false;
  return std::ranges::all_of(Split(name, '.'), [](const std::string& label) {
    return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
           std::ranges::all_of(label,
                               [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
  });
}

bool ValidTags(const Json& tags) {
  return tags.is_object() && std::ranges::all_of(tags.items(), [](const auto& item) {
           return item.value().is_string();
         });
}

void BuildServer(const Json& request, const ProjectView& project, Json& server, Json& errors) {
  if (!request.is_object()) {
    errors["detail"] = "JSON object expected.";
    return;
  }
  const std::string name = Text(request, "name", errors, true);
  if (!name.empty() && !ValidHostName(name))
    errors["name"] = "Name must be a valid host name or FQDN.";
  const std::string flavor_slug = Text(request, "flavor", errors, true);
  const std::string image_name = Text(request, "image", errors, true);
  std::string zone = Text(request, "zone", errors, false);
  if (zone.empty()) zone = "rma1";
  if (zone != "rma1" && zone != "lpg1") errors["zone"] = "Zone does not exist.";
  const Json flavor = FindIn(Flavors(), "slug", flavor_slug);
  if (!flavor_slug.empty() && flavor.is_null()) errors["flavor"] = "Flavor does not exist.";
  if (!flavor.is_null() && !OfferedIn(flavor, zone))
    errors["flavor"] = "Flavor is not available in this zone.";
  const Json image = ImageOf(image_name);
  if (!image_name.empty() && image.is_null()) errors["image"] = "Image does not exist.";
  Text(request, "user_data", errors, false);
  CheckKeys(request, errors);
  const Json tags = request.value("tags", Json::object());
  if (!ValidTags(tags)) errors["tags"] = "Must be a map of strings.";

  server = {{"name", name},
            {"zone", {{"slug", zone}}},
            {"tags", tags},
            {"ssh_fingerprints", Json::array()},
            {"ssh_host_keys", Json::array()},
            {"anti_affinity_with", Json::array()}};
  if (!flavor.is_null()) {
    server["flavor"] = flavor;
    server["flavor"].erase("zones");
  }
  if (!image.is_null()) {
    server["image"] = {{"slug", image_name},
                       {"name", image.value("name", "")},
                       {"operating_system", image.value("operating_system", "")},
                       {"default_username", image.value("default_username", "")}};
  }
  AddInterfaces(request, zone, project, server, errors);
  AddVolumes(request, project, server, errors);
  AddServerGroups(request, zone, project, server, errors);
}

}  // namespace coppice::emulator
