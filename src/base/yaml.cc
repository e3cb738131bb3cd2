#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "base/strings.h"
#include "base/yaml_tree.h"

namespace coppice::yaml {

namespace {

std::string At(const std::string& file, int line, int column, std::string_view text) {
  // The parser has no place for a few of its complaints; those are about the whole file.
  return file + ":" + std::to_string(std::max(line, 1)) + ":" +
         std::to_string(std::max(column, 1)) + ": error: " + std::string(text);
}

bool IsIndentedByTab(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line) {
    const size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  const size_t first = text.find_first_not_of(' ');
  return first != std::string_view::npos && text[first] == '\t';
}

// Whether the quote that opens at `line` and `column` (from 1) is never closed. The parser lets the
// text run to the end of the file, and says nothing or something about a line far below.
bool IsUnclosedQuote(std::string_view text, int line, int column) {
  for (int i = 1; i < line && !text.empty(); ++i) {
    const size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (static_cast<size_t>(column) > text.size()) return false;
  text.remove_prefix(static_cast<size_t>(column) - 1);
  const char quote = text[0];
  if (quote != '"' && quote != '\'') return false;  // a tag or an anchor stands before it
  for (size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 == text.size() || text[i + 1] != quote) return false;
      ++i;  // '' is a quote inside
    }
  }
  return true;
}

ScalarTag TagOf(std::string_view tag) {
  if (tag == "?" || tag == "!" || tag.empty()) return ScalarTag::kNone;
  if (tag == "tag:yaml.org,2002:str") return ScalarTag::kText;
  if (tag == "tag:yaml.org,2002:null") return ScalarTag::kNull;
  if (tag == "tag:yaml.org,2002:bool") return ScalarTag::kBool;
  if (tag == "tag:yaml.org,2002:int") return ScalarTag::kInt;
  if (tag == "tag:yaml.org,2002:float") return ScalarTag::kFloat;
  return ScalarTag::kOther;
}

// Builds our tree from yaml-cpp's events rather than from its Node, which forgets whether a scalar
// was quoted, keeps only the last of two equal keys and follows aliases without a bound. An event
// handler cannot stop the parser but by throwing, so the first problem is kept and the rest is let
// pass.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string file, Duplicates duplicates = Duplicates::kRefuse)
      : file_(std::move(file)), duplicates_(duplicates) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (auto tree = Start(mark, anchor, Node::Kind::kNull)) Add(std::move(tree));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto tree = Start(mark, anchor, Node::Kind::kScalar);
    if (!tree) return;
    tree->scalar = value;
    // The parser's "?" means plain and "!" means quoted; !!str makes a text of a plain one.
    tree->tag = TagOf(tag);
    tree->quoted = tag == "!" || tree->tag == ScalarTag::kText;
    if (tag == "!") last_quoted_ = {tree->line, tree->column};
    Add(std::move(tree));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!error_.ok()) return;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return Refuse(mark, "the alias is unknown");
    const auto is_open = [&](const Open& open) { return open.tree == found->second; };
    if (std::ranges::any_of(open_, is_open)) {
      return Refuse(mark, "the alias refers to what contains it");
    }
    Add(found->second);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Enter(mark, anchor, Node::Kind::kList);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Enter(mark, anchor, Node::Kind::kMap);
  }
  void OnSequenceEnd() override { Leave(); }
  void OnMapEnd() override {
    if (!error_.ok()) return;
    for (const auto& source : std::exchange(open_.back().merged, {})) {
      if (error_.ok()) Merge(open_.back(), *source);
    }
    Leave();
  }

  Status error() const { return error_; }
  std::shared_ptr<const Tree> root() const { return root_; }

  // Line and column of the last text in quotes; only that one can be without an end.
  std::pair<int, int> last_quoted() const { return last_quoted_; }

 private:
  using Trees = std::vector<std::shared_ptr<const Tree>>;
  struct Open {
    std::shared_ptr<Tree> tree;
    bool has_key = false;  // in a map: the next value belongs to the last of tree->children
    std::set<std::string, std::less<>> keys;
    Trees merged;  // behind `<<`
    bool merging = false;
  };

  void Refuse(const YAML::Mark& mark, std::string_view text) {
    Refuse(mark.line + 1, mark.column + 1, text);
  }
  void Refuse(int line, int column, std::string_view text) {
    if (error_.ok()) error_ = InvalidArgument(At(file_, line, column, text));
  }

  std::shared_ptr<Tree> Start(const YAML::Mark& mark, YAML::anchor_t anchor, Node::Kind kind) {
    if (!error_.ok()) return nullptr;
    auto tree = std::make_shared<Tree>();
    tree->kind = kind;
    tree->line = mark.line + 1;
    tree->column = mark.column + 1;
    if (anchor != YAML::NullAnchor) anchors_[anchor] = tree;
    return tree;
  }

  void Enter(const YAML::Mark& mark, YAML::anchor_t anchor, Node::Kind kind) {
    if (open_.size() >= kMaxDepth) {
      Refuse(mark, "more than " + std::to_string(kMaxDepth) + " levels");
    }
    if (auto tree = Start(mark, anchor, kind)) open_.push_back({.tree = std::move(tree)});
  }

  void Leave() {
    if (!error_.ok()) return;
    const std::shared_ptr<Tree> tree = std::move(open_.back().tree);
    open_.pop_back();
    Add(tree);
  }

  // Puts a finished value (or key) where it belongs.
  void Add(const std::shared_ptr<const Tree>& tree) {
    if (open_.empty()) {
      root_ = tree;
      return;
    }
    Open& open = open_.back();
    if (open.tree->kind == Node::Kind::kMap && !open.has_key) return AddKey(open, *tree);
    open.has_key = false;
    if (open.merging) {
      open.merging = false;
      if (duplicates_ == Duplicates::kInOrder) return Merge(open, *tree);
      open.merged.push_back(tree);
      return;
    }
    if (open.tree->kind == Node::Kind::kMap) {
      Tree::Child& child = open.tree->children.back();
      child.value = tree->kind == Node::Kind::kNull ? NullAt(child) : tree;
    } else {
      open.tree->children.push_back({.value = tree});
    }
    Count(*open.tree, *tree);
  }

  // Nothing is nowhere: the parser places it at the next token, perhaps lines below. Its key is
  // where a person looks.
  static std::shared_ptr<const Tree> NullAt(const Tree::Child& child) {
    return std::make_shared<Tree>(
        Tree{.kind = Node::Kind::kNull, .line = child.key_line, .column = child.key_column});
  }

  // Sizes are sums over the tree with aliases followed, so a bomb shows before anybody walks it.
  // What is open counts too: its size reaches the parent only when it is left.
  void Count(Tree& parent, const Tree& child) {
    parent.size += child.size;
    parent.depth = std::max(parent.depth, child.depth + 1);
    if (parent.size > kMaxNodes) {
      Refuse(parent.line, parent.column,
             "more than " + std::to_string(kMaxNodes) + " values, aliases followed");
    }
    if (open_.size() + child.depth > kMaxDepth) {
      Refuse(child.line, child.column,
             "more than " + std::to_string(kMaxDepth) + " levels, aliases followed");
    }
  }

  void AddKey(Open& open, const Tree& key) {
    if (key.kind != Node::Kind::kScalar) {
      return Refuse(key.line, key.column, "a key must be a text; put it in quotes");
    }
    open.has_key = true;
    if (key.scalar == "<<" && !key.quoted) {
      open.merging = true;
      return;
    }
    if (duplicates_ != Duplicates::kInOrder && !open.keys.insert(key.scalar).second) {
      const auto first = std::ranges::find(open.tree->children, key.scalar, &Tree::Child::key);
      if (duplicates_ == Duplicates::kRefuse) {
        return Refuse(key.line, key.column,
                      "the key '" + key.scalar + "' is here twice, first in line " +
                          std::to_string(first->key_line));
      }
      open.tree->children.erase(first);
    }
    open.tree->children.push_back(
        {.key = key.scalar, .key_line = key.line, .key_column = key.column});
  }

  // The map's own keys win over merged ones, and an earlier merged map over a later. Where all
  // entries stand in their order, the last one is who wins: so a list goes backwards.
  void Merge(Open& open, const Tree& source) {
    if (source.kind == Node::Kind::kMap) return MergeMap(open, source);
    const bool maps = source.kind == Node::Kind::kList &&
                      std::ranges::all_of(source.children, [](const Tree::Child& child) {
                        return child.value->kind == Node::Kind::kMap;
                      });
    if (!maps) return Refuse(source.line, source.column, "'<<' takes a map or a list of maps");
    const size_t count = source.children.size();
    for (size_t i = 0; i < count; ++i) {
      const size_t at = duplicates_ == Duplicates::kInOrder ? count - 1 - i : i;
      MergeMap(open, *source.children[at].value);
    }
  }

  void MergeMap(Open& open, const Tree& source) {
    for (const Tree::Child& child : source.children) {
      if (!error_.ok()) return;
      if (duplicates_ != Duplicates::kInOrder && !open.keys.insert(child.key).second) continue;
      open.tree->children.push_back(child);
      Count(*open.tree, *child.value);
    }
  }

  std::string file_;
  Duplicates duplicates_;
  Status error_;
  std::shared_ptr<const Tree> root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::shared_ptr<const Tree>> anchors_;
  std::pair<int, int> last_quoted_ = {0, 0};
};

