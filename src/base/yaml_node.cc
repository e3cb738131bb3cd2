// Walking a parsed document: yaml::Node, and the complaints about it.

#include <algorithm>

#include "base/strings.h"
#include "base/yaml.h"
#include "base/yaml_tree.h"

namespace coppice::yaml {

Node MakeNode(std::shared_ptr<const Tree> tree, std::string file, std::string path) {
  auto data = std::make_shared<Node::Data>();
  data->place = {.file = std::move(file), .line = tree->line, .column = tree->column};
  data->tree = std::move(tree);
  data->path = std::move(path);
  return Node(std::move(data));
}

Node::Kind Node::kind() const { return data_ ? data_->tree->kind : Kind::kAbsent; }

const std::string& Node::scalar() const {
  static const std::string none;
  return data_ ? data_->tree->scalar : none;
}

bool Node::quoted() const { return data_ && data_->tree->quoted; }

ScalarTag Node::tag() const { return data_ ? data_->tree->tag : ScalarTag::kNone; }

const Place& Node::place() const {
  static const Place nowhere;
  return data_ ? data_->place : nowhere;
}

const std::string& Node::path() const {
  static const std::string none;
  return data_ ? data_->path : none;
}

std::vector<Node> Node::items() const {
  std::vector<Node> nodes;
  if (kind() != Kind::kList) return nodes;
  const auto& children = data_->tree->children;
  nodes.reserve(children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    nodes.push_back(MakeNode(children[i].value, data_->place.file,
                             data_->path + "[" + std::to_string(i) + "]"));
  }
  return nodes;
}

std::vector<std::pair<std::string, Node>> Node::entries() const {
  std::vector<std::pair<std::string, Node>> nodes;
  if (kind() != Kind::kMap) return nodes;
  for (const Tree::Child& child : data_->tree->children) {
    const std::string path = data_->path.empty() ? child.key : data_->path + "." + child.key;
    nodes.emplace_back(child.key, MakeNode(child.value, data_->place.file, path));
  }
  return nodes;
}

std::string Problem::ToString() const {
  std::string line = place.file + ":" + std::to_string(place.line) + ":" +
                     std::to_string(place.column) +
                     (severity == Severity::kError ? ": error: " : ": warning: ");
  if (!path.empty()) line += path + ": ";
  return line + text;
}

bool Problems::has_errors() const {
  return std::ranges::any_of(
      all_, [](const Problem& problem) { return problem.severity == Severity::kError; });
}

Status Problems::ToStatus(bool strict) const {
  std::vector<std::string> lines;
  for (const Problem& problem : all_) {
    if (strict || problem.severity == Severity::kError) lines.push_back(problem.ToString());
  }
  return lines.empty() ? Status::Ok() : InvalidArgument(Join(lines, "\n"));
}

}  // namespace coppice::yaml
