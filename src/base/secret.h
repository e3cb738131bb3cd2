// A text that must not reach a log, an error or a dump: a token, a key. It prints as "***";
// Reveal() is the one way to the text, and easy to search for.

#pragma once

#include <ostream>
#include <string>
#include <utility>

namespace coppice {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& Reveal() const { return text_; }
  bool empty() const { return text_.empty(); }
  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string text_;
};

inline std::ostream& operator<<(std::ostream& out, const Secret&) { return out << "***"; }

}  // namespace coppice
