#include "kube/kube_writer.h"

#include <nlohmann/json.hpp>

#include "kube/node_edit.h"
#include "kube/object_edit.h"
#include "model/kinds.h"
#include "wire/wire.h"

namespace coppice::kube {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Upstream's for taints: a conflict is tried again for five seconds.
constexpr Duration kConflictFor = std::chrono::seconds(5);
constexpr Duration kConflictWait = std::chrono::milliseconds(100);
constexpr Duration kWriteTimeout = std::chrono::seconds(10);
// When many nodes are to go each is asked about: the server looks through all pods for one of them,
// and everything else that it is asked waits with us.
constexpr size_t kAskedAtOnce = 10;
constexpr Duration kWaitToAsk = std::chrono::seconds(30);

std::string PodPath(const cluster::PodName& pod) {
  return "/api/v1/namespaces/" + net::PercentEncode(pod.namespace_) + "/pods/" +
         net::PercentEncode(pod.name);
}

}  // namespace

Request EvictionRequest(const cluster::PodName& pod, int64_t grace_period_seconds) {
  OrderedJson body = {{"apiVersion", "policy/v1"},
                      {"kind", "Eviction"},
                      {"metadata", {{"name", pod.name}, {"namespace", pod.namespace_}}},
                      {"deleteOptions", {{"gracePeriodSeconds", grace_period_seconds}}}};
  // Else it could hit the successor of the pod that was meant: a StatefulSet's has the same name.
  if (!pod.uid.empty()) body["deleteOptions"]["preconditions"]["uid"] = pod.uid;
  Request request;
  request.method = "POST";
  request.path = PodPath(pod) + "/eviction";
  request.body = body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  // The drain asks again by itself, and knows how long.
  request.repeatable = false;
  return request;
}

KubeWriter::KubeWriter(Client& client, EventSender& events, Fence fence)
    : client_(client),
      events_(events),
      fence_(std::move(fence)),
      asks_pods_(client.executor(), kAskedAtOnce) {
  events_.guard = fence_.may_write;
}

Task<Result<Answer>> KubeWriter::Fenced(Request request, Duration timeout) {
  request.guard = fence_.may_write;
  Deadline deadline = Deadline::In(client_.executor().clock(), timeout);
  if (fence_.within) deadline = fence_.within(deadline);
  ++under_way_;
  Result<Answer> answer = co_await client_.Send(std::move(request), deadline);
  --under_way_;
  co_return answer;
}

Task<Status> KubeWriter::ChangeNode(std::string node, cluster::NodeChange change) {
  const std::string path = "/api/v1/nodes/" + net::PercentEncode(node);
  const Deadline give_up = Deadline::In(client_.executor().clock(), kConflictFor);
  while (true) {
    Request get;
    get.path = path;
    // The write that follows waits for its turn: once is enough, or a round of ten would take three
    // seconds of the machines' time.
    get.limited = false;
    const Deadline get_by = Deadline::In(client_.executor().clock(), kWriteTimeout);
    CO_TRY(const Answer read, co_await client_.Get(std::move(get), get_by));
    CO_TRY(const std::optional<std::string> edited, EditNode(read.body, change));
    if (!edited) co_return Status::Ok();
    Request put;
    put.method = "PUT";
    put.path = path;
    put.body = *edited;
    // With its version it cannot be done twice. A repetition whose first attempt did arrive meets a
    // conflict, reads, and finds that all is as wanted.
    put.repeatable = true;
    CO_TRY(const Answer written, co_await Fenced(std::move(put), kWriteTimeout));
    if (written.Success()) co_return Status::Ok();
    if (written.status != 409 || give_up.Passed(client_.executor().clock()))
      co_return written.Error().ToStatus();
    co_await AfterConflict();
  }
}

Task<void> KubeWriter::AfterConflict() {
  const auto wait =
      std::chrono::duration_cast<Duration>(kConflictWait * (0.5 + client_.rng().Unit()));
  co_await client_.executor().Sleep(wait);
}

Task<Status> KubeWriter::Evict(cluster::PodName pod, int64_t grace_period_seconds) {
  Request request = EvictionRequest(pod, grace_period_seconds);
  const Result<Answer> answer = co_await Fenced(std::move(request), kWriteTimeout);
  Status outcome = answer.status();
  if (answer.ok() && !answer->Success()) outcome = answer->Error().ToStatus();
  if (answer.ok() && MeansOtherUid(*answer))
    outcome = NotFound("the pod is gone; another one has its name");
  if (on_eviction) on_eviction(outcome);
  co_return outcome;
}

Task<Result<std::optional<std::string>>> KubeWriter::WhereIs(cluster::PodName pod) {
  Request request;
  request.path = PodPath(pod);
  request.accept = std::string(kProtobuf);
  const Deadline deadline = Deadline::In(client_.executor().clock(), kWriteTimeout);
  CO_TRY(const Answer answer, co_await client_.Send(std::move(request), deadline));
  if (answer.status == 404) co_return std::optional<std::string>();
  if (!answer.Success()) co_return answer.Error().ToStatus();
  CO_TRY(const model::Pod found, wire::FromBytes<model::Pod>(answer.body));
  co_return std::optional<std::string>(found.spec.node_name);
}

