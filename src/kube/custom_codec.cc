#include "kube/custom_codec.h"

#include "wire/json_cursor.h"
#include "wire/wire.h"

namespace coppice::kube {
namespace {

model::Unreadable Malformed(std::string what) {
  return {.what = std::move(what), .reason = "malformed"};
}

// Calls back with each member of an object, as text; what is broken inside a value is left to
// whoever reads it.
Status ForEachMember(
    std::string_view json,
    const std::function<void(std::string_view key, std::string_view value)>& each) {
  wire::JsonCursor in(json);
  if (!in.Open('{')) return InvalidArgument(in.problem());
  bool first = true;
  while (in.Next('}', first)) {
    std::string_view text;
    if (!in.ReadKey(text)) return InvalidArgument(in.problem());
    const std::string key(text);
    (void)in.Peek();
    const char* begin = in.at();
    if (!in.Skip() && !in.SkipLoosely(begin)) return InvalidArgument(in.problem());
    each(key, std::string_view(begin, static_cast<size_t>(in.at() - begin)));
  }
  return in.failed() ? InvalidArgument(in.problem()) : Status::Ok();
}

Status ForEachElement(std::string_view json, const std::function<void(std::string_view)>& each) {
  wire::JsonCursor in(json);
  if (!in.Open('[')) return InvalidArgument(in.problem());
  bool first = true;
  while (in.Next(']', first)) {
    (void)in.Peek();
    const char* begin = in.at();
    if (!in.Skip() && !in.SkipLoosely(begin)) return InvalidArgument(in.problem());
    each(std::string_view(begin, static_cast<size_t>(in.at() - begin)));
  }
  return in.failed() ? InvalidArgument(in.problem()) : Status::Ok();
}

// Metadata alone, by the reader of lists: it keeps what can be read.
model::ObjectMeta ReadMetadata(std::string_view metadata_json) {
  model::ObjectMeta metadata;
  std::string list = R"({"items":[{"metadata":)";
  list += metadata_json;
  list += "}]}";
  const auto read =
      wire::ForEachItem<model::PartialObjectMetadata>(list, [&](model::PartialObjectMetadata& one) {
        metadata = std::move(one.metadata);
        return Status::Ok();
      });
  if (!read.ok()) metadata.unreadable = Malformed(read.status().message());
  return metadata;
}

struct CustomReader {
  CustomKind kind;
  ReadCustom read;

  Delta Read(model::WatchType type, std::string_view json) const {
    Delta delta;
    delta.type = type;
    model::ObjectMeta metadata;
    std::string said_kind;
    const Status cut = ForEachMember(json, [&](std::string_view key, std::string_view value) {
      if (key == "metadata") metadata = ReadMetadata(value);
      if (key == "kind" && value.size() > 2) said_kind = value.substr(1, value.size() - 2);
    });
    if (!cut.ok() && !metadata.unreadable) metadata.unreadable = Malformed(cut.message());
    if (!said_kind.empty() && said_kind != kind.kind) {
      // Somebody else's object must not be taken for one of this kind.
      metadata = {};
      metadata.unreadable =
          Malformed("this is of kind '" + said_kind + "' and not of '" + kind.kind + "'");
    }
    // A bookmark is a version and a few annotations.
    if (type != model::WatchType::kBookmark) delta.object = read(json, metadata);
    if (type != model::WatchType::kBookmark) delta.unreadable = metadata.unreadable;
    delta.initial_end = type == model::WatchType::kBookmark &&
                        metadata.annotations.contains("k8s.io/initial-events-end");
    delta.namespace_ = metadata.namespace_;
    delta.name = metadata.name;
    delta.version = metadata.resource_version;
    return delta;
  }

  Result<Page> ReadPage(std::string_view bytes) const {
    Page page;
    Status inside;
    TRY(ForEachMember(bytes, [&](std::string_view key, std::string_view value) {
      if (key == "items" && value != "null") {
        inside = ForEachElement(value, [&](std::string_view item) {
          page.items.push_back(Read(model::WatchType::kAdded, item));
        });
      } else if (key == "metadata") {
        page.metadata = ReadListMetadata(value);
      }
    }));
    TRY(inside.Context("items"));
    return page;
  }

  static model::ListMeta ReadListMetadata(std::string_view json) {
    std::string list = R"({"metadata":)";
    list += json;
    list += R"(,"items":[]})";
    const auto read = wire::ForEachItem<model::PartialObjectMetadata>(
        list, [](model::PartialObjectMetadata&) { return Status::Ok(); });
    return read.ok() ? *read : model::ListMeta{};
  }

  Result<Delta> ReadEvent(wire::Encoding encoding, std::string_view bytes,
                          std::optional<wire::ApiError>& error) const {
    const wire::RawWatchEvent raw = TRY(wire::OpenWatchEvent(encoding, bytes));
    if (raw.type == model::WatchType::kError) {
      const auto status = TRY(wire::FromBytes<model::ApiStatus>(raw.object).Context("object"));
      error = wire::ErrorFromStatus(status);
      return error->ToStatus();
    }
    return Read(raw.type, raw.object);
  }
};

}  // namespace

KindCodec CustomCodec(const CustomKind& kind, ReadCustom read) {
  const auto reader = std::make_shared<const CustomReader>(CustomReader{kind, std::move(read)});
  KindCodec codec;
  codec.path = "/apis/" + kind.api_version + "/" + kind.resource;
  codec.kind = kind.kind;
  codec.json_only = true;
  codec.read_page = [reader](std::string_view bytes) { return reader->ReadPage(bytes); };
  codec.read_event = [reader](wire::Encoding encoding, std::string_view bytes,
                              std::optional<wire::ApiError>& error) {
    return reader->ReadEvent(encoding, bytes, error);
  };
  return codec;
}

KindCodec JsonCodecOf(const CustomKind& kind) {
  return CustomCodecOf<JsonObject>(kind, [](std::string_view json) -> Result<JsonObject> {
    return JsonObject{.metadata = {}, .json = std::string(json)};
  });
}

}  // namespace coppice::kube
