#include "test/support/pod_list_bytes.h"

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace coppice::test {
namespace {

// One tree, two ways to write it: a field has a protobuf number and a JSON name, and is a text, a
// number, a message, or a message that JSON merges into its parent.
struct Field {
  enum class Type {
    kText,
    kNumber,
    kBool,
    kMessage,
    kMapEntry,
    kQuantityEntry,
    kTime,
    kRepeatedText
  };
  int number;
  std::string name;
  Type type;
  std::string text;
  int64_t value = 0;
  std::vector<Field> fields;
  bool repeated = false;
  bool merged = false;
};
using Fields = std::vector<Field>;

Field Text(int number, std::string name, std::string text) {
  return {number, std::move(name), Field::Type::kText, std::move(text)};
}
Field Number(int number, std::string name, int64_t value) {
  return {number, std::move(name), Field::Type::kNumber, "", value};
}
Field Bool(int number, std::string name) {
  return {number, std::move(name), Field::Type::kBool, "", 1};
}
Field Message(int number, std::string name, Fields fields) {
  return {number, std::move(name), Field::Type::kMessage, "", 0, std::move(fields)};
}
Field Merged(int number, Fields fields) {
  Field field = Message(number, "", std::move(fields));
  field.merged = true;
  return field;
}
Field Each(int number, std::string name, Fields fields) {
  Field field = Message(number, std::move(name), std::move(fields));
  field.repeated = true;
  return field;
}
Field EachText(int number, std::string name, std::string text) {
  Field field{number, std::move(name), Field::Type::kRepeatedText, std::move(text)};
  field.repeated = true;
  return field;
}
Field Time(int number, std::string name, int64_t seconds) {
  return {number, std::move(name), Field::Type::kTime, "2026-01-02T03:04:05Z", seconds};
}
// `name` is the map's, `text` becomes "key\0value".
Field Entry(int number, std::string name, std::string_view key, std::string_view value) {
  return {number, std::move(name), Field::Type::kMapEntry,
          std::string(key) + '\0' + std::string(value)};
}
Field Amount(int number, std::string name, std::string_view key, std::string_view value) {
  Field field = Entry(number, std::move(name), key, value);
  field.type = Field::Type::kQuantityEntry;
  return field;
}

void AppendVarint(std::string& out, uint64_t value) {
  for (; value > 0x7F; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void AppendBytes(std::string& out, int number, std::string_view bytes) {
  AppendVarint(out, static_cast<uint64_t>(number) << 3 | 2);
  AppendVarint(out, bytes.size());
  out += bytes;
}
void AppendNumber(std::string& out, int number, int64_t value) {
  AppendVarint(out, static_cast<uint64_t>(number) << 3);
  AppendVarint(out, static_cast<uint64_t>(value));
}

std::string ToProto(const Fields& fields) {
  std::string out;
  for (const Field& field : fields) {
    std::string inner;
    switch (field.type) {
      case Field::Type::kText:
      case Field::Type::kRepeatedText:
        AppendBytes(out, field.number, field.text);
        break;
      case Field::Type::kNumber:
      case Field::Type::kBool:
        AppendNumber(out, field.number, field.value);
        break;
      case Field::Type::kMessage:
        AppendBytes(out, field.number, ToProto(field.fields));
        break;
      case Field::Type::kTime:
        AppendNumber(inner, 1, field.value);
        AppendNumber(inner, 2, 0);
        AppendBytes(out, field.number, inner);
        break;
      case Field::Type::kMapEntry:
      case Field::Type::kQuantityEntry: {
        const size_t split = field.text.find('\0');
        std::string value = field.text.substr(split + 1);
        if (field.type == Field::Type::kQuantityEntry) {
          std::string quantity;
          AppendBytes(quantity, 1, value);
          value = quantity;
        }
        AppendBytes(inner, 1, field.text.substr(0, split));
        AppendBytes(inner, 2, value);
        AppendBytes(out, field.number, inner);
        break;
      }
    }
  }
  return out;
}

std::string Quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}  // nothing to escape

void AppendJsonFields(std::string& out, const Fields& fields);

void AppendJsonValue(std::string& out, const Field& field) {
  switch (field.type) {
    case Field::Type::kMessage:
      out += '{';
      AppendJsonFields(out, field.fields);
      out += '}';
      break;
    case Field::Type::kNumber:
      out += std::to_string(field.value);
      break;
    case Field::Type::kBool:
      out += "true";
      break;
    default:
      out += Quoted(field.text);
  }
}

void AppendJsonFields(std::string& out, const Fields& fields) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    if (field.merged) {
      AppendJsonFields(out, field.fields);
      continue;
    }
    const bool map =
        field.type == Field::Type::kMapEntry || field.type == Field::Type::kQuantityEntry;
    if (out.back() != '{') out += ',';
    out += Quoted(field.name) + ':';
    if (!map && !field.repeated) {
      AppendJsonValue(out, field);
      continue;
    }
    out += map ? '{' : '[';
    for (const char open = out.back(); i < fields.size() && fields[i].name == field.name; ++i) {
      if (out.back() != open) out += ',';
      if (map) {
        const size_t split = fields[i].text.find('\0');
        out += Quoted(fields[i].text.substr(0, split)) + ':' +
               Quoted(fields[i].text.substr(split + 1));
      } else {
        AppendJsonValue(out, fields[i]);
      }
    }
    --i;
    out += map ? '}' : ']';
  }
}

constexpr int64_t kThen = 1'767'323'045;  // 2026-01-02T03:04:05Z

Fields Metadata(int pod, int shape) {
  const std::string app = "service-" + std::to_string(shape);
  const std::string number = std::to_string(1'000'000 + pod);
  const auto managed = [](const char* manager, const char* subresource) {
    // In JSON an object, in protobuf its text; a few hundred bytes either way.
    std::string paths;
    for (const char* path :
         {"f:metadata", "f:labels", "f:ownerReferences", "f:spec", "f:containers"}) {
      paths += std::string("/") + path + "/f:name/f:ports/k:name=main";
    }
    return Each(
        17, "managedFields",
        {Text(1, "manager", manager), Text(2, "operation", "Update"), Text(3, "apiVersion", "v1"),
         Time(4, "time", kThen), Text(6, "fieldsType", "FieldsV1"),
         Message(7, "fieldsV1", {Text(1, "raw", paths)}), Text(8, "subresource", subresource)});
  };
  return {
      Text(1, "name", app + "-6d5f7c9b8-" + number),
      Text(2, "generateName", app + "-6d5f7c9b8-"),
      Text(3, "namespace", "team-" + std::to_string(shape % 10)),
      Text(5, "uid", "0f8fad5b-d9cb-469f-a165-70" + number + "abc"),
      Text(6, "resourceVersion", "48" + number),
      Number(7, "generation", 1),
      Time(8, "creationTimestamp", kThen),
      Entry(11, "labels", "app.kubernetes.io/instance", app),
      Entry(11, "labels", "app.kubernetes.io/name", app),
      Entry(11, "labels", "app.kubernetes.io/version", "v1.42.0"),
      Entry(11, "labels", "pod-template-hash", "6d5f7c9b8"),
      Entry(11, "labels", "team", "team-" + std::to_string(shape % 10)),
      Entry(12, "annotations", "cni.example.org/ip", "10.0.0." + number),
      Entry(12, "annotations", "kubectl.kubernetes.io/restartedAt", "2026-01-02T03:04:05Z"),
      Entry(12, "annotations", "prometheus.io/scrape", "true"),
      Each(
          13, "ownerReferences",
          {Text(1, "kind", "ReplicaSet"), Text(3, "name", app + "-6d5f7c9b8"),
           Text(4, "uid", "7c9e6679-7425-40de-944b-e07fc1f90a" + std::to_string(10 + shape)),
           Text(5, "apiVersion", "apps/v1"), Bool(6, "controller"), Bool(7, "blockOwnerDeletion")}),
      managed("kube-controller-manager", ""),
      managed("kubelet", "status"),
  };
}

Fields ContainerFields(const std::string& name, int pod, int shape) {
  const auto probe = [](int number, const char* field) {
    return Message(
        number, field,
        {Message(1, "handler",
                 {Message(2, "httpGet", {Text(1, "path", "/healthz"), Text(4, "scheme", "HTTP")})}),
         Number(2, "initialDelaySeconds", 10), Number(3, "timeoutSeconds", 5),
         Number(4, "periodSeconds", 10)});
  };
  Fields fields = {
      Text(1, "name", name), Text(2, "image", "registry.example.org/team/" + name + ":v1.42.0"),
      EachText(4, "args", "--listen=:8080"), EachText(4, "args", "--log-level=info"),
      Each(
          6, "ports",
          {Text(1, "name", "http"), Number(3, "containerPort", 8080), Text(4, "protocol", "TCP")})};
  for (const char* variable : {"DATABASE_HOST", "LOG_FORMAT"}) {
    fields.push_back(
        Each(7, "env", {Text(1, "name", variable), Text(2, "value", "value-of-it.example.org")}));
  }
  fields.push_back(Message(8, "resources",
                           {Amount(1, "limits", "cpu", "2"), Amount(1, "limits", "memory", "1Gi"),
                            Amount(2, "requests", "cpu", std::to_string(100 + 50 * shape) + "m"),
                            Amount(2, "requests", "memory", "512Mi")}));
  fields.push_back(
      Each(9, "volumeMounts",
           {Text(1, "name", "kube-api-access-" + std::to_string(10'000 + pod)), Bool(2, "readOnly"),
            Text(3, "mountPath", "/var/run/secrets/kubernetes.io/serviceaccount")}));
  if (name == "main") fields.push_back(probe(10, "livenessProbe"));
  fields.push_back(probe(11, "readinessProbe"));
  fields.push_back(Text(13, "terminationMessagePath", "/dev/termination-log"));
  fields.push_back(Text(14, "imagePullPolicy", "IfNotPresent"));
  fields.push_back(Text(20, "terminationMessagePolicy", "File"));
  return fields;
}

Fields Spec(int pod, int shape) {
  const std::string app = "service-" + std::to_string(shape);
  const auto tolerate = [](const char* key) {
    return Each(22, "tolerations",
                {Text(1, "key", key), Text(2, "operator", "Exists"), Text(4, "effect", "NoExecute"),
                 Number(5, "tolerationSeconds", 300)});
  };
  const Fields selector = {Entry(1, "matchLabels", "app.kubernetes.io/name", app)};
  return {
      Each(1, "volumes",
           {Text(1, "name", "kube-api-access-" + std::to_string(10'000 + pod)),
            Merged(2, {Message(26, "projected", {Number(2, "defaultMode", 420)})})}),
      Each(2, "containers", ContainerFields("main", pod, shape)),
      Each(2, "containers", ContainerFields("sidecar", pod, shape)),
      Text(3, "restartPolicy", "Always"),
      Number(4, "terminationGracePeriodSeconds", 30),
      Text(6, "dnsPolicy", "ClusterFirst"),
      Entry(7, "nodeSelector", "kubernetes.io/os", "linux"),
      Text(8, "serviceAccountName", app),
      Text(10, "nodeName", "worker-" + std::to_string(pod / 30) + ".example.org"),
      Message(18, "affinity",
              {Message(3, "podAntiAffinity",
                       {Each(2, "preferredDuringSchedulingIgnoredDuringExecution",
                             {Number(1, "weight", 100),
                              Message(2, "podAffinityTerm",
                                      {Message(1, "labelSelector", selector),
                                       Text(3, "topologyKey", "kubernetes.io/hostname")})})})}),
      Text(19, "schedulerName", "default-scheduler"),
      tolerate("node.kubernetes.io/not-ready"),
      tolerate("node.kubernetes.io/unreachable"),
      Number(25, "priority", 0),
      Bool(30, "enableServiceLinks"),
      Text(31, "preemptionPolicy", "PreemptLowerPriority"),
      Each(33, "topologySpreadConstraints",
           {Number(1, "maxSkew", 1), Text(2, "topologyKey", "topology.kubernetes.io/zone"),
            Text(3, "whenUnsatisfiable", "ScheduleAnyway"), Message(4, "labelSelector", selector)}),
  };
}

Fields StatusFields(int pod) {
  const auto condition = [](const char* type) {
    return Each(
        2, "conditions",
        {Text(1, "type", type), Text(2, "status", "True"), Time(4, "lastTransitionTime", kThen)});
  };
  const auto container = [](const char* name) {
    return Each(
        8, "containerStatuses",
        {Text(1, "name", name), Bool(4, "ready"), Number(5, "restartCount", 0),
         Text(6, "image", "registry.example.org/team/main:v1.42.0"),
         Text(7, "imageID",
              "registry.example.org/team/main@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"),
         Text(8, "containerID",
              "containerd://2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e730433")});
  };
  return {Text(1, "phase", "Running"),
          condition("Initialized"),
          condition("Ready"),
          condition("ContainersReady"),
          condition("PodScheduled"),
          Text(5, "hostIP", "10.1.2.3"),
          Text(6, "podIP", "10.0.0." + std::to_string(pod % 250)),
          Time(7, "startTime", kThen),
          container("main"),
          container("sidecar"),
          Text(9, "qosClass", "Burstable")};
}

Fields Pod(int pod, int shape) {
  return {Message(1, "metadata", Metadata(pod, shape)), Message(2, "spec", Spec(pod, shape)),
          Message(3, "status", StatusFields(pod))};
}

}  // namespace

std::string PodListEnvelope(int pods, int shapes) {
  std::string list;
  AppendBytes(list, 1, ToProto({Text(2, "resourceVersion", "1")}));
  for (int i = 0; i < pods; ++i) AppendBytes(list, 2, ToProto(Pod(i, i % shapes)));
  std::string out("k8s\0", 4);
  AppendBytes(out, 1, ToProto({Text(1, "apiVersion", "v1"), Text(2, "kind", "PodList")}));
  AppendBytes(out, 2, list);
  return out;
}

std::string PodListJson(int pods, int shapes) {
  std::string out =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[)";
  for (int i = 0; i < pods; ++i) {
    if (i > 0) out += ',';
    out += '{';
    AppendJsonFields(out, Pod(i, i % shapes));
    out += '}';
  }
  return out + "]}";
}

}  // namespace coppice::test
