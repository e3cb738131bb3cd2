// YAML as JSON: each document of a text, with the place of every value for complaints. Scalars are
// judged as kubectl judges them: what looks like a number or a bool is one unless it is quoted.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/yaml.h"

namespace coppice::whatif {

class YamlDocument {
 public:
  YamlDocument(yaml::Node root, size_t lines_before)
      : root_(std::move(root)), lines_before_(lines_before) {}

  std::string ToJson() const;
  // "file:line:column" of the value at the path, or of what comes nearest.
  std::string PlaceOf(std::string_view path) const;

 private:
  yaml::Node root_;
  size_t lines_before_;  // in the file, before this document
};

// Documents are parted by lines that begin with "---"; empty ones are passed over.
Status ForEachYamlDocument(std::string_view text, const std::string& name,
                           const std::function<Status(const YamlDocument&)>& each);

}  // namespace coppice::whatif
