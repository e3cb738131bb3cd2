#include "autoscale/restart_memory.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace coppice::autoscale {
namespace {

using Json = nlohmann::json;

// Longer texts of errors are cut: there may be many groups.
constexpr size_t kMaxText = 200;

std::string Cut(const std::string& text) {
  size_t size = std::min(text.size(), kMaxText);
  // Not within a character.
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80)
    --size;
  return text.substr(0, size);
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t Seconds(TimePoint time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

// Anything else than a plausible second counts as the beginning of time.
TimePoint At(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return {};
  const auto seconds = found->get<int64_t>();
  constexpr int64_t kYear2200 = 7'258'118'400;  // a TimePoint ends in 2262
  return seconds < 0 || seconds > kYear2200 ? TimePoint()
                                            : TimePoint(std::chrono::seconds(seconds));
}

std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
}

Json ToJson(const GroupBackoff::Entry& entry) {
  return {{"for", std::chrono::duration_cast<std::chrono::seconds>(entry.duration).count()},
          {"until", Seconds(entry.until)},
          {"failed", Seconds(entry.last_failure)},
          {"outOfStock", entry.why.error_class == cloud::ErrorClass::kOutOfResources},
          {"code", Cut(entry.why.code)},
          {"message", Cut(entry.why.message)}};
}

}  // namespace

MemoryText FormatMemory(const Memory& memory, size_t max_bytes) {
  Json json = {{"written", Seconds(memory.written)},
               {"scaledUp", Seconds(memory.last_scale_up)},
               {"scaledDown", Seconds(memory.last_delete)},
               {"scaleDownFailed", Seconds(memory.last_failure)},
               {"backoffs", Json::object()}};
  using Entry = GroupBackoff::Entries::value_type;
  std::vector<const Entry*> longest;
  for (const Entry& entry : memory.backoffs) longest.push_back(&entry);
  std::ranges::stable_sort(longest, std::greater<>(),
                           [](const Entry* entry) { return entry->second.until; });
  MemoryText written;
  size_t bytes = Dump(json).size();
  for (const Entry* entry : longest) {
    Json backoff = ToJson(entry->second);
    const size_t more = Dump(entry->first).size() + Dump(backoff).size() + 2;  // colon, comma
    if (bytes + more > max_bytes) {
      ++written.left_out;  // a shorter one may still fit
      continue;
    }
    bytes += more;
    json["backoffs"][entry->first] = std::move(backoff);
  }
  written.text = Dump(json);
  return written;
}

Result<Memory> ParseMemory(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("what the last process left is no JSON object");
  Memory memory{.written = At(json, "written"),
                .last_scale_up = At(json, "scaledUp"),
                .last_delete = At(json, "scaledDown"),
                .last_failure = At(json, "scaleDownFailed")};
  const auto backoffs = json.find("backoffs");
  if (backoffs == json.end() || !backoffs->is_object()) return memory;
  for (const auto& [group, entry] : backoffs->items()) {
    if (!entry.is_object()) continue;
    GroupBackoff::Entry backoff;
    backoff.duration = At(entry, "for").time_since_epoch();
    backoff.until = At(entry, "until");
    backoff.last_failure = At(entry, "failed");
    backoff.why = {entry.value("outOfStock", Json(false)) == Json(true)
                       ? cloud::ErrorClass::kOutOfResources
                       : cloud::ErrorClass::kOther,
                   Text(entry, "code"), Text(entry, "message")};
    memory.backoffs.emplace(group, std::move(backoff));
  }
  return memory;
}

}  // namespace coppice::autoscale
