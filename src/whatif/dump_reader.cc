#include "whatif/dump_reader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/strings.h"
#include "model/kinds.h"
#include "whatif/dump_places.h"
#include "whatif/dump_yaml.h"
#include "wire/json_cursor.h"
#include "wire/wire.h"

namespace coppice::whatif {

namespace {

namespace fs = std::filesystem;

struct TypeMeta {
  std::string api_version;
  std::string kind;
};

// One object, out of a list or alone.
struct Item {
  std::string_view json;
  TypeMeta type;
  std::string label;  // "items[3]", "" for an object that stands alone
};

using Take = Status (*)(std::string_view json, ClusterObjects& into);

template <class T, Listed<T> ClusterObjects::* Member>
Status TakeInto(std::string_view json, ClusterObjects& into) {
  auto object = std::make_shared<T>(TRY(wire::FromJson<T>(json)));
  if (object->metadata.name.empty()) return InvalidArgument("metadata.name: is empty");
  (into.*Member).push_back(std::move(object));
  return Status::Ok();
}

struct KnownKind {
  std::string_view api_version;
  std::string_view kind;
  Take take;
};

template <class T, Listed<T> ClusterObjects::* Member>
constexpr KnownKind Known() {
  return {model::kKind<T>.api_version, model::kKind<T>.kind, &TakeInto<T, Member>};
}

constexpr KnownKind kKnown[] = {
    Known<model::Pod, &ClusterObjects::pods>(),
    Known<model::Node, &ClusterObjects::nodes>(),
    Known<model::PodDisruptionBudget, &ClusterObjects::budgets>(),
    Known<model::DaemonSet, &ClusterObjects::daemon_sets>(),
    Known<model::Deployment, &ClusterObjects::deployments>(),
    Known<model::ReplicaSet, &ClusterObjects::replica_sets>(),
    Known<model::ReplicationController, &ClusterObjects::replication_controllers>(),
    Known<model::StatefulSet, &ClusterObjects::stateful_sets>(),
    Known<model::Job, &ClusterObjects::jobs>(),
    Known<model::CronJob, &ClusterObjects::cron_jobs>(),
    Known<model::ConfigMap, &ClusterObjects::config_maps>(),
    Known<model::Namespace, &ClusterObjects::namespaces>(),
    Known<model::Service, &ClusterObjects::services>(),
    Known<model::PriorityClass, &ClusterObjects::priority_classes>(),
    Known<model::PersistentVolume, &ClusterObjects::volumes>(),
    Known<model::PersistentVolumeClaim, &ClusterObjects::claims>(),
    Known<model::StorageClass, &ClusterObjects::storage_classes>(),
    Known<model::CsiNode, &ClusterObjects::csi_nodes>(),
    Known<model::CsiDriver, &ClusterObjects::csi_drivers>(),
    Known<model::CsiStorageCapacity, &ClusterObjects::storage_capacities>(),
    Known<model::VolumeAttachment, &ClusterObjects::volume_attachments>(),
    Known<model::NodePool, &ClusterObjects::node_pools>(),
    Known<model::NodeClaim, &ClusterObjects::node_claims>(),
    Known<model::NodeClass, &ClusterObjects::node_classes>(),
    Known<model::PodGroup, &ClusterObjects::pod_groups>(),
    Known<model::Queue, &ClusterObjects::queues>(),
    Known<model::HyperNode, &ClusterObjects::hyper_nodes>(),
    Known<model::ResourceQuota, &ClusterObjects::quotas>(),
};

// A value of the document with everything that is needed to complain about it.
class Source {
 public:
  Source(std::string_view text, const std::string& name, const YamlDocument* yaml)
      : text_(text), name_(name), yaml_(yaml) {}

  Status Read(std::string_view value, ClusterObjects& into) const;

