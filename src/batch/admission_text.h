// How a refused group is told which resources it was refused for.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coppice::batch {

// "queue resource quota insufficient: insufficient cpu, insufficient memory"
inline std::string NamedResources(std::string_view what, std::string_view verb,
                                  const std::vector<std::string>& names) {
  std::string text(what);
  for (size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? ": " : ", ";
    text += std::string(verb) + " " + names[i];
  }
  return text;
}

}  // namespace coppice::batch
