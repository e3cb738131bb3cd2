// KubeWriter: bindings, and objects of any kind.

#include "kube/kube_writer.h"
#include "kube/object_edit.h"
#include "model/kinds.h"
#include "wire/wire.h"

namespace coppice::kube {
namespace {

// As for nodes: a conflict is tried again for five seconds.
constexpr Duration kObjectConflictFor = std::chrono::seconds(5);
constexpr Duration kObjectWriteTimeout = std::chrono::seconds(10);

constexpr char kMergePatch[] = "application/merge-patch+json";

Status Refusal(const Answer& answer) {
  if (MeansOtherUid(answer)) return NotFound("it is gone; another one has its name");
  return answer.Error().ToStatus();
}

}  // namespace

Task<Status> KubeWriter::DeletePod(cluster::PodName pod, int64_t grace_period_seconds) {
  Request request = DeleteRequest(ObjectPath({"v1", "pods", pod.namespace_, pod.name}), pod.uid,
                                  grace_period_seconds);
  CO_TRY(const Answer answer, co_await Fenced(std::move(request), kObjectWriteTimeout));
  co_return answer.Success() ? Status::Ok() : Refusal(answer);
}

Task<Status> KubeWriter::Bind(cluster::PodName pod, std::string node,
                              cluster::PodWriter::Annotations annotations) {
  const Result<Answer> answer =
      co_await Fenced(BindingRequest(pod, node, annotations), kObjectWriteTimeout);
  if (answer.ok() && answer->Success()) co_return Status::Ok();
  const Status refused = answer.ok() ? Refusal(*answer) : answer.status();
  // The answer was lost, or somebody has bound the pod: maybe we, in an attempt whose answer was.
  const bool unclear = answer.ok() ? refused.code() == Code::kAborted || answer->status >= 500
                                   : refused.code() == Code::kUnavailable ||
                                         refused.code() == Code::kDeadlineExceeded;
  if (!unclear) co_return refused;
  Request get;
  get.path = ObjectPath({"v1", "pods", pod.namespace_, pod.name});
  get.accept = std::string(kProtobuf) + "," + std::string(kJson);
  const Deadline by = Deadline::In(client_.executor().clock(), kObjectWriteTimeout);
  const Result<Answer> read = co_await client_.Get(std::move(get), by);
  if (!read.ok()) co_return read.code() == Code::kNotFound ? read.status() : refused;
  const auto now = wire::FromBytes<model::Pod>(read->body);
  if (!now.ok()) co_return refused;
  if (!pod.uid.empty() && now->metadata.uid != pod.uid)
    co_return NotFound("the pod is gone; another one has its name");
  if (now->spec.node_name == node) co_return Status::Ok();
  if (now->spec.node_name.empty()) co_return refused;
  co_return Status(Code::kAborted, "the pod is on node " + now->spec.node_name);
}

Task<Status> KubeWriter::ChangePodStatus(cluster::PodName pod, cluster::PodStatusChange change) {
  CO_TRY(const Answer answer, co_await Fenced(PodStatusRequest(pod, change), kObjectWriteTimeout));
  co_return answer.Success() ? Status::Ok() : Refusal(answer);
}

Task<Result<std::string>> KubeWriter::CreateObject(cluster::ObjectName object, std::string json) {
  Request request;
  request.method = "POST";
  CO_TRY(request.body, WithName(json, object));
  object.name.clear();
  request.path = ObjectPath(object);
  request.repeatable = false;
  CO_TRY(Answer answer, co_await Fenced(std::move(request), kObjectWriteTimeout));
  if (!answer.Success()) co_return answer.Error().ToStatus();
  co_return std::move(answer.body);
}

Task<Result<std::string>> KubeWriter::PatchObject(cluster::ObjectName object, std::string patch,
                                                  std::string subresource) {
  CO_TRY(const Patch made, WithUid(patch, object.uid));
  const Deadline give_up = Deadline::In(client_.executor().clock(), kObjectConflictFor);
  while (true) {
    Request request;
    request.method = "PATCH";
    request.path = ObjectPath(object) + subresource;
    request.content_type = kMergePatch;
    request.body = made.body;
    CO_TRY(Answer answer, co_await Fenced(std::move(request), kObjectWriteTimeout));
    if (answer.Success()) co_return std::move(answer.body);
    const Status refused = Refusal(answer);
    // A conflict that the patch itself does not ask for is the server's, between two writers.
    const bool again = refused.code() == Code::kAborted && !made.versioned;
    if (!again || give_up.Passed(client_.executor().clock())) co_return refused;
    co_await AfterConflict();
  }
}

Task<Result<std::string>> KubeWriter::UpdateObject(cluster::ObjectName object, std::string patch) {
  return PatchObject(std::move(object), std::move(patch), "");
}

Task<Result<std::string>> KubeWriter::UpdateStatus(cluster::ObjectName object, std::string patch) {
  return PatchObject(std::move(object), std::move(patch), "/status");
}

Task<Status> KubeWriter::ChangeFinalizers(cluster::ObjectName object,
                                          cluster::FinalizerChange change) {
  const Deadline give_up = Deadline::In(client_.executor().clock(), kObjectConflictFor);
  while (true) {
    CO_TRY(const std::string now, co_await ObjectNow(object));
    CO_TRY(const std::optional<std::string> patch, EditFinalizers(now, change, object.uid));
    if (!patch) co_return Status::Ok();
    // A repetition whose first attempt did arrive meets a conflict, reads, and finds all as wanted,
    // or finds that the last finalizer was all that kept the object.
    const Result<std::string> written = co_await PatchObject(object, *patch, "");
    if (written.ok()) co_return Status::Ok();
    if (written.code() != Code::kAborted || give_up.Passed(client_.executor().clock()))
      co_return written.status();
    co_await AfterConflict();
  }
}

Task<Status> KubeWriter::DeleteObject(cluster::ObjectName object) {
  Request request = DeleteRequest(ObjectPath(object), object.uid);
  CO_TRY(const Answer answer, co_await Fenced(std::move(request), kObjectWriteTimeout));
  co_return answer.Success() ? Status::Ok() : Refusal(answer);
}

Task<Result<std::string>> KubeWriter::ObjectNow(cluster::ObjectName object) {
  Request request;
  request.path = ObjectPath(object);
  const Deadline by = Deadline::In(client_.executor().clock(), kObjectWriteTimeout);
  CO_TRY(Answer answer, co_await client_.Get(std::move(request), by));
  co_return std::move(answer.body);
}

}  // namespace coppice::kube
