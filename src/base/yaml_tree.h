// The parsed document behind yaml::Node; private to the .cc files of yaml.
//
// Aliases share trees, so a tree knows neither its path nor its file: Node::Data adds them when
// somebody walks there.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/yaml.h"

namespace coppice::yaml {

struct Tree {
  struct Child {
    std::string key;  // in maps
    int key_line = 0;
    int key_column = 0;
    std::shared_ptr<const Tree> value;
  };

  Node::Kind kind = Node::Kind::kNull;
  int line = 0;
  int column = 0;
  std::string scalar;
  bool quoted = false;
  ScalarTag tag = ScalarTag::kNone;
  std::vector<Child> children;
  size_t size = 1;   // values in here, aliases followed
  size_t depth = 1;  // levels
};

struct Node::Data {
  std::shared_ptr<const Tree> tree;
  Place place;
  std::string path;
};

Node MakeNode(std::shared_ptr<const Tree> tree, std::string file, std::string path);

}  // namespace coppice::yaml