Status CheckQuotes(const TreeBuilder& builder, std::string_view text, const std::string& file) {
  const auto [line, column] = builder.last_quoted();
  if (line == 0 || !IsUnclosedQuote(text, line, column)) return Status::Ok();
  return InvalidArgument(At(file, line, column, "the quote that opens here is never closed"));
}

}  // namespace

Result<Node> Parse(std::string_view text, std::string file_name, Duplicates duplicates) {
  if (text.size() > kMaxFileBytes) {
    return InvalidArgument(file_name + ": larger than " + std::to_string(kMaxFileBytes >> 20) +
                           " MiB; this is not a configuration file");
  }
  TreeBuilder builder(file_name, duplicates);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    parser.HandleNextDocument(builder);
    TRY(CheckQuotes(builder, text, file_name));
    TRY(builder.error());
    TreeBuilder second(file_name);
    if (parser.HandleNextDocument(second)) {
      const auto root = second.root();
      return InvalidArgument(At(file_name, root ? root->line : 1, root ? root->column : 1,
                                "a second document begins here; only one is read"));
    }
  } catch (const YAML::Exception& problem) {
    TRY(CheckQuotes(builder, text, file_name));
    const std::string hint =
        IsIndentedByTab(text, problem.mark.line) ? "; indent with spaces, not with tabs" : "";
    return InvalidArgument(
        At(file_name, problem.mark.line + 1, problem.mark.column + 1, problem.msg + hint));
  } catch (const std::exception& problem) {
    return InvalidArgument(At(file_name, 1, 1, problem.what()));
  }
  auto root = builder.root();
  if (!root) root = std::make_shared<Tree>(Tree{.kind = Node::Kind::kNull, .line = 1, .column = 1});
  return MakeNode(root, file_name, "");
}

Result<Node> ParseFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  // A directory opens and then cannot be read; an empty file copies nothing, which sets failbit
  // too.
  if (in && in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (!in.is_open() || in.bad()) {
    const int problem = errno;
    return Status(problem == ENOENT ? Code::kNotFound : Code::kUnavailable,
                  "cannot read " + path + ": " + std::strerror(problem));
  }
  return Parse(text.view(), path);
}

}  // namespace coppice::yaml
