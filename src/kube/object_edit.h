// Requests about objects of any kind, and editing their JSON without losing what we do not know.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cluster/writer.h"
#include "kube/client.h"

namespace coppice::kube {

// "/apis/karpenter.sh/v1/nodeclaims/web-1"; of the collection if `object` has no name.
std::string ObjectPath(const cluster::ObjectName& object);

// Deletes what is addressed, if it has that uid. grace_period_seconds < 0: the object's own.
Request DeleteRequest(std::string path, const std::string& uid, int64_t grace_period_seconds = -1);

// The binding subresource. The server holds it against the pod's uid.
Request BindingRequest(const cluster::PodName& pod, const std::string& node,
                       const cluster::PodWriter::Annotations& annotations);

// The status subresource, by a strategic merge: conditions of other types stay.
Request PodStatusRequest(const cluster::PodName& pod, const cluster::PodStatusChange& change);

// The object with the name and namespace that it is created under.
Result<std::string> WithName(std::string_view object_json, const cluster::ObjectName& object);

struct Patch {
  std::string body;
  bool versioned = false;  // it names the version that it was made for
};
// A merge patch, which the server refuses for an object of another uid.
Result<Patch> WithUid(std::string_view patch_json, const std::string& uid);

// The merge patch that makes the change, with the version that was read; nothing if all is as
// wanted. kNotFound: the object is another one than `uid`.
Result<std::optional<std::string>> EditFinalizers(std::string_view object_json,
                                                  const cluster::FinalizerChange& change,
                                                  const std::string& uid);

// Whether a refusal says that the object of that name is another one.
bool MeansOtherUid(const Answer& answer);

}  // namespace coppice::kube
