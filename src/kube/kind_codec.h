// What a reflector has to know about a kind, with the type taken away: so that the reflector is
// compiled once, and decoding can run on the transport's thread.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/cautious.h"
#include "model/kinds.h"
#include "wire/api_error.h"
#include "wire/watch_frames.h"
#include "wire/wire.h"

namespace coppice::kube {

// One object as it was read.
struct Delta {
  model::WatchType type = model::WatchType::kAdded;
  std::string namespace_;
  std::string name;
  std::string version;
  bool initial_end = false;  // the bookmark that ends a streamed list
  // It could not be read: what is in `object` is what is left of it.
  model::Rare<model::Unreadable> unreadable;
  std::shared_ptr<const void> object;
};

struct Page {
  std::vector<Delta> items;
  model::ListMeta metadata;
};

struct KindCodec {
  std::string path;  // of all of them, in every namespace: "/apis/apps/v1/daemonsets"
  std::string kind;
  bool json_only = false;  // custom resources have no protobuf
  // On the transport's thread.
  std::function<Result<Page>(std::string_view bytes)> read_page;
  // An ERROR event comes back as the failure in `error`.
  std::function<Result<Delta>(wire::Encoding encoding, std::string_view bytes,
                              std::optional<wire::ApiError>& error)>
      read_event;
};

template <class T>
Delta DeltaOf(model::WatchType type, T&& object) {
  Delta delta;
  delta.type = type;
  if (object.metadata.unreadable) [[unlikely]] {
    delta.unreadable = object.metadata.unreadable;
    MakeCautious(object);
  } else if (auto why = WhyNotUnderstood(object)) {
    object.metadata.unreadable = *std::move(why);
    delta.unreadable = object.metadata.unreadable;
  }
  delta.namespace_ = object.metadata.namespace_;
  delta.name = object.metadata.name;
  delta.version = object.metadata.resource_version;
  delta.object = std::make_shared<const std::remove_cvref_t<T>>(std::forward<T>(object));
  return delta;
}

template <class T>
Result<Page> ReadPage(std::string_view bytes) {
  Page page;
  auto metadata = wire::ForEachItem<T>(bytes, [&](T& item) {
    page.items.push_back(DeltaOf(model::WatchType::kAdded, T(item)));  // a copy without slack
    return Status::Ok();
  });
  if (!metadata.ok()) return metadata.status();
  page.metadata = *std::move(metadata);
  return page;
}

template <class T>
Result<Delta> ReadEvent(wire::Encoding encoding, std::string_view bytes,
                        std::optional<wire::ApiError>& error) {
  auto event = wire::ReadWatchEvent<T>(encoding, bytes);
  if (!event.ok()) return event.status();
  if (event->type == model::WatchType::kError) {
    error = wire::ErrorFromStatus(event->error);
    return error->ToStatus();
  }
  const bool initial_end = event->type == model::WatchType::kBookmark &&
                           event->object.metadata.annotations.contains("k8s.io/initial-events-end");
  Delta delta = DeltaOf(event->type, std::move(event->object));
  delta.initial_end = initial_end;
  return delta;
}

template <class T>
KindCodec CodecOf() {
  constexpr model::Kind kind = model::kKind<T>;
  const bool core = kind.api_version.find('/') == std::string_view::npos;
  KindCodec codec;
  codec.path = (core ? "/api/" : "/apis/") + std::string(kind.api_version) + "/" +
               std::string(kind.resource);
  codec.kind = kind.kind;
  codec.read_page = ReadPage<T>;
  codec.read_event = ReadEvent<T>;
  return codec;
}

}  // namespace coppice::kube
