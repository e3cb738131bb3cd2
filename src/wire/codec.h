// What wire.h promises, for any type that has a table. Included by instantiate_*.cc and nobody
// else, so that the templates are compiled once per type.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "wire/envelope.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"
#include "wire/proto_reader.h"
#include "wire/proto_writer.h"
#include "wire/tables_api.h"
#include "wire/watch_frames.h"
#include "wire/wire.h"

namespace coppice::wire {

// All that can be read of an object that has failed to be read as a whole, and what was wrong.
template <class T>
T SalvageProto(std::string_view message, const Trouble& trouble) {
  Reading reading;
  reading.lenient = true;
  T object;
  (void)ProtoReader(reading).Read(message, object);
  object.metadata.unreadable = trouble.ToUnreadable();
  return object;
}

template <class T>
T SalvageJson(std::string_view text, const Trouble& trouble) {
  JsonCursor in(text);
  Reading reading;
  reading.lenient = true;
  T object;
  JsonReader::TypeMeta type_meta;
  (void)JsonReader(in, reading).Read(object, &type_meta);
  object.metadata.unreadable = trouble.ToUnreadable();
  return object;
}

template <class T>
Result<T> FromProto(std::string_view message) {
  Reading reading;
  T value;
  if (!ProtoReader(reading).Read(message, value)) return reading.trouble.ToStatus();
  return value;
}

template <class T>
std::string ToProto(const T& value) {
  ProtoWriter writer;
  writer.Write(value);
  return writer.Take();
}

template <class T>
Result<T> FromEnvelope(std::string_view bytes) {
  const Envelope envelope = TRY(OpenEnvelope(bytes));
  TRY(CheckType(TypeNameOf<T>::Get(), envelope.api_version, envelope.kind, false));
  return FromProto<T>(envelope.raw);
}

template <class T>
std::string ToEnvelope(const T& value) {
  const TypeName name = TypeNameOf<T>::Get();
  return WrapInEnvelope(name.api_version, name.kind, ToProto(value));
}

template <class T>
Result<T> FromJson(std::string_view text) {
  JsonCursor in(text);
  Reading reading;
  T value;
  JsonReader::TypeMeta type_meta;
  if (!JsonReader(in, reading).Read(value, &type_meta)) return reading.trouble.ToStatus();
  if (!in.AtEnd()) return InvalidArgument("more text after the JSON document");
  TRY(CheckType(TypeNameOf<T>::Get(), type_meta.api_version, type_meta.kind, true));
  return value;
}

template <class T>
std::string ToJson(const T& value) {
  const TypeName name = TypeNameOf<T>::Get();
  JsonWriter writer;
  writer.Write(value, name.kind, name.api_version);
  return writer.Take();
}

template <class T>
Result<T> FromBytes(std::string_view bytes) {
  if constexpr (kJsonOnly<T>) {
    return FromJson<T>(bytes);
  } else {
    return HasEnvelope(bytes) ? FromEnvelope<T>(bytes) : FromJson<T>(bytes);
  }
}

template <class T>
Result<model::ListMeta> ForEachProtoItem(std::string_view message,
                                         const std::function<Status(T& item)>& each) {
  Reading reading;
  reading.quantities = std::make_unique<QuantityMemory>();
  ProtoReader reader(reading);
  model::ListMeta metadata;
  T item;
  size_t count = 0;
  for (ProtoCursor in(message); !in.done();) {
    Tag tag;
    std::string_view bytes;
    if (!in.ReadTag(tag)) return InvalidArgument("bytes that are no protobuf tag");
    const bool is_message = tag.type == WireType::kLengthDelimited;
    if (!(is_message ? in.ReadBytes(bytes) : in.Skip(tag))) {
      return InvalidArgument("the list is cut off after " + std::to_string(count) + " items");
    }
    if (tag.number == 1 && is_message) {
      if (!reader.Read(bytes, metadata))
        return reading.trouble.In("metadata"), reading.trouble.ToStatus();
    } else if (tag.number == 2) {
      if (!is_message) return InvalidArgument("items: the wrong protobuf wire type for a message");
      ++count;
      if (reader.Read(bytes, item)) [[likely]] {
        TRY(each(item));
      } else {
        T rest = SalvageProto<T>(bytes, std::exchange(reading.trouble, {}));
        TRY(each(rest));
      }
    }
  }
  return metadata;
}

template <class T>
Status ForEachJsonElement(JsonCursor& in, Reading& reading,
                          const std::function<Status(T& item)>& each) {
  JsonReader reader(in, reading);
  T item;
  if (!in.Open('[')) return InvalidArgument("items: " + in.problem());
  bool first = true;
  while (in.Next(']', first)) {
    in.Peek();
    const char* start = in.at();
    if (reader.Read(item)) [[likely]] {
      TRY(each(item));
      continue;
    }
    const Trouble trouble = std::exchange(reading.trouble, {});
    if (!in.SkipLoosely(start)) break;
    T rest = SalvageJson<T>({start, static_cast<size_t>(in.at() - start)}, trouble);
    TRY(each(rest));
  }
  return in.failed() ? InvalidArgument("items: " + in.problem()) : Status::Ok();
}

template <class T>
Result<model::ListMeta> ForEachJsonItem(std::string_view text,
                                        const std::function<Status(T& item)>& each) {
  JsonCursor in(text);
  Reading reading;
  reading.quantities = std::make_unique<QuantityMemory>();
  model::ListMeta metadata;
  TypeName type;
  if (!in.Open('{')) return InvalidArgument(in.problem());
  bool first = true;
  while (in.Next('}', first)) {
    std::string_view key;
    if (!in.ReadKey(key)) return InvalidArgument(in.problem());
    std::string_view name;
    if (key == "kind" || key == "apiVersion") {
      std::string& field = key == "kind" ? type.kind : type.api_version;
      if (!in.ReadText(name)) return InvalidArgument(in.problem());
      field.assign(name);
      // Usually these come first, and then nothing of a wrong list is handed on.
      TRY(CheckType(TypeNameOf<model::List<T>>::Get(), type.api_version, type.kind, true));
    } else if (key == "metadata" && in.Peek() == '{') {
      if (!JsonReader(in, reading).Read(metadata)) {
        return reading.trouble.In("metadata"), reading.trouble.ToStatus();
      }
    } else if (key == "items" && in.Peek() != 'n') {
      TRY(ForEachJsonElement<T>(in, reading, each));
    } else if (!in.Skip()) {
      return InvalidArgument(in.problem());
    }
  }
  if (in.failed()) return InvalidArgument(in.problem());
  if (!in.AtEnd()) return InvalidArgument("more text after the JSON document");
  return metadata;
}

template <class T>
Result<model::ListMeta> ForEachItem(std::string_view bytes,
                                    const std::function<Status(T& item)>& each) {
  if constexpr (kJsonOnly<T>) {
    return ForEachJsonItem<T>(bytes, each);
  } else {
    if (!HasEnvelope(bytes)) return ForEachJsonItem<T>(bytes, each);
    const Envelope envelope = TRY(OpenEnvelope(bytes));
    TRY(CheckType(TypeNameOf<model::List<T>>::Get(), envelope.api_version, envelope.kind, false));
    return ForEachProtoItem<T>(envelope.raw, each);
  }
}

// Every kind's watch may bring one; compiled in instantiate_api.cc.
extern template Result<model::ApiStatus> FromBytes<model::ApiStatus>(std::string_view);
extern template std::string ToJson<model::ApiStatus>(const model::ApiStatus&);
extern template std::string ToEnvelope<model::ApiStatus>(const model::ApiStatus&);

// An object of a watch, which is there even if it cannot be read.
template <class T>
T ReadObject(std::string_view bytes) {
  Reading reading;
  T object;
  const auto fails = [&](const Status& status) {
    T empty;
    empty.metadata.unreadable = model::Unreadable{
        .what = status.message(), .reason = std::string(ToString(Flaw::kMalformed))};
    return empty;
  };
  if constexpr (!kJsonOnly<T>) {
    if (HasEnvelope(bytes)) {
      const auto envelope = OpenEnvelope(bytes);
      if (!envelope.ok()) return fails(envelope.status());
      const Status type =
          CheckType(TypeNameOf<T>::Get(), envelope->api_version, envelope->kind, false);
      if (!type.ok()) return fails(type);
      if (ProtoReader(reading).Read(envelope->raw, object)) return object;
      return SalvageProto<T>(envelope->raw, reading.trouble);
    }
  }
  JsonCursor in(bytes);
  JsonReader::TypeMeta type_meta;
  const bool read = JsonReader(in, reading).Read(object, &type_meta);
  const Status type = CheckType(TypeNameOf<T>::Get(), type_meta.api_version, type_meta.kind, true);
  if (!type.ok()) return fails(type);
  if (!read) return SalvageJson<T>(bytes, reading.trouble);
  if (!in.AtEnd()) return fails(InvalidArgument("more text after the JSON document"));
  return object;
}

template <class T>
Result<model::WatchEvent<T>> ReadWatchEvent(Encoding encoding, std::string_view bytes) {
  const RawWatchEvent raw = TRY(OpenWatchEvent(encoding, bytes));
  model::WatchEvent<T> event;
  event.type = raw.type;
  if (raw.type == model::WatchType::kError) {
    event.error = TRY(FromBytes<model::ApiStatus>(raw.object).Context("object"));
  } else {
    event.object = ReadObject<T>(raw.object);
  }
  return event;
}

template <class T>
std::string WriteWatchEvent(Encoding encoding, const model::WatchEvent<T>& event) {
  const bool is_error = event.type == model::WatchType::kError;
  const std::string_view type = ToString(event.type);
  if (kJsonOnly<T> || encoding == Encoding::kJson) {
    return R"({"type":")" + std::string(type) + R"(","object":)" +
           (is_error ? ToJson(event.error) : ToJson(event.object)) + "}\n";
  }
  if constexpr (!kJsonOnly<T>) {
    return FrameWatchEvent(type, is_error ? ToEnvelope(event.error) : ToEnvelope(event.object));
  }
  return {};
}

}  // namespace coppice::wire

