// Where in a text a complaint belongs. Only looked for when there is one: reading itself keeps no
// places.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coppice::whatif {

// "12:7" for a byte of the text; both from 1.
std::string LineAndColumn(std::string_view text, size_t offset);

// The path that a complaint of wire begins with ("spec.containers[0].name: ..."), or "".
std::string_view FieldPath(std::string_view complaint);

// The byte of `json` that the complaint is about: where its path leads, as far as that goes, or the
// byte that it names ("... at byte 17").
size_t OffsetOf(std::string_view json, std::string_view complaint);

// "(Pod default/web-0) ", as far as the object says so; "" if it does not.
std::string NameIn(std::string_view json);

}  // namespace coppice::whatif