Task<Result<std::vector<cluster::LivePod>>> KubeWriter::PodsOn(std::string node) {
  Request request;
  request.path = "/api/v1/pods";
  request.query.emplace_back(
      "fieldSelector", "spec.nodeName=" + node + ",status.phase!=Succeeded,status.phase!=Failed");
  request.accept = std::string(kProtobuf) + "," + std::string(kJson);
  request.limited = false;  // before a removal: they are not to wait behind events
  const auto permit =
      co_await asks_pods_.Take(Deadline::In(client_.executor().clock(), kWaitToAsk));
  if (!permit) co_return DeadlineExceeded("too many other nodes are asked about first");
  const Deadline deadline = Deadline::In(client_.executor().clock(), kWriteTimeout);
  CO_TRY(const Answer answer, co_await client_.Get(std::move(request), deadline));
  std::vector<cluster::LivePod> pods;
  const auto read = wire::ForEachItem<model::Pod>(answer.body, [&](model::Pod& pod) {
    // Of one that cannot be read the server knows the node.
    if (pod.spec.node_name == node || pod.metadata.unreadable)
      pods.push_back(std::make_shared<const model::Pod>(pod));
    return Status::Ok();
  });
  if (!read.ok()) co_return read.status();
  co_return pods;
}

Task<Result<cluster::LiveNode>> KubeWriter::NodeNow(std::string node) {
  Request request;
  request.path = "/api/v1/nodes/" + net::PercentEncode(node);
  request.accept = std::string(kProtobuf) + "," + std::string(kJson);
  request.limited = false;  // as for the pods on it
  const Deadline deadline = Deadline::In(client_.executor().clock(), kWriteTimeout);
  CO_TRY(const Answer answer, co_await client_.Get(std::move(request), deadline));
  CO_TRY(model::Node found, wire::FromBytes<model::Node>(answer.body));
  co_return cluster::LiveNode(std::make_shared<const model::Node>(std::move(found)));
}

void KubeWriter::Emit(cluster::Event event) {
  if (event.kind == "ConfigMap" && event.uid.empty() && event.name == map_name_)
    event.uid = map_uid_;
  events_.Emit(std::move(event));
}

void KubeWriter::EmitAboutPods(std::vector<cluster::LivePod> pods, cluster::Event what) {
  events_.EmitAboutPods(std::move(pods), std::move(what));
}

Task<Status> KubeWriter::PutConfigMap(std::string namespace_, std::string name,
                                      std::string data_key, std::string data,
                                      Annotations annotations) {
  const std::string folder = "/api/v1/namespaces/" + namespace_ + "/configmaps";
  Request get;
  get.path = folder + "/" + name;
  const Deadline get_by = Deadline::In(client_.executor().clock(), kWriteTimeout);
  CO_TRY(const Answer read, co_await client_.Send(std::move(get), get_by));
  OrderedJson map;
  Request write;
  if (read.status == 404) {
    map = {{"apiVersion", "v1"},
           {"kind", "ConfigMap"},
           {"metadata", {{"name", name}, {"namespace", namespace_}}}};
    write.method = "POST";
    write.path = folder;
    write.repeatable = false;
  } else if (!read.Success()) {
    co_return read.Error().ToStatus();
  } else {
    map = OrderedJson::parse(read.body, nullptr, false);
    if (!map.is_object() || !map["metadata"].is_object())
      co_return InvalidArgument("the answer is not a ConfigMap");
    write.method = "PUT";
    write.path = folder + "/" + name;
  }
  if (!map["data"].is_object()) map["data"] = OrderedJson::object();
  map["data"][data_key] = std::move(data);
  if (!map["metadata"]["annotations"].is_object())
    map["metadata"]["annotations"] = OrderedJson::object();
  for (auto& [key, text] : annotations) map["metadata"]["annotations"][key] = std::move(text);
  write.body = map.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  CO_TRY(const Answer written, co_await Fenced(std::move(write), kWriteTimeout));
  if (!written.Success()) co_return written.Error().ToStatus();
  const OrderedJson now = OrderedJson::parse(written.body, nullptr, false);
  if (now.is_object() && now.contains("metadata") && now["metadata"].is_object()) {
    map_name_ = name;
    map_uid_ = now["metadata"].value("uid", "");
  }
  co_return Status::Ok();
}

Task<Result<std::string>> KubeWriter::ReadAnnotation(std::string namespace_, std::string config_map,
                                                     std::string annotation) {
  Request get;
  get.path = "/api/v1/namespaces/" + namespace_ + "/configmaps/" + config_map;
  const Deadline by = Deadline::In(client_.executor().clock(), kWriteTimeout);
  CO_TRY(const Answer read, co_await client_.Send(std::move(get), by));
  if (read.status == 404) co_return std::string();
  if (!read.Success()) co_return read.Error().ToStatus();
  const OrderedJson map = OrderedJson::parse(read.body, nullptr, false);
  const OrderedJson::json_pointer at =
      OrderedJson::json_pointer("/metadata/annotations") / annotation;
  if (!map.is_object() || !map.contains(at) || !map[at].is_string()) co_return std::string();
  co_return map[at].get<std::string>();
}

Task<Status> KubeWriter::DeleteConfigMap(std::string namespace_, std::string name) {
  Request request;
  request.method = "DELETE";
  request.path = "/api/v1/namespaces/" + namespace_ + "/configmaps/" + name;
  CO_TRY(const Answer answer, co_await Fenced(std::move(request), kWriteTimeout));
  if (answer.Success() || answer.status == 404) co_return Status::Ok();
  co_return answer.Error().ToStatus();
}

}  // namespace coppice::kube
