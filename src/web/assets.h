// The files of src/web/assets, compiled in (src/web/embed.cmake makes the .cc). Nothing is fetched
// from anywhere else.

#pragma once

#include <span>
#include <string_view>

namespace coppice::web {

struct Asset {
  std::string_view name;  // "app.js"
  std::string_view bytes;
};
std::span<const Asset> Assets();

}  // namespace coppice::web
