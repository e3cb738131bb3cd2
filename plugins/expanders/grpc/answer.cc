#include "plugins/expanders/grpc/answer.h"

#include <string_view>
#include <unordered_map>

namespace coppice::expanders::grpc {

Kept Match(const expand::Options& offered, const std::vector<std::string>& answered) {
  std::unordered_map<std::string_view, const expand::Option*> by_group;
  for (const expand::Option* option : offered) by_group[option->group] = option;
  Kept kept;
  for (const std::string& id : answered) {
    const auto it = by_group.find(id);
    if (it != by_group.end()) {
      kept.options.push_back(it->second);
    } else {
      kept.unknown.push_back(id);
    }
  }
  return kept;
}

}  // namespace coppice::expanders::grpc
