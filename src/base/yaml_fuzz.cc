// Any bytes: a document or a refusal that names its place, never a crash, never more than the
// bound.
#include "base/yaml.h"

#include <cstdint>

namespace {

using coppice::yaml::MapReader;
using coppice::yaml::Node;

// Walks with a budget: what Parse accepts may still hold a million values.
void Walk(const Node& node, coppice::yaml::Problems& problems, int& budget) {
  if (--budget < 0) return;
  CHECK(node.place().line > 0 && node.place().column > 0);
  for (const Node& item : node.items()) Walk(item, problems, budget);
  if (node.kind() != Node::Kind::kMap) return;
  MapReader map(node, problems);
  for (const auto& [key, value] : node.entries()) {
    std::string text;
    bool flag = false;
    int small = 0;
    double ratio = 0;
    coppice::Duration wait{};
    std::vector<std::string> list;
    std::map<std::string, std::string> labels;
    map.Read(key, text);
    map.Read(key, flag);
    map.Read(key, small);
    map.Read(key, ratio);
    map.Read(key, wait);
    map.Read(key, list);
    map.Read(key, labels);
    Walk(value, problems, budget);
    if (budget < 0) return;
  }
  map.Finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto root = coppice::yaml::Parse({reinterpret_cast<const char*>(data), size}, "f");
  if (!root.ok()) {
    CHECK(root.status().message().starts_with("f:"));
    return 0;
  }
  coppice::yaml::Problems problems;
  int budget = 2'000;
  Walk(*root, problems, budget);
  (void)problems.ToStatus(true);
  return 0;
}
