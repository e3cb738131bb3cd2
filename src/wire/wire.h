// Bytes <-> model, for every kind of model/objects.h and for lists of them.
//
// Protobuf and JSON are read and written by the same tables (fields.h), so they cannot disagree.
// Unknown fields are skipped. Text is taken as it is, UTF-8 or not. Bad bytes are an
// kInvalidArgument whose text starts with the path of the field:
// "spec.containers[2].resources.requests[cpu]: ...". All functions are pure and may be called from
// any thread.
//
// T is one of the kinds of model/kinds.h (also ApiStatus and PartialObjectMetadata) or model::List
// of one. What is not instantiated in instantiate_*.cc does not link.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/objects.h"

namespace coppice::wire {

// The bare message, without kind and apiVersion.
template <class T>
Result<T> FromProto(std::string_view message);
template <class T>
std::string ToProto(const T& value);

// What the API server sends and takes as application/vnd.kubernetes.protobuf: "k8s\0", kind,
// apiVersion, and the message. Another kind than T's is refused.
template <class T>
Result<T> FromEnvelope(std::string_view bytes);
template <class T>
std::string ToEnvelope(const T& value);

// One JSON document. Its kind and apiVersion may be missing (items of lists have none), but not be
// wrong; ToJson writes them.
template <class T>
Result<T> FromJson(std::string_view text);
template <class T>
std::string ToJson(const T& value);

// Envelope or JSON, whichever it is.
template <class T>
Result<T> FromBytes(std::string_view bytes);

// Reads a list (envelope or JSON) item by item, all into the same T, whose memory is reused: for
// lists of thousands. `each` may take what it wants out of the item; what it leaves is overwritten.
// A failure of `each` ends the reading and is passed on. An item that cannot be read does not: it
// is handed out with metadata.unreadable set and all else that could be read of it. Only a list
// that cannot be cut into its items fails.
template <class T>
Result<model::ListMeta> ForEachItem(std::string_view bytes,
                                    const std::function<Status(T& item)>& each);

}  // namespace coppice::wire
