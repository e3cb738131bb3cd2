// YAML configuration with the place of every value, so that each complaint names file, line and
// column.
//
// Reading is by MapReader: the code that reads a key is also what makes it known, so that an
// unknown key is found, and named with the nearest known one, without a second list of keys.
//
//   yaml::Problems problems;
//   yaml::MapReader map(document.root(), problems);
//   map.Read("listen", config.listen);
//   map.Require("name", group.name);
//   map.EachItem("nodeGroups", [&](const yaml::Node& item) { ... });
//   map.Finish();                      // complains about what nobody read
//
// yaml-cpp stays in the .cc. Scalars are judged as YAML 1.1 by that library, so the typed readers
// look at the text themselves: an int is decimal digits, a bool is true or false (yes/on are
// refused with a hint).

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/go_duration.h"  // the syntax of durations, for who reads them out of YAML
#include "base/status.h"

namespace coppice::yaml {

struct Place {
  std::string file;
  int line = 0;    // from 1
  int column = 0;  // from 1
};

enum class Severity { kWarning, kError };

struct Problem {
  Severity severity = Severity::kError;
  Place place;
  std::string path;  // nodeGroups[2].minSize
  std::string text;

  std::string ToString() const;  // file:line:column: error: nodeGroups[2].minSize: text
};

class Problems {
 public:
  void Add(Problem problem) { all_.push_back(std::move(problem)); }
  const std::vector<Problem>& all() const { return all_; }
  bool has_errors() const;
  // OK, or InvalidArgument with every error (and, if `strict`, every warning), one per line.
  Status ToStatus(bool strict = false) const;

 private:
  std::vector<Problem> all_;
};

// What an explicit tag says that a scalar is: !!float 3.
enum class ScalarTag : uint8_t { kNone, kText, kNull, kBool, kInt, kFloat, kOther };

// A value with its place. Cheap to copy; keeps its document alive.
class Node {
 public:
  enum class Kind { kAbsent, kNull, kScalar, kList, kMap };

  Node() = default;
  Kind kind() const;
  const std::string& scalar() const;  // text of a scalar, "" otherwise
  bool quoted() const;                // "8" as opposed to 8
  ScalarTag tag() const;
  std::vector<Node> items() const;
  std::vector<std::pair<std::string, Node>> entries() const;  // in file order
  const Place& place() const;
  const std::string& path() const;

  struct Data;
  explicit Node(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

 private:
  friend class MapReader;  // knows the places of keys
  std::shared_ptr<const Data> data_;
};

// One document. Refuses more than `kMaxNodes` values after aliases are followed (an alias bomb),
// more than `kMaxDepth` levels, duplicate keys and a second document. `<<` merges maps, as YAML 1.1
// has it. An empty text is a null. The message begins with file:line:column.
inline constexpr size_t kMaxNodes = 1'000'000;
inline constexpr size_t kMaxDepth = 100;
inline constexpr size_t kMaxFileBytes = 16 << 20;
// `kLastWins` is for texts of other people's formats, where a key that is there twice is no
// mistake. `kInOrder` is for readers that do as Go's yaml.v2 does, which decodes one entry after the
// other onto what is there already: entries() has all of them, equal keys and what `<<` brings
// included, each where it stands.
enum class Duplicates { kRefuse, kLastWins, kInOrder };
Result<Node> Parse(std::string_view text, std::string file_name,
                   Duplicates duplicates = Duplicates::kRefuse);
Result<Node> ParseFile(const std::string& path);

class MapReader {
 public:
  // A node that is not a map is a problem (an absent or null one reads as an empty map).
  MapReader(Node node, Problems& problems);

  // Each sets `out` if the key is there and well-formed, else leaves it and, if malformed,
  // complains. Returns whether it was set. `key:` with nothing behind it (null) counts as absent.
  bool Read(std::string_view key, std::string& out);
  bool Read(std::string_view key, bool& out);
  bool Read(std::string_view key, int64_t& out);
  bool Read(std::string_view key, int& out);
  bool Read(std::string_view key, double& out);
  bool Read(std::string_view key, Duration& out);  // Go syntax: 1h30m, 10s, 250ms
  bool Read(std::string_view key, std::vector<std::string>& out);
  bool Read(std::string_view key, std::map<std::string, std::string>& out);

  // As Read, and an absent key is a problem.
  template <class T>
  bool Require(std::string_view key, T& out) {
    const Node::Kind kind = Get(key).kind();
    if (kind == Node::Kind::kAbsent || kind == Node::Kind::kNull) {
      Complain(key, "is required");
      return false;
    }
    return Read(key, out);
  }

  void EachItem(std::string_view key, const std::function<void(const Node&)>& item);
  Node Get(std::string_view key);  // marks it as known
  bool Has(std::string_view key);

  void Complain(std::string_view key, std::string text, Severity severity = Severity::kError);
  // Complains (as a warning) about every key that nobody asked for. Call last.
  void Finish();

 private:
  // The scalar at `key`, or nullptr (with a complaint if something else is there).
  const std::string* Scalar(std::string_view key, const Node& value);

  Node node_;
  Problems* problems_;
  std::vector<std::string> known_;
};

}  // namespace coppice::yaml
