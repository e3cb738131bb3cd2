// Two rehearsals of one log side by side: as text, and as an HTML file with a picture that needs
// nothing else.

#pragma once

#include <string>
#include <vector>

#include "rehearse/player.h"

namespace coppice::rehearse {

// Where the two begin to decide differently: up to `count` decisions of each from there on.
struct Parting {
  size_t same = 0;  // decisions before it
  std::vector<Decision> left;
  std::vector<Decision> right;
};
Parting WhereTheyPart(const Outcome& left, const Outcome& right, size_t count);

// One column per rehearsal; the decisions if there are two.
std::string AsText(const std::vector<Outcome>& outcomes);
std::string AsHtml(const std::vector<Outcome>& outcomes, const std::string& log);

}  // namespace coppice::rehearse
