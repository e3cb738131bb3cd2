// What Kubernetes accepts as the key and the value of a label. Also the rules for names of extended
// resources.

#pragma once

#include <string>
#include <string_view>

namespace coppice::model {

// Empty if well-formed, else what is wrong, to go behind the key: "name part must be ...".
std::string WrongWithLabelKey(std::string_view key);
std::string WrongWithLabelValue(std::string_view value);

}  // namespace coppice::model
