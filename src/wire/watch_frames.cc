#include "wire/watch_frames.h"

#include <array>

#include "wire/json_cursor.h"
#include "wire/proto_cursor.h"

namespace coppice::wire {
namespace {

using model::WatchType;

constexpr size_t kPrefix = 4;

constexpr std::array<std::pair<WatchType, std::string_view>, 5> kTypes = {{
    {WatchType::kAdded, "ADDED"},
    {WatchType::kModified, "MODIFIED"},
    {WatchType::kDeleted, "DELETED"},
    {WatchType::kBookmark, "BOOKMARK"},
    {WatchType::kError, "ERROR"},
}};

Result<WatchType> ParseType(std::string_view text) {
  for (const auto& [type, name] : kTypes) {
    if (text == name) return type;
  }
  return InvalidArgument("type: unknown watch event \"" + std::string(text.substr(0, 40)) + "\"");
}

Status MalformedFrame() { return InvalidArgument("malformed protobuf in a watch event"); }

// Calls field(number, bytes) for the length-delimited fields.
template <class F>
bool EachFrameText(std::string_view message, F field) {
  for (ProtoCursor in(message); !in.done();) {
    Tag tag;
    std::string_view bytes;
    if (!in.ReadTag(tag)) return false;
    const bool is_text = tag.type == WireType::kLengthDelimited;
    if (!(is_text ? in.ReadBytes(bytes) : in.Skip(tag))) return false;
    if (is_text) field(tag.number, bytes);
  }
  return true;
}

Result<RawWatchEvent> OpenProto(std::string_view frame) {
  std::string_view type;
  std::string_view extension;
  RawWatchEvent event;
  const bool read = EachFrameText(frame, [&](uint32_t number, std::string_view bytes) {
    if (number == 1) type = bytes;
    if (number == 2) extension = bytes;
  });
  const bool opened =
      read && EachFrameText(extension, [&](uint32_t number, std::string_view bytes) {
        if (number == 1) event.object = bytes;
      });
  if (!opened) return MalformedFrame();
  event.type = TRY(ParseType(type));
  return event;
}

Result<RawWatchEvent> OpenJson(std::string_view line) {
  JsonCursor in(line);
  std::string type;
  RawWatchEvent event;
  bool first = true;
  if (!in.Open('{')) return InvalidArgument(in.problem());
  while (in.Next('}', first)) {
    std::string_view key;
    if (!in.ReadKey(key)) break;
    const bool is_object = key == "object";
    if (key == "type") {
      std::string_view text;
      if (!in.ReadText(text)) break;
      type = text;
      continue;
    }
    in.Peek();
    const char* start = in.at();
    if (!in.Skip() && !in.SkipLoosely(start)) break;
    if (is_object) event.object = {start, static_cast<size_t>(in.at() - start)};
  }
  if (in.failed()) return InvalidArgument(in.problem());
  if (!in.AtEnd()) return InvalidArgument("more text after a watch event");
  event.type = TRY(ParseType(type));
  return event;
}

}  // namespace

std::string_view ToString(WatchType type) {
  for (const auto& [candidate, name] : kTypes) {
    if (candidate == type) return name;
  }
  return "?";
}

Result<RawWatchEvent> OpenWatchEvent(Encoding encoding, std::string_view event) {
  return encoding == Encoding::kProtobuf ? OpenProto(event) : OpenJson(event);
}

void WatchFrames::Feed(std::string_view bytes) {
  // Whole events leave nothing behind, so usually nothing moves here.
  buffer_.erase(0, at_);
  scanned_ -= at_;
  at_ = 0;
  buffer_ += bytes;
}

bool WatchFrames::AtBoundary() const {
  return std::string_view(buffer_).substr(at_).find_first_not_of(
             encoding_ == Encoding::kJson ? std::string_view(" \t\r\n") : std::string_view()) ==
         std::string_view::npos;
}

Result<std::optional<std::string_view>> WatchFrames::Next() {
  return encoding_ == Encoding::kProtobuf ? NextFrame() : NextDocument();
}

Result<std::optional<std::string_view>> WatchFrames::NextFrame() {
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  if (rest.size() < kPrefix) return std::optional<std::string_view>();
  size_t length = 0;
  for (size_t i = 0; i < kPrefix; ++i) length = length << 8 | static_cast<unsigned char>(rest[i]);
  if (length > max_frame_bytes_) {
    return InvalidArgument("a watch event of " + std::to_string(length) + " bytes");
  }
  if (rest.size() - kPrefix < length) return std::optional<std::string_view>();
  at_ += kPrefix + length;
  scanned_ = at_;
  return std::optional(rest.substr(kPrefix, length));
}

// The API server ends every event with a newline, and there is none inside one: JSON escapes it.
Result<std::optional<std::string_view>> WatchFrames::NextDocument() {
  while (true) {
    const size_t end = buffer_.find('\n', scanned_);
    if (end == std::string::npos) {
      scanned_ = buffer_.size();
      if (buffer_.size() - at_ > max_frame_bytes_)
        return InvalidArgument("a watch event without an end");
      return std::optional<std::string_view>();
    }
    const std::string_view line = std::string_view(buffer_).substr(at_, end - at_);
    at_ = scanned_ = end + 1;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) return std::optional(line);
  }
}

}  // namespace coppice::wire
