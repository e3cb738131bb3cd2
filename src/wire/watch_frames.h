// A watch, as the bytes arrive: cut anywhere, many events in one piece or one event in many.
//
// Protobuf: four bytes of big-endian length, then a message with the type and the object in its own
// envelope. JSON: one document after the other, usually one per line. Feed() takes what the
// connection delivers, Next() hands out one event's bytes at a time, and ReadWatchEvent makes a
// value of them. Not thread-safe.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/objects.h"

namespace coppice::wire {

enum class Encoding { kProtobuf, kJson };

class WatchFrames {
 public:
  // An event of more than `max_frame_bytes` ends the watch with an error: an object cannot be
  // larger than what etcd stores (1.5 MB by default), so such a length is garbage and not a reason
  // to wait for gigabytes.
  explicit WatchFrames(Encoding encoding, size_t max_frame_bytes = 64 << 20)
      : encoding_(encoding), max_frame_bytes_(max_frame_bytes) {}

  void Feed(std::string_view bytes);

  // The next whole event, or nothing if more bytes are needed. The view is good until the next
  // Feed. After a failure the stream is useless: there is no way to find the next event.
  Result<std::optional<std::string_view>> Next();

  // Whether the stream may end here, or an event would be lost in the middle.
  bool AtBoundary() const;

 private:
  Result<std::optional<std::string_view>> NextFrame();
  Result<std::optional<std::string_view>> NextDocument();

  Encoding encoding_;
  size_t max_frame_bytes_;
  std::string buffer_;
  size_t at_ = 0;       // what lies before has been handed out
  size_t scanned_ = 0;  // JSON: no line ends between at_ and here
};

// `event` is what Next() handed out. A type of event that we do not know is an error. An object
// that cannot be read, or is of another kind than T, is not: it comes with metadata.unreadable set,
// and with what could be read of it (of another kind: nothing).
template <class T>
Result<model::WatchEvent<T>> ReadWatchEvent(Encoding encoding, std::string_view event);

// The other direction, for fakes of an API server: length prefix, or closing newline, included.
template <class T>
std::string WriteWatchEvent(Encoding encoding, const model::WatchEvent<T>& event);

// What an event holds before anyone knows its kind: type, and the object's bytes (an envelope, or
// JSON).
struct RawWatchEvent {
  model::WatchType type = model::WatchType::kAdded;
  std::string_view object;
};
Result<RawWatchEvent> OpenWatchEvent(Encoding encoding, std::string_view event);

std::string_view ToString(model::WatchType type);  // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR

}  // namespace coppice::wire