 private:
  // `what` came out of the value at `json`; it may begin with the path of a field in it.
  Status Complain(std::string_view json, const std::string& label, const std::string& what) const {
    std::string path = label;
    const std::string_view field = FieldPath(what);
    if (!field.empty()) path += (path.empty() ? "" : ".") + std::string(field);
    const std::string at =
        yaml_ != nullptr
            ? yaml_->PlaceOf(path)
            : name_ + ":" +
                  LineAndColumn(text_, static_cast<size_t>(json.data() - text_.data()) +
                                           OffsetOf(json, what));
    return InvalidArgument(at + ": " + (label.empty() ? "" : label + ": ") + NameIn(json) + what);
  }

  Status ReadItem(const Item& item, ClusterObjects& into) const;
  Status ReadItems(std::string_view items, const TypeMeta& list, ClusterObjects& into) const;

  std::string_view text_;
  const std::string& name_;
  const YamlDocument* yaml_;
};

// The kind, the version and, of a list, the items. Stops early at an object that has both and
// begins with them, as kubectl writes them.
struct Outline {
  TypeMeta type;
  std::string_view items;
  bool has_items = false;
};

Result<Outline> OutlineOf(std::string_view json, bool may_be_list) {
  Outline outline;
  wire::JsonCursor in(json);
  if (!in.Open('{'))
    return InvalidArgument("expected an object, as `kubectl get ... -o json` prints it");
  bool first = true;
  while (in.Next('}', first)) {
    std::string_view key;
    if (!in.ReadKey(key)) break;
    const bool kind = key == "kind";
    if (kind || key == "apiVersion") {
      std::string_view value;
      if (!in.ReadText(value)) break;
      (kind ? outline.type.kind : outline.type.api_version) = value;
      if (!may_be_list && !outline.type.kind.empty() && !outline.type.api_version.empty())
        return outline;
      continue;
    }
    const bool items = key == "items";
    if (items) (void)in.Peek();  // over the white space
    const char* begin = in.at();
    if (!in.Skip()) break;
    if (items) {
      outline.items = {begin, static_cast<size_t>(in.at() - begin)};
      outline.has_items = true;
    }
  }
  if (in.failed()) return InvalidArgument(in.problem());
  return outline;
}

Status Source::ReadItem(const Item& item, ClusterObjects& into) const {
  if (item.type.kind.empty()) {
    return Complain(item.json, item.label, "kind: is missing: is this a Kubernetes object?");
  }
  for (const KnownKind& known : kKnown) {
    if (known.kind != item.type.kind ||
        (!item.type.api_version.empty() && known.api_version != item.type.api_version)) {
      continue;
    }
    const Status taken = known.take(item.json, into);
    return taken.ok() ? taken : Complain(item.json, item.label, taken.message());
  }
  ++into.ignored[item.type.api_version.empty() ? item.type.kind
                                               : item.type.kind + " " + item.type.api_version];
  return Status::Ok();
}

Status Source::ReadItems(std::string_view items, const TypeMeta& list, ClusterObjects& into) const {
  wire::JsonCursor in(items);
  if (in.Peek() == 'n') return Status::Ok();  // null: an empty list
  if (!in.Open('[')) return Complain(items, "items", in.problem());
  // A list of one kind, as the API server sends it: the items do not say what they are.
  TypeMeta of_items;
  if (list.kind.size() > 4 && list.kind.ends_with("List")) {
    of_items = {list.api_version, list.kind.substr(0, list.kind.size() - 4)};
  }
  bool first = true;
  for (size_t i = 0; in.Next(']', first); ++i) {
    (void)in.Peek();
    const char* begin = in.at();
    if (!in.Skip()) return Complain(items, "items", in.problem());
    Item item{.json = {begin, static_cast<size_t>(in.at() - begin)},
              .label = "items[" + std::to_string(i) + "]"};
    const auto outline = OutlineOf(item.json, false);
    if (!outline.ok()) return Complain(item.json, item.label, outline.status().message());
    item.type = outline->type.kind.empty() ? of_items : outline->type;
    TRY(ReadItem(item, into));
  }
  return in.failed() ? Complain(items, "items", in.problem()) : Status::Ok();
}

Status Source::Read(std::string_view value, ClusterObjects& into) const {
  const auto outline = OutlineOf(value, true);
  if (!outline.ok()) return Complain(value, "", outline.status().message());
  const bool list = outline->type.kind.ends_with("List") || outline->type.kind.empty();
  if (list && outline->has_items) return ReadItems(outline->items, outline->type, into);
  return ReadItem({.json = value, .type = outline->type, .label = ""}, into);
}

// Documents one after the other: what `kubectl` prints is one, what `jq .items[]` prints is many.
Status ReadJson(std::string_view text, const std::string& name, ClusterObjects& into) {
  const Source source(text, name, nullptr);
  wire::JsonCursor in(text);
  while (!in.AtEnd()) {
    (void)in.Peek();
    const char* begin = in.at();
    if (!in.Skip()) {
      const auto at = static_cast<size_t>(begin - text.data());
      const size_t where = OffsetOf(text, in.problem());
      const bool ends = where > text.find_last_not_of(" \t\r\n");
      return InvalidArgument(name + ":" + LineAndColumn(text, where) + ": " +
                             (ends ? "the file ends before the object does: " : "") + in.problem() +
                             (at > 0 ? ", in a later document" : ""));
    }
    TRY(source.Read({begin, static_cast<size_t>(in.at() - begin)}, into));
  }
  return Status::Ok();
}

bool LooksLikeJson(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  return !trimmed.empty() && trimmed.front() == '{';
}

// kubectl ends what it writes with a line break. Without one a complaint may be about a download or
// a disk, and not about what is in the file.
Status WithEnd(const Status& status, std::string_view text) {
  if (status.ok() || text.ends_with('\n') || text.ends_with('}')) return status;
  return {status.code(),
          status.message() + "; the file ends in the middle of a line: was it cut off?"};
}

Result<std::string> ReadAll(const std::string& path) {
  if (path == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return NotFound(path + ": cannot be opened");
  const std::streamoff size = file.tellg();
  std::string text(static_cast<size_t>(std::max<std::streamoff>(0, size)), '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) return Unavailable(path + ": cannot be read");
  return text;
}

Result<std::vector<std::string>> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string extension = it->path().extension().string();
    if (it->is_regular_file(error) &&
        (extension == ".json" || extension == ".yaml" || extension == ".yml")) {
      files.push_back(it->path().string());
    }
  }
  if (error) return Unavailable(folder + ": " + error.message());
  if (files.empty()) return NotFound(folder + ": has no .json, .yaml or .yml file");
  std::ranges::sort(files);
  return files;
}

}  // namespace

size_t ClusterObjects::size() const {
  return nodes.size() + pods.size() + budgets.size() + daemon_sets.size() + deployments.size() +
         replica_sets.size() + replication_controllers.size() + stateful_sets.size() + jobs.size() +
         cron_jobs.size() + config_maps.size() + namespaces.size() + services.size() +
         priority_classes.size() + volumes.size() + claims.size() + storage_classes.size() +
         csi_nodes.size() + csi_drivers.size() + storage_capacities.size() +
         volume_attachments.size() + node_pools.size() + node_claims.size() + node_classes.size() +
         pod_groups.size() + queues.size() + hyper_nodes.size() + quotas.size();
}

Status ReadObjects(std::string_view text, const std::string& name, ClusterObjects& into) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a mark that some editors leave
  if (Trim(text).empty()) return InvalidArgument(name + ":1:1: the file is empty");
  if (LooksLikeJson(text)) return ReadJson(text, name, into);
  const Status read = ForEachYamlDocument(text, name, [&](const YamlDocument& document) {
    const std::string json = document.ToJson();
    return Source(json, name, &document).Read(json, into);
  });
  return WithEnd(read, text);
}

Status ReadObjectsFrom(const std::string& path, ClusterObjects& into) {
  std::error_code error;
  if (path != "-" && fs::is_directory(path, error)) {
    for (const std::string& file : TRY(FilesIn(path))) TRY(ReadObjectsFrom(file, into));
    return Status::Ok();
  }
  const std::string text = TRY(ReadAll(path));
  return ReadObjects(text, path == "-" ? "<stdin>" : path, into);
}

}  // namespace coppice::whatif
