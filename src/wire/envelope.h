// The "k8s\0" envelope around protobuf objects, and what a type is called inside it.

#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "model/kinds.h"

namespace coppice::wire {

struct Envelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view raw;  // the message
};

bool HasEnvelope(std::string_view bytes);
Result<Envelope> OpenEnvelope(std::string_view bytes);
std::string WrapInEnvelope(std::string_view api_version, std::string_view kind,
                           std::string_view raw);

// A whole protobuf watch frame, length prefix included, around an object's envelope.
std::string FrameWatchEvent(std::string_view type, std::string_view envelope);

// What to call T: lists are called after their items.
struct TypeName {
  std::string api_version;
  std::string kind;
};

template <class T>
struct TypeNameOf {
  static TypeName Get() {
    return {std::string(model::kKind<T>.api_version), std::string(model::kKind<T>.kind)};
  }
};
template <class T>
struct TypeNameOf<model::List<T>> {
  static TypeName Get() {
    TypeName item = TypeNameOf<T>::Get();
    item.kind += "List";
    return item;
  }
};

// Fails unless both agree; empty ones pass if `may_be_absent`.
Status CheckType(const TypeName& expected, std::string_view api_version, std::string_view kind,
                 bool may_be_absent);

}  // namespace coppice::wire
