#include "plugins/batch/extender/fragments.h"

#include <algorithm>
#include <array>

#include "plugins/batch/extender/go_text.h"
#include "wire/json_cursor.h"
#include "wire/wire.h"

namespace coppice::batch::extender {
namespace {

// What stands before nodeName in a pod's spec.
constexpr std::array<std::string_view, 12> kBeforeNodeName{"volumes",
                                                           "initContainers",
                                                           "containers",
                                                           "ephemeralContainers",
                                                           "restartPolicy",
                                                           "terminationGracePeriodSeconds",
                                                           "activeDeadlineSeconds",
                                                           "dnsPolicy",
                                                           "nodeSelector",
                                                           "serviceAccountName",
                                                           "serviceAccount",
                                                           "automountServiceAccountToken"};

// What follows nodeInfo in a node's status.
constexpr std::array<std::string_view, 7> kAfterNodeInfo{
    "images",          "volumesInUse", "volumesAttached", "config",
    "runtimeHandlers", "features",     "declaredFeatures"};
constexpr std::string_view kNoEndpoints = R"({"kubeletEndpoint":{"Port":0}})";
constexpr std::string_view kNoNodeInfo =
    R"({"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"",)"
    R"("containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"",)"
    R"("operatingSystem":"","architecture":""})";

template <class Names>
bool IsOneOf(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void AppendMember(std::string& out, std::string_view name, std::string_view value) {
  if (out.back() != '{') out += ',';
  AppendGoText(out, name);
  out += ':';
  out += value;
}

// Go's spelling of what the API server sent, or else of what we know.
template <class Object>
std::string WholeText(const Object& object, const ObjectTexts* texts) {
  if (texts) {
    const std::string_view text = texts->TextOf(object);
    if (!text.empty()) {
      if (auto written = AsGoWrites(text)) return *std::move(written);
    }
  }
  return AsGoWrites(wire::ToJson(object)).value_or("{}");
}

// metadata, spec and status are structs in Go: always there, in this order.
struct Parts {
  std::string metadata = "{}";
  std::string spec = "{}";
  std::string status = "{}";
};
Parts PartsOf(std::string_view text) {
  Parts parts;
  for (const auto& [name, value] : MembersOf(text)) {
    if (value == "null") continue;
    if (name == "metadata") parts.metadata = value;
    if (name == "spec") parts.spec = value;
    if (name == "status") parts.status = value;
  }
  return parts;
}

void AppendNuma(std::string& out, const model::Labels& annotations) {
  const std::string* policy = annotations.Find("volcano.sh/numa-topology-policy");
  out += R"("NumaInfo":{"Policy":)";
  AppendGoText(out, policy ? *policy : std::string());
  out += R"(,"ResMap":{}})";
}

void AppendFlag(std::string& out, std::string_view name, bool value) {
  out += ",\"";
  out += name;
  out += value ? "\":true" : "\":false";
}

TaskFragment MakeTaskFragment(const Task& task, const ObjectTexts* texts) {
  TaskFragment fragment;
  std::string& head = fragment.head;
  head = R"({"UID":)";
  AppendGoText(head, task.uid);
  head += R"(,"Job":)";
  AppendGoText(head, task.job_id);
  head += R"(,"Name":)";
  AppendGoText(head, task.name);
  head += R"(,"Namespace":)";
  AppendGoText(head, task.namespace_);
  head += R"(,"TaskRole":)";
  AppendGoText(head, task.role);
  head += R"(,"Resreq":)";
  AppendResource(head, task.req());
  head += R"(,"InitResreq":)";
  AppendResource(head, task.req());
  head += R"(,"DRAResreq":null,"ResourceClaimKeys":null,"ResourceClaimDRAResreq":null)";

  const model::Labels& annotations = task.pod->metadata.annotations;
  std::string& middle = fragment.middle;
  middle = R"(,"Priority":)";
  AppendGoInt(middle, task.priority);
  middle += R"(,"VolumeReady":false)";
  AppendFlag(middle, "Preemptable", task.preemptable);
  AppendFlag(middle, "BestEffort", task.best_effort);
  AppendFlag(middle, "HasRestartableInitContainer", task.has_restartable_init_container);
  AppendFlag(middle, "SchGated", task.gated);
  middle += R"(,"RevocableZone":)";
  AppendGoText(middle, task.revocable_zone);
  middle += ',';
  AppendNuma(middle, annotations);

  const std::string text = WholeText(*task.pod, texts);
  const Parts parts = PartsOf(text);
  middle += R"(,"Pod":{"metadata":)" + parts.metadata + R"(,"spec":{)";
  std::string rest;
  for (const auto& [name, value] : MembersOf(parts.spec)) {
    if (name == "nodeName") continue;
    if (IsOneOf(kBeforeNodeName, name)) {
      AppendMember(middle, name, value);
    } else {
      if (!rest.empty()) rest += ',';
      AppendGoText(rest, name);
      rest += ':';
      rest += value;
    }
  }
  fragment.middle_ends_empty = middle.back() == '{';
  fragment.tail_continues = !rest.empty();
  std::string& tail = fragment.tail;
  tail = rest + R"(},"status":)" + parts.status + R"(},"PodAnnotations":)";
  AppendTextMap(tail, annotations);
  tail += R"(,"CustomBindErrHandlerSucceeded":false})";
  return fragment;
}

std::string MakeNodeFragment(const NodeInfo& node, const ObjectTexts* texts) {
  const std::string text = WholeText(*node.object, texts);
  const Parts parts = PartsOf(text);
  std::string out = R"({"metadata":)" + parts.metadata + R"(,"spec":)" + parts.spec;
  std::string status = "{";
  bool endpoints = false;
  bool info = false;
  const auto fill = [&] {
    if (!endpoints) AppendMember(status, "daemonEndpoints", kNoEndpoints);
    if (!info) AppendMember(status, "nodeInfo", kNoNodeInfo);
    endpoints = info = true;
  };
  for (const auto& [name, value] : MembersOf(parts.status)) {
    if (name == "nodeInfo" && !endpoints) {
      AppendMember(status, "daemonEndpoints", kNoEndpoints);
      endpoints = true;
    }
    if (IsOneOf(kAfterNodeInfo, name)) fill();
    endpoints |= name == "daemonEndpoints";
    info |= name == "nodeInfo";
    AppendMember(status, name, value);
  }
  fill();
  return out + R"(,"status":)" + status + "}}";
}

}  // namespace

