// A text as JSON writes it: in quotes, with what has to be escaped escaped.

#pragma once

#include <string>
#include <string_view>

namespace coppice::wire {

void AppendJsonText(std::string& out, std::string_view text);

}  // namespace coppice::wire
