// How objects of a custom resource are read: the API server serves them as JSON only, and what they
// mean is known to whoever asks for them. The list and the watch are cut into objects here, and
// their metadata are read; the rest is read by the asker, object by object, on the transport's
// thread. One that cannot be read fails alone: it is handed out with its metadata, with
// metadata.unreadable set, and with nothing else.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kube/kind_codec.h"
#include "model/meta.h"

namespace coppice::kube {

struct CustomKind {
  std::string api_version;  // "karpenter.sh/v1"
  std::string kind;         // "NodePool"
  std::string resource;     // as in paths: "nodepools"
};

// As it came, for who keeps it so.
struct JsonObject {
  model::ObjectMeta metadata;
  std::string json;
};

// Makes the value that is handed out of one object, and notes in `metadata` if it could not be
// read.
using ReadCustom =
    std::function<std::shared_ptr<const void>(std::string_view json, model::ObjectMeta& metadata)>;
KindCodec CustomCodec(const CustomKind& kind, ReadCustom read);

// T has a model::ObjectMeta metadata, which is filled in here; `read` fills in the rest. It runs on
// the transport's thread.
template <class T>
KindCodec CustomCodecOf(const CustomKind& kind,
                        std::function<Result<T>(std::string_view json)> read) {
  return CustomCodec(
      kind, [read = std::move(read)](std::string_view json, model::ObjectMeta& metadata) {
        auto object = std::make_shared<T>();
        if (auto made = read(json); made.ok()) {
          *object = *std::move(made);
        } else if (!metadata.unreadable) {
          metadata.unreadable =
              model::Unreadable{.what = made.status().message(), .reason = "malformed"};
        }
        object->metadata = metadata;
        return std::shared_ptr<const void>(std::move(object));
      });
}
KindCodec JsonCodecOf(const CustomKind& kind);

}  // namespace coppice::kube
