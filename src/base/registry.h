// Registry<Factory>: names and the factories behind them. An explicit object that main fills and
// hands on: no static initialisers, so no order between files matters and a test has its own.
//
// Mistakes are kept and reported by Check() rather than thrown, because Register functions return
// void: a name registered twice is an error that names both origins, found when the program starts.

#pragma once

#include <algorithm>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/strings.h"

namespace coppice {

template <class Factory>
class Registry {
 public:
  // `kind` names what is registered in messages: "cloud", "filter", "expander".
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  void Add(std::string_view name, Factory factory,
           std::source_location origin = std::source_location::current()) {
    const std::string where = std::string(origin.file_name()) + ":" + std::to_string(origin.line());
    const auto [it, added] =
        entries_.try_emplace(std::string(name), Entry{std::move(factory), where});
    if (!added) {
      problems_.push_back(kind_ + " '" + std::string(name) + "' is registered twice: in " +
                          it->second.origin + " and in " + where + "; rename one of them");
    }
  }

  // OK, or everything that went wrong while registering.
  Status Check() const {
    if (problems_.empty()) return Status::Ok();
    return AlreadyExists(Join(problems_, "; "));
  }

  // The factory itself; the caller runs it, outside any lock of ours. NotFound lists what there is.
  Result<Factory> Find(std::string_view name) const {
    TRY(Check());
    const auto it = entries_.find(name);
    if (it != entries_.end()) return it->second.factory;
    std::string text = "no " + kind_ + " '" + std::string(name) + "' is registered; there ";
    text += entries_.empty() ? "are none" : "are: " + Join(names(), ", ");
    const std::string nearest = Nearest(name, names());
    if (!nearest.empty()) text += "; did you mean '" + nearest + "'?";
    return NotFound(std::move(text));
  }

  // Finds the factory and calls it with `args`.
  template <class... Args>
  auto Make(std::string_view name, Args&&... args) const
      -> decltype(std::declval<Factory>()(std::forward<Args>(args)...)) {
    auto factory = Find(name);
    if (!factory.ok()) return factory.status();
    return (*factory)(std::forward<Args>(args)...);
  }

  bool Has(std::string_view name) const { return entries_.find(name) != entries_.end(); }

  std::vector<std::string> names() const {  // sorted
    std::vector<std::string> all;
    all.reserve(entries_.size());
    for (const auto& [name, entry] : entries_) all.push_back(name);
    return all;
  }

 private:
  struct Entry {
    Factory factory;
    std::string origin;
  };

  std::string kind_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string> problems_;
};

}  // namespace coppice
