// coppice-replay watches: the bytes of real watches. However they are cut, the same events have to
// come out, at the recorded offsets, and they have to be those that a JSON watch saw (bookmarks
// aside, which are a matter of timing). An ERROR event has to become the error that makes a client
// list again.

#include <string>
#include <vector>

#include "test/replay/kube_answer.h"
#include "test/replay/replay.h"
#include "wire/api_error.h"
#include "wire/envelope.h"
#include "wire/watch_frames.h"
#include "wire/wire.h"

namespace coppice::replay {
namespace {

using wire::Encoding;

// The events of `bytes`, fed in pieces of `piece` bytes.
Result<std::vector<std::string>> Cut(Encoding encoding, const std::string& bytes, size_t piece) {
  wire::WatchFrames frames(encoding);
  std::vector<std::string> events;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    frames.Feed(std::string_view(bytes).substr(at, piece));
    while (true) {
      const auto next = TRY(frames.Next());
      if (!next) break;
      events.emplace_back(*next);
    }
  }
  if (!frames.AtBoundary()) return InvalidArgument("bytes are left over");
  return events;
}

// One event in words that are the same for both encodings: type and object as we write it.
Result<std::string> DescribeEvent(Encoding encoding, const std::string& bytes) {
  const auto raw = TRY(wire::OpenWatchEvent(encoding, bytes));
  std::string api_version;
  std::string kind;
  if (encoding == Encoding::kProtobuf) {
    const auto envelope = TRY(wire::OpenEnvelope(raw.object));
    api_version = envelope.api_version;
    kind = envelope.kind;
  } else {
    const Json object = Json::parse(raw.object);
    api_version = object.value("apiVersion", "");
    kind = object.value("kind", "");
  }
  if (raw.type == model::WatchType::kError) {
    const auto event = TRY(wire::ReadWatchEvent<model::Pod>(encoding, bytes));  // any kind will do
    const wire::ApiError error = wire::ErrorFromStatus(event.error);
    return "ERROR " + std::to_string(error.http_status) + " " + error.ToStatus().ToString();
  }
  Result<std::string> words = InvalidArgument("no such kind: " + api_version + " " + kind);
  WithKind(api_version, kind, [&]<class T>() {
    const auto event = wire::ReadWatchEvent<T>(encoding, bytes);
    if (!event.ok()) {
      words = event.status();
      return;
    }
    words = std::string(wire::ToString(event->type)) + " " + wire::ToJson(event->object);
    // What we write has to read the same; whole frames include the prefix or the newline.
    const auto again = Cut(encoding, wire::WriteWatchEvent(encoding, *event), 1u << 20);
    const bool same = again.ok() && again->size() == 1 &&
                      wire::ReadWatchEvent<T>(encoding, again->front()).ok() &&
                      *wire::ReadWatchEvent<T>(encoding, again->front()) == *event;
    if (!same) words = InvalidArgument("an event that we wrote did not read the same");
  });
  return words;
}

// All but the bookmarks, described.
std::vector<std::string> DescribeEvent(Encoding encoding, const std::vector<std::string>& events,
                                       Report& report) {
  std::vector<std::string> all;
  for (size_t i = 0; i < events.size(); ++i) {
    auto words = DescribeEvent(encoding, events[i]);
    if (!words.ok()) {
      report.Differs("event " + std::to_string(i), "readable", words.status().ToString());
    } else if (!words->starts_with("BOOKMARK")) {
      all.push_back(*words);
    }
  }
  return all;
}

void JudgeFrames(const Json& c, const std::string& body, const std::vector<std::string>& events,
                 Report& report) {
  const Json& frames = c.at("frames");
  if (frames.size() != events.size()) {
    return report.Differs("frames", std::to_string(frames.size()), std::to_string(events.size()));
  }
  for (size_t i = 0; i < events.size(); ++i) {
    const size_t offset = frames[i].at("offset");
    const size_t length = frames[i].at("length");
    if (body.substr(offset + 4, length) != events[i]) {
      report.Differs("frame " + std::to_string(i), "at " + std::to_string(offset), "other bytes");
    }
  }
}

}  // namespace

void watches(const Json& c, Report& report) {
  const std::string body = BodyOf(c);
  const auto whole = Cut(Encoding::kProtobuf, body, body.size() + 1);
  if (!whole.ok()) return report.Differs("stream", "readable", whole.status().ToString());
  JudgeFrames(c, body, *whole, report);
  for (const size_t piece : {1, 2, 3, 5, 7, 64, 1000, 4096}) {
    const auto cut = Cut(Encoding::kProtobuf, body, piece);
    if (!cut.ok() || *cut != *whole) {
      report.Differs("cut into " + std::to_string(piece), "the same events", "others");
    }
  }
  std::string lines;
  for (const Json& event : c.at("json_events")) lines += event.dump() + "\n";
  const auto json_events = Cut(Encoding::kJson, lines, 97);
  if (!json_events.ok()) return report.Differs("JSON", "readable", json_events.status().ToString());
  const auto ours = DescribeEvent(Encoding::kProtobuf, *whole, report);
  const auto theirs = DescribeEvent(Encoding::kJson, *json_events, report);
  if (ours.size() != theirs.size()) {
    return report.Differs("events", std::to_string(theirs.size()), std::to_string(ours.size()));
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] != theirs[i]) report.Differs("event " + std::to_string(i), theirs[i], ours[i]);
  }
}

}  // namespace coppice::replay
