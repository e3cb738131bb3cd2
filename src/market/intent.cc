#include "market/intent.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

namespace coppice::market {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestIntent = 64 * 1024;
constexpr size_t kLongestTaintValue = 63;
constexpr int64_t kMostMachines = 1'000'000;
constexpr int64_t kLastSecond = 7'258'118'400;  // the year 2200: a TimePoint ends in 2262

int64_t SecondsOf(TimePoint time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

Result<int64_t> Number(const Json& object, const char* key, int64_t most) {
  const auto found = object.find(key);
  if (found == object.end()) return int64_t{0};
  if (!found->is_number_integer()) return InvalidArgument(std::string(key) + " is no whole number");
  // An unsigned number that int64 cannot hold reads as a negative one.
  const auto value = found->get<int64_t>();
  if (value < 0 || value > most) return InvalidArgument(std::string(key) + " is out of range");
  return value;
}

Result<Lot> LotFrom(const Json& json) {
  if (!json.is_object()) return InvalidArgument("a lot is no object");
  Lot lot;
  const auto source = json.find("source");
  if (source == json.end() || !source->is_string()) return InvalidArgument("a lot has no source");
  lot.source = source->get<std::string>();
  lot.machines = static_cast<int>(TRY(Number(json, "machines", kMostMachines)));
  lot.claimed = static_cast<int>(TRY(Number(json, "claimed", kMostMachines)));
  lot.before = static_cast<int>(TRY(Number(json, "before", kMostMachines)));
  lot.after = static_cast<int>(TRY(Number(json, "after", kMostMachines)));
  const auto price = json.find("price");
  if (price != json.end() && price->is_number()) lot.price_per_hour = price->get<double>();
  return lot;
}

}  // namespace

std::string FormatIntent(const Intent& intent) {
  Json lots = Json::array();
  for (const Lot& lot : intent.what.lots) {
    Json one = {{"source", lot.source},
                {"machines", lot.machines},
                {"before", lot.before},
                {"after", lot.after}};
    if (lot.claimed > 0) one["claimed"] = lot.claimed;
    if (lot.price_per_hour) one["price"] = *lot.price_per_hour;
    lots.push_back(std::move(one));
  }
  const Json json = {{"attempt", intent.attempt},        {"ordered", intent.ordered},
                     {"seller", intent.what.seller},     {"at", SecondsOf(intent.what.ordered_at)},
                     {"until", SecondsOf(intent.until)}, {"lots", std::move(lots)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Intent> ParseIntent(std::string_view text) {
  if (text.size() > kLongestIntent) return InvalidArgument("longer than any intent");
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  Intent intent;
  intent.attempt = static_cast<int>(TRY(Number(json, "attempt", kMostMachines)));
  if (const auto ordered = json.find("ordered"); ordered != json.end() && ordered->is_boolean())
    intent.ordered = ordered->get<bool>();
  if (const auto seller = json.find("seller"); seller != json.end() && seller->is_string())
    intent.what.seller = seller->get<std::string>();
  intent.what.ordered_at = TimePoint(std::chrono::seconds(TRY(Number(json, "at", kLastSecond))));
  intent.until = TimePoint(std::chrono::seconds(TRY(Number(json, "until", kLastSecond))));
  const auto lots = json.find("lots");
  if (lots == json.end()) return intent;
  if (!lots->is_array()) return InvalidArgument("lots are no list");
  for (const Json& lot : *lots) intent.what.lots.push_back(TRY(LotFrom(lot)));
  return intent;
}

std::string HoldValue(std::string_view gang) {
  std::string value(gang);
  for (char& c : value) {
    if (c == '/') c = '.';  // of "namespace/name": names have no dot that could be mistaken for it
  }
  if (value.size() <= kLongestTaintValue) return value;
  uint64_t hash = 14695981039346656037ULL;  // FNV-1a: the same in every process
  for (const char c : gang) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  std::string digits;
  for (int i = 0; i < 10; ++i, hash >>= 4U) digits += "0123456789abcdef"[hash & 15U];
  value.resize(kLongestTaintValue - digits.size() - 1);
  return value + "-" + digits;
}

}  // namespace coppice::market
