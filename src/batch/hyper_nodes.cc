#include "batch/hyper_nodes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>

#include "model/selector.h"

namespace coppice::batch {
namespace {

// The one label that a selector goes by, and its values.
std::optional<std::pair<std::string, std::vector<std::string>>> OneLabel(
    const model::LabelSelector& selector) {
  if (selector.match_labels.size() + selector.match_expressions.size() != 1) return std::nullopt;
  if (!selector.match_labels.empty()) {
    const auto& [key, value] = *selector.match_labels.begin();
    return std::pair(key, std::vector<std::string>{value});
  }
  const model::LabelSelectorRequirement& only = selector.match_expressions.front();
  if (only.operator_ != "In") return std::nullopt;
  return std::pair(only.key, only.values);
}

}  // namespace

// One on the way to becoming a HyperNode.
struct HyperNodeTree::Draft {
  // A member that stands for nodes.
  struct NodeMember {
    std::string name;  // empty: goes by one of the others
    std::unique_ptr<re2::RE2> pattern;
    std::optional<model::Selector> labels;

    bool Matches(const model::Node& node) const {
      if (labels) return labels->Matches(node.metadata.labels);
      if (pattern) return re2::RE2::PartialMatch(node.metadata.name, *pattern);
      return false;
    }
  };

  HyperNodeObject object;
  std::unique_ptr<HyperNode> made;
  std::vector<NodeMember> members;
  std::vector<std::string> parts;  // HyperNodes
  Draft* parent = nullptr;
  std::vector<Draft*> children;
  bool labelled = true;  // so far, nothing in it but what goes by one label