// One object type, alone.
#define COPPICE_WIRE_OBJECT(T)                                                  \
  template coppice::Result<T> coppice::wire::FromProto<T>(std::string_view);    \
  template std::string coppice::wire::ToProto<T>(const T&);                     \
  template coppice::Result<T> coppice::wire::FromEnvelope<T>(std::string_view); \
  template std::string coppice::wire::ToEnvelope<T>(const T&);                  \
  template coppice::Result<T> coppice::wire::FromJson<T>(std::string_view);     \
  template std::string coppice::wire::ToJson<T>(const T&);                      \
  template coppice::Result<T> coppice::wire::FromBytes<T>(std::string_view)

// One object type and its list.
#define COPPICE_WIRE_KIND(T)                                                                \
  COPPICE_WIRE_OBJECT(T);                                                                   \
  COPPICE_WIRE_OBJECT(coppice::model::List<T>);                                             \
  template coppice::Result<coppice::model::ListMeta> coppice::wire::ForEachItem<T>(         \
      std::string_view, const std::function<coppice::Status(T&)>&);                         \
  template coppice::Result<coppice::model::WatchEvent<T>> coppice::wire::ReadWatchEvent<T>( \
      coppice::wire::Encoding, std::string_view);                                           \
  template std::string coppice::wire::WriteWatchEvent<T>(coppice::wire::Encoding,           \
                                                         const coppice::model::WatchEvent<T>&)

// One custom resource and its list: JSON, and nothing else.
#define COPPICE_WIRE_CUSTOM(T)                                                              \
  template coppice::Result<T> coppice::wire::FromJson<T>(std::string_view);                 \
  template std::string coppice::wire::ToJson<T>(const T&);                                  \
  template coppice::Result<T> coppice::wire::FromBytes<T>(std::string_view);                \
  template coppice::Result<coppice::model::List<T>>                                         \
      coppice::wire::FromJson<coppice::model::List<T>>(std::string_view);                   \
  template std::string coppice::wire::ToJson<coppice::model::List<T>>(                      \
      const coppice::model::List<T>&);                                                      \
  template coppice::Result<coppice::model::ListMeta> coppice::wire::ForEachItem<T>(         \
      std::string_view, const std::function<coppice::Status(T&)>&);                         \
  template coppice::Result<coppice::model::WatchEvent<T>> coppice::wire::ReadWatchEvent<T>( \
      coppice::wire::Encoding, std::string_view);                                           \
  template std::string coppice::wire::WriteWatchEvent<T>(coppice::wire::Encoding,           \
                                                         const coppice::model::WatchEvent<T>&)
