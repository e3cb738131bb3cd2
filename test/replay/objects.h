// Kubernetes objects inside a recorded case. Throws on a malformed one: the case then cannot be
// replayed.

#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "model/objects.h"
#include "test/replay/replay.h"
#include "wire/wire.h"

namespace coppice::replay {

// Bytes that a case has as hexadecimal text.
inline std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

template <class T>
T Object(const Json& object) {
  auto decoded = wire::FromJson<T>(object.dump());
  if (!decoded.ok()) throw std::runtime_error(decoded.status().ToString());
  return std::move(decoded).value();
}

// The list under `key`; none if it is absent or null.
template <class T>
std::vector<T> Objects(const Json& parent, const char* key) {
  std::vector<T> all;
  const auto it = parent.find(key);
  if (it == parent.end() || it->is_null()) return all;
  for (const Json& object : *it) all.push_back(Object<T>(object));
  return all;
}

}  // namespace coppice::replay
