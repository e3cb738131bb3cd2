// What the areas on API server bytes share: the recorded body, and the type that a kind stands for.

#pragma once

#include <string>
#include <string_view>

#include "model/kinds.h"
#include "test/replay/replay.h"
#include "wire/scalars.h"

namespace coppice::replay {

// body_base64, decoded; throws what nlohmann throws if it is missing.
inline std::string BodyOf(const Json& c) {
  wire::Trouble trouble;
  model::Bytes bytes;
  if (!wire::BytesFromBase64(c.at("body_base64").get<std::string>(), bytes, trouble)) {
    throw std::runtime_error("body_base64: " + trouble.ToStatus().message());
  }
  return bytes.data;
}

// Calls f.operator()<T>() for the type of which the API says so; false if there is none.
template <class F>
bool WithKind(std::string_view api_version, std::string_view kind, F f) {
  return model::AllKinds::Any([&]<class T>() {
    if (model::kKind<T>.api_version != api_version || model::kKind<T>.kind != kind) return false;
    f.template operator()<T>();
    return true;
  });
}

// Everything in `ours` is in `theirs`, and equal; the path of the first that is not, or "".
inline std::string NotInTheirs(const Json& ours, const Json& theirs, const std::string& path = "") {
  if (ours.is_object() && theirs.is_object()) {
    for (const auto& [key, value] : ours.items()) {
      const std::string at = path + "." + key;
      // What the server leaves out when empty is the same as empty.
      const bool empty = value == Json::object() || value == "" || value == 0 || value == false;
      if (!theirs.contains(key)) {
        if (!empty) return at + " is not in theirs";
        continue;
      }
      if (auto difference = NotInTheirs(value, theirs[key], at); !difference.empty())
        return difference;
    }
    return "";
  }
  if (ours.is_array() && theirs.is_array()) {
    if (ours.size() != theirs.size()) return path + " has another length";
    for (size_t i = 0; i < ours.size(); ++i) {
      auto difference = NotInTheirs(ours[i], theirs[i], path + "[" + std::to_string(i) + "]");
      if (!difference.empty()) return difference;
    }
    return "";
  }
  const bool equal = ours == theirs || (theirs.is_null() && ours.empty());
  return equal ? "" : path + " is " + ours.dump() + " and not " + theirs.dump();
}

}  // namespace coppice::replay
