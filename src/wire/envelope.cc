#include "wire/envelope.h"

#include "wire/proto_cursor.h"
#include "wire/proto_writer.h"

namespace coppice::wire {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);

Status Malformed(std::string_view what) {
  return InvalidArgument("malformed protobuf envelope: " + std::string(what));
}

// Calls field(tag, bytes) for each length-delimited field and skips the others.
template <class F>
bool EachText(std::string_view message, F field) {
  for (ProtoCursor in(message); !in.done();) {
    Tag tag;
    std::string_view bytes;
    if (!in.ReadTag(tag)) return false;
    if (tag.type != WireType::kLengthDelimited) {
      if (!in.Skip(tag)) return false;
    } else if (in.ReadBytes(bytes)) {
      field(tag.number, bytes);
    } else {
      return false;
    }
  }
  return true;
}

void PrependText(BackwardBytes& out, uint32_t number, std::string_view text) {
  out.Prepend(text);
  out.PrependVarint(text.size());
  out.PrependTag(number, WireType::kLengthDelimited);
}

}  // namespace

bool HasEnvelope(std::string_view bytes) { return bytes.substr(0, kMagic.size()) == kMagic; }

Result<Envelope> OpenEnvelope(std::string_view bytes) {
  if (!HasEnvelope(bytes)) return Malformed("it does not start with k8s\\0");
  Envelope envelope;
  std::string_view type_meta;
  std::string_view encoding;
  bool has_raw = false;
  const bool read =
      EachText(bytes.substr(kMagic.size()), [&](uint32_t number, std::string_view text) {
        if (number == 1) type_meta = text;
        if (number == 2) {
          envelope.raw = text;
          has_raw = true;
        }
        if (number == 3) encoding = text;
      });
  // Without this an answer that was cut right here would pass as an empty list.
  if (!read || !has_raw) return Malformed("it is cut off");
  if (!encoding.empty())
    return Malformed("unknown content encoding \"" + std::string(encoding) + "\"");
  const bool typed = EachText(type_meta, [&](uint32_t number, std::string_view text) {
    if (number == 1) envelope.api_version = text;
    if (number == 2) envelope.kind = text;
  });
  if (!typed) return Malformed("its kind is cut off");
  return envelope;
}

std::string WrapInEnvelope(std::string_view api_version, std::string_view kind,
                           std::string_view raw) {
  BackwardBytes type_meta;
  PrependText(type_meta, 2, kind);
  PrependText(type_meta, 1, api_version);
  BackwardBytes out;
  PrependText(out, 4, "");
  PrependText(out, 3, "");
  PrependText(out, 2, raw);
  PrependText(out, 1, type_meta.view());
  out.Prepend(kMagic);
  return std::string(out.view());
}

std::string FrameWatchEvent(std::string_view type, std::string_view envelope) {
  BackwardBytes extension;
  PrependText(extension, 1, envelope);
  BackwardBytes out;
  PrependText(out, 2, extension.view());
  PrependText(out, 1, type);
  const size_t length = out.size();
  const char prefix[4] = {static_cast<char>(length >> 24), static_cast<char>(length >> 16),
                          static_cast<char>(length >> 8), static_cast<char>(length)};
  out.Prepend({prefix, sizeof(prefix)});
  return std::string(out.view());
}

Status CheckType(const TypeName& expected, std::string_view api_version, std::string_view kind,
                 bool may_be_absent) {
  const bool kind_agrees = kind == expected.kind || (may_be_absent && kind.empty());
  const bool version_agrees =
      api_version == expected.api_version || (may_be_absent && api_version.empty());
  if (kind_agrees && version_agrees) return Status::Ok();
  return InvalidArgument("expected " + expected.api_version + " " + expected.kind + ", got " +
                         std::string(api_version) + " " + std::string(kind));
}

}  // namespace coppice::wire