  // Why the object cannot be right; empty: it can.
  std::string Read();
  std::string ReadMember(const model::HyperNodeMember& member);
  void AddLabel(const std::string& key, const std::vector<std::string>& values);
};

std::string HyperNodeTree::Draft::Read() {
  if (object->metadata.unreadable) return "it cannot be read";
  if (object->metadata.name == kTopHyperNode) return "that name is taken";
  if (object->spec.tier < 0) return "its tier is below 0";
  for (const model::HyperNodeMember& member : object->spec.members) {
    if (std::string why = ReadMember(member); !why.empty()) return why;
  }
  made = std::make_unique<HyperNode>();
  made->name = object->metadata.name;
  made->tier = object->spec.tier;
  made->tier_name = object->spec.tier_name;
  return "";
}

std::string HyperNodeTree::Draft::ReadMember(const model::HyperNodeMember& member) {
  const auto& [exact, pattern, labels] = member.selector;
  if (!!exact + !!pattern + !!labels != 1)
    return "a member is not chosen by exactly one of exactMatch, regexMatch and labelMatch";
  if (member.type == "HyperNode") {
    if (!exact) return "a member that is a HyperNode is not chosen by exactMatch";
    parts.push_back(exact->name);
    return "";
  }
  if (member.type != "Node") return "a member is neither a Node nor a HyperNode";
  NodeMember node;
  if (exact) {
    node.name = exact->name;
  } else if (pattern) {
    node.pattern = std::make_unique<re2::RE2>(pattern->pattern, re2::RE2::Quiet);
    if (!node.pattern->ok()) return "its pattern is none: " + node.pattern->error();
  } else {
    if (labels->match_labels.empty() && labels->match_expressions.empty()) return "";  // of nobody
    auto selector = model::Selector::From(*labels);
    if (!selector.ok()) return "its labelMatch is none: " + selector.status().message();
    node.labels = *std::move(selector);
  }
  members.push_back(std::move(node));
  return "";
}

void HyperNodeTree::Draft::AddLabel(const std::string& key,
                                    const std::vector<std::string>& values) {
  if (!made->label_key.empty() && made->label_key != key) labelled = false;
  made->label_key = key;
  std::ranges::copy(values, std::back_inserter(made->label_values));
}

bool HyperNode::Has(uint32_t node) const {
  return parent == nullptr || std::ranges::binary_search(nodes, node);
}

void HyperNodeTree::Read(std::vector<HyperNodeObject> objects, std::vector<Draft>& drafts) {
  std::ranges::sort(objects, {},
                    [](const HyperNodeObject& o) -> const auto& { return o->metadata.name; });
  for (HyperNodeObject& object : objects) {
    Draft draft{.object = std::move(object)};
    if (const std::string why = draft.Read(); !why.empty()) {
      complaints_.push_back(
          fmt::format("HyperNode {} is left out: {}", draft.object->metadata.name, why));
      continue;
    }
    drafts.push_back(std::move(draft));
  }
}

// Parents are of a higher tier, so nothing goes in circles.
void HyperNodeTree::Connect(std::vector<Draft>& drafts) {
  const auto find = [&](const std::string& name) -> Draft* {
    const auto found = std::ranges::lower_bound(
        drafts, name, {}, [](const Draft& d) -> const auto& { return d.made->name; });
    return found != drafts.end() && found->made->name == name ? &*found : nullptr;
  };
  for (Draft& draft : drafts) {
    for (const std::string& name : draft.parts) {
      const auto complain = [&](std::string_view why) {
        complaints_.push_back(fmt::format("HyperNode {} goes without its member {}: {}",
                                          draft.made->name, name, why));
      };
      Draft* part = find(name);
      if (part == nullptr) {
        complain("there is no such HyperNode, or it is left out");
      } else if (part->made->tier >= draft.made->tier) {
        complain("its tier is not below its own");
      } else if (part->parent != nullptr && part->parent != &draft) {
        complain("that is a member of " + part->parent->made->name);
      } else if (part->parent == nullptr) {
        part->parent = &draft;
        draft.children.push_back(part);
      }
    }
    std::ranges::sort(draft.children, {},
                      [](const Draft* child) -> const auto& { return child->made->name; });
  }
}

void HyperNodeTree::NameTiers(const std::vector<Draft>& drafts) {
  for (const Draft& draft : drafts) {
    if (draft.made->tier_name.empty()) continue;
    const auto [known, is_new] = tier_by_name_.emplace(draft.made->tier_name, draft.made->tier);
    if (is_new || known->second == draft.made->tier) continue;
    complaints_.push_back(fmt::format("HyperNode {} calls its tier {} {}, which is the name of {}",
                                      draft.made->name, draft.made->tier, draft.made->tier_name,
                                      known->second));
  }
}

// What goes by names stays what it is; new nodes come by the label all the same. After its parts.
void HyperNodeTree::Label(Draft& draft) {
  for (const model::HyperNodeMember& member : draft.object->spec.members) {
    if (member.type != "Node") continue;
    const auto& labels = member.selector.label_match;
    const auto one = labels ? OneLabel(*labels) : std::nullopt;
    if (one) draft.AddLabel(one->first, one->second);
  }
  for (const Draft* part : draft.children) {
    if (part->labelled && !part->made->label_key.empty())
      draft.AddLabel(part->made->label_key, part->made->label_values);
  }
  HyperNode& made = *draft.made;
  if (!draft.labelled) {
    made.label_key.clear();
    made.label_values.clear();
  }
  std::ranges::sort(made.label_values);
  made.label_values.erase(std::ranges::unique(made.label_values).begin(), made.label_values.end());
}

void HyperNodeTree::Finish(std::vector<Draft>& drafts) {
  auto top = std::make_unique<HyperNode>();
  top->name = kTopHyperNode;
  top->tier = 1;
  std::set<int64_t> tiers;
  std::map<const Draft*, HyperNode*> made;
  for (Draft& draft : drafts) {
    tiers.insert(draft.made->tier);
    top->tier = std::max(top->tier, draft.made->tier + 1);
    made[&draft] = draft.made.get();
  }
  for (Draft& draft : drafts) {
    draft.made->parent = draft.parent == nullptr ? top.get() : made.at(draft.parent);
    for (const Draft* child : draft.children) draft.made->children.push_back(made.at(child));
  }
  top_only_ = {top.get()};
  if (!drafts.empty()) of_node_.resize(node_count_);
  for (Draft& draft : drafts) {  // by name
    if (draft.parent == nullptr) top->children.push_back(draft.made.get());
    for (const uint32_t node : draft.made->nodes) of_node_[node].push_back(draft.made.get());
    draft.made->index = static_cast<uint32_t>(hyper_nodes_.size());
    hyper_nodes_.push_back(std::move(draft.made));
  }
  for (auto& of : of_node_) {
    std::ranges::stable_sort(of, {}, &HyperNode::tier);
    of.push_back(top.get());
  }
  tiers.insert(top->tier);
  tiers_.assign(tiers.begin(), tiers.end());
  top->index = static_cast<uint32_t>(hyper_nodes_.size());
  hyper_nodes_.push_back(std::move(top));
}

HyperNodeTree::HyperNodeTree(std::vector<HyperNodeObject> objects,
                             std::span<const std::shared_ptr<const model::Node>> nodes)
    : node_count_(nodes.size()) {
  std::vector<Draft> drafts;
  Read(std::move(objects), drafts);
  Connect(drafts);
  NameTiers(drafts);
  std::unordered_map<std::string_view, uint32_t> place_of;
  for (uint32_t i = 0; i < nodes.size(); ++i) place_of.emplace(nodes[i]->metadata.name, i);
  std::vector<Draft*> by_tier;
  for (Draft& draft : drafts) by_tier.push_back(&draft);
  std::ranges::stable_sort(by_tier, {}, [](const Draft* d) { return d->made->tier; });
  for (Draft* draft : by_tier) {
    std::set<uint32_t> own;
    for (const Draft* part : draft->children)
      own.insert(part->made->nodes.begin(), part->made->nodes.end());
    for (const auto& member : draft->members) {
      if (!member.name.empty()) {
        const auto found = place_of.find(member.name);
        if (found != place_of.end()) own.insert(found->second);
        continue;
      }
      for (uint32_t i = 0; i < nodes.size(); ++i) {
        if (member.Matches(*nodes[i])) own.insert(i);
      }
    }
    draft->made->nodes.assign(own.begin(), own.end());
    Label(*draft);
  }
  Finish(drafts);
}

HyperNodeTree::HyperNodeTree(size_t node_count) : node_count_(node_count) {
  std::vector<Draft> none;
  Finish(none);
}

const HyperNode* HyperNodeTree::Find(std::string_view name) const {
  if (name == kTopHyperNode) return &top();
  const auto real = all().first(hyper_nodes_.size() - 1);
  const auto found = std::ranges::lower_bound(
      real, name, {}, [](const auto& h) -> std::string_view { return h->name; });
  return found != real.end() && (*found)->name == name ? found->get() : nullptr;
}

std::optional<int64_t> HyperNodeTree::TierCalled(std::string_view tier_name) const {
  const auto found = tier_by_name_.find(tier_name);
  return found == tier_by_name_.end() ? std::nullopt : std::optional(found->second);
}

bool HyperNodeTree::IsWithin(const HyperNode& inner, const HyperNode& outer) {
  for (const HyperNode* at = &inner; at != nullptr; at = at->parent) {
    if (at == &outer) return true;
  }
  return false;
}

const HyperNode* HyperNodeTree::LowestCommon(const HyperNode* a, const HyperNode* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  while (!IsWithin(*a, *b)) b = b->parent;  // ends at the top
  return b;
}

const HyperNode* HyperNodeTree::Smallest(std::span<const uint32_t> nodes) const {
  if (nodes.empty()) return nullptr;
  for (const HyperNode* at : Of(nodes.front())) {
    if (std::ranges::all_of(nodes, [&](uint32_t node) { return at->Has(node); })) return at;
  }
  return &top();
}

}  // namespace coppice::batch
