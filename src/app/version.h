#pragma once

namespace coppice::app {
inline constexpr char kVersion[] = "0.1.0";  // as project() in the top CMakeLists.txt
}  // namespace coppice::app
