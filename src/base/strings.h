// Small things about text that the standard library lacks.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coppice {

std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// Always at least one part; empty parts are kept.
std::vector<std::string> Split(std::string_view text, char separator);

std::string_view Trim(std::string_view text);  // ASCII white space at both ends
std::string Lower(std::string_view text);      // ASCII

// Appends `text` as a JSON string with its quotes, control characters escaped; bytes that are not
// UTF-8 become U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

// The candidate that is closest in spelling, or "" when none is close enough to be meant.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace coppice
