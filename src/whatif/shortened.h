// A list of which people are shown the beginning: how many of it, and what is said of the rest.

#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace coppice::whatif {

// "1 node", "2 nodes"
inline std::string Count(size_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

class Shortened {
 public:
  Shortened(size_t all, size_t most, bool whole)
      : shown_(whole ? all : std::min(all, most)), left_(all - shown_) {}
  size_t shown() const { return shown_; }
  // A line that says how many more there are and which flag shows them; "" if that was all.
  std::string Rest(std::string_view indent, std::string_view noun) const {
    if (left_ == 0) return "";
    return std::string(indent) + "and " + Count(left_, noun) + " more (--whole shows all)\n";
  }

 private:
  size_t shown_;
  size_t left_;
};

}  // namespace coppice::whatif
