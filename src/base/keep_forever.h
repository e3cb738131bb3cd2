// KeepForever: an object that is never destroyed, for what threads of a library may still use while
// the process ends. It stays reachable, so that no leak is reported for it.

#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace coppice {

template <class T>
T& KeepForever(std::unique_ptr<T> object) {
  static auto& kept = *new std::vector<std::unique_ptr<T>>;
  return *kept.emplace_back(std::move(object));
}

}  // namespace coppice
