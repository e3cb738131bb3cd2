#include "market/intent.h"

#include <algorithm>
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

Json JsonOf(const Outcome& purchase) {
  Json lots = Json::array();
  for (const Lot& lot : purchase.lots) {
    Json one = {{"source", lot.source},
                {"machines", lot.machines},
                {"before", lot.before},
                {"after", lot.after}};
    if (lot.claimed > 0) one["claimed"] = lot.claimed;
    if (lot.price_per_hour) one["price"] = *lot.price_per_hour;
    lots.push_back(std::move(one));
  }
  return {{"seller", purchase.seller},
          {"at", SecondsOf(purchase.ordered_at)},
          {"lots", std::move(lots)}};
}

Result<Outcome> PurchaseFrom(const Json& json) {
  if (!json.is_object()) return InvalidArgument("a purchase is no object");
  Outcome purchase;
  if (const auto seller = json.find("seller"); seller != json.end() && seller->is_string())
    purchase.seller = seller->get<std::string>();
  purchase.ordered_at = TimePoint(std::chrono::seconds(TRY(Number(json, "at", kLastSecond))));
  const auto lots = json.find("lots");
  if (lots == json.end()) return purchase;
  if (!lots->is_array()) return InvalidArgument("lots are no list");
  for (const Json& lot : *lots) purchase.lots.push_back(TRY(LotFrom(lot)));
  return purchase;
}

}  // namespace

void AddPurchase(std::vector<Outcome>& bought, Outcome purchase) {
  const auto taken = [&](const Lot& lot) {
    for (Outcome& before : bought) {
      if (before.seller != purchase.seller) continue;
      const auto same = std::ranges::find(before.lots, lot.source, &Lot::source);
      if (same == before.lots.end()) continue;
      same->machines += lot.machines;
      same->claimed += lot.claimed;
      same->after = lot.after;
      if (!lot.price_per_hour) {
        same->price_per_hour.reset();
      } else if (same->price_per_hour) {
        *same->price_per_hour += *lot.price_per_hour;
      }
      return true;
    }
    return false;
  };
  std::erase_if(purchase.lots, taken);
  if (!purchase.lots.empty()) bought.push_back(std::move(purchase));
}

std::string FormatIntent(const Intent& intent) {
  Json bought = Json::array();
  for (const Outcome& purchase : intent.bought) bought.push_back(JsonOf(purchase));
  Json json = {{"attempt", intent.attempt},
               {"until", SecondsOf(intent.until)},
               {"bought", std::move(bought)}};
  if (intent.ordering) json["ordering"] = JsonOf(*intent.ordering);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Intent> ParseIntent(std::string_view text) {
  if (text.size() > kLongestIntent) return InvalidArgument("longer than any intent");
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  Intent intent;
  intent.attempt = static_cast<int>(TRY(Number(json, "attempt", kMostMachines)));
  intent.until = TimePoint(std::chrono::seconds(TRY(Number(json, "until", kLastSecond))));
  if (const auto bought = json.find("bought"); bought != json.end()) {
    if (!bought->is_array()) return InvalidArgument("what was bought is no list");
    for (const Json& one : *bought) intent.bought.push_back(TRY(PurchaseFrom(one)));
  }
  if (const auto ordering = json.find("ordering"); ordering != json.end())
    intent.ordering = TRY(PurchaseFrom(*ordering));
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
