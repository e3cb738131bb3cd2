// What the API's refusals say, whatever their shape.

#pragma once

#include <string>
#include <string_view>

namespace coppice::clouds::cloudscale {

// What an error body says, on one line of at most 400 bytes: {"detail": ...}, {"field": ...}, lists
// and maps inside, an HTML page, or nothing at all.
std::string ErrorText(std::string_view body);

// Does a refusal mean that the project or the cloud has no room, as opposed to a mistake in the
// order?
bool MeansOutOfResources(std::string_view error_text);

}  // namespace coppice::clouds::cloudscale
