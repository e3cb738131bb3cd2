// What the emulated project can order: flavors, images, regions. JSON as the API answers it.

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace coppice::emulator {

nlohmann::json Flavors();
nlohmann::json Images();
nlohmann::json CustomImages();
nlohmann::json Regions();

// The element whose `key` is `value`, or null.
nlohmann::json FindIn(const nlohmann::json& list, const std::string& key, const std::string& value);
bool OfferedIn(const nlohmann::json& item, const std::string& zone);

}  // namespace coppice::emulator
