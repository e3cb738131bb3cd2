// coppice-replay AREA FILE...: replays recorded cases of the real peers through the product's own
// code.
//
// An area is a file area_NAME.cc that defines coppice::replay::NAME(case, report); the build finds
// it. It compares the recorded answer with ours and reports each difference. It forgives nothing
// that the recordings' README does not forgive.

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace coppice::replay {

using Json = nlohmann::json;

// Collects the differences of one case.
class Report {
 public:
  // `where` is a place inside the case: "step 3, node n-1".
  void Differs(std::string where, std::string theirs, std::string ours) {
    lines.push_back(std::move(where) + ": theirs " + std::move(theirs) + ", ours " +
                    std::move(ours));
  }
  // The case could not be read or run at all; it counts as different.
  void Unreadable(std::string why) { lines.push_back("cannot be replayed: " + std::move(why)); }

  std::vector<std::string> lines;
  // The case as it stands in the file, for whoever needs the order of members.
  std::string_view text;
};

// The folder of the file that is being replayed: some recordings refer to others beside them.
std::string CaseFolder();

}  // namespace coppice::replay