RawMembers MembersOf(std::string_view json) {
  RawMembers members;
  wire::JsonCursor in(json);
  if (!in.Open('{')) return members;
  bool first = true;
  std::string_view key;
  while (in.Next('}', first)) {
    if (!in.ReadKey(key)) return {};
    std::string name(key);
    (void)in.Peek();  // white space
    const char* from = in.at();
    if (!in.Skip()) return {};
    members.emplace_back(std::move(name),
                         std::string_view(from, static_cast<size_t>(in.at() - from)));
  }
  return members;
}

void AppendResource(std::string& out, const Resource& resource) {
  out += R"({"MilliCPU":)";
  (void)AppendGoFloat(out, resource.cpu);
  out += R"(,"Memory":)";
  (void)AppendGoFloat(out, resource.memory);
  out += R"(,"ScalarResources":)";
  if (!resource.has_scalars()) {
    out += "null";
  } else {
    auto scalars = resource.scalars();
    std::ranges::sort(scalars, {}, [](const Resource::Scalar& s) { return ScalarName(s.key); });
    out += '{';
    for (const Resource::Scalar& scalar : scalars) {
      if (out.back() != '{') out += ',';
      AppendGoText(out, ScalarName(scalar.key));
      out += ':';
      (void)AppendGoFloat(out, scalar.value);
    }
    out += '}';
  }
  out += R"(,"MaxTaskNum":)";
  AppendGoInt(out, resource.max_tasks);
  out += '}';
}

void AppendTextMap(std::string& out, const model::Labels& map) {
  if (map.empty()) {
    out += "null";
    return;
  }
  out += '{';
  for (const auto& [key, value] : map) {
    if (out.back() != '{') out += ',';
    AppendGoText(out, key);
    out += ':';
    AppendGoText(out, value);
  }
  out += '}';
}

void Fragments::NextSession() {
  std::erase_if(pods_, [&](const auto& entry) { return entry.second.used != session_; });
  std::erase_if(nodes_, [&](const auto& entry) { return entry.second.used != session_; });
  ++session_;
}

const TaskFragment& Fragments::Of(const Task& task, const ObjectTexts* texts) {
  auto& kept = pods_[task.pod.get()];
  if (!kept.object) kept = {task.pod, MakeTaskFragment(task, texts), session_};
  kept.used = session_;
  return kept.fragment;
}

const std::string& Fragments::Of(const NodeInfo& node, const ObjectTexts* texts) {
  auto& kept = nodes_[node.object.get()];
  if (!kept.object) kept = {node.object, MakeNodeFragment(node, texts), session_};
  kept.used = session_;
  return kept.fragment;
}

}  // namespace coppice::batch::extender
