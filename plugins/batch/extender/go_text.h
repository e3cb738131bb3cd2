// JSON as Go's encoding/json writes it: texts with <, > and & escaped, numbers in their shortest
// form. Extenders were written against these bytes, and some compare them.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coppice::batch::extender {

// With its quotes. Bytes that are not UTF-8 become U+FFFD.
void AppendGoText(std::string& out, std::string_view text);

// False, and nothing is written, for what JSON cannot hold (infinities, not a number).
bool AppendGoFloat(std::string& out, double value);

void AppendGoInt(std::string& out, int64_t value);

// The same value in Go's spelling: no white space, texts as AppendGoText writes them, numbers and
// the order of members as they are. Nothing if it is not one JSON value.
std::optional<std::string> AsGoWrites(std::string_view json);

}  // namespace coppice::batch::extender
