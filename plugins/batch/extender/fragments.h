// Fragments: the parts of a body that an object's version fixes, written once.
//
// A pod goes into a body up to five times per job and once per node that is shown, and into every
// session's bodies again. What is the same each time is kept here by the object itself, which is
// another one as soon as the API server has another version. One session at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batch/node.h"
#include "batch/object_texts.h"
#include "batch/task.h"

namespace coppice::batch::extender {

// A TaskInfo without what a session changes: head, [transaction], middle up to the pod's
// spec.nodeName, [node name], tail.
struct TaskFragment {
  std::string head;
  std::string middle;
  std::string tail;                // what follows spec.nodeName
  bool middle_ends_empty = false;  // nothing stands before nodeName in the spec
  bool tail_continues = false;     // something follows it in the spec
};

class Fragments {
 public:
  // What was not asked for since the last call is forgotten.
  void NextSession();

  const TaskFragment& Of(const Task& task, const ObjectTexts* texts);
  // A node's object.
  const std::string& Of(const NodeInfo& node, const ObjectTexts* texts);

 private:
  template <class Object, class Fragment>
  struct Kept {
    std::shared_ptr<const Object> object;
    Fragment fragment;
    uint64_t used = 0;
  };
  std::unordered_map<const model::Pod*, Kept<model::Pod, TaskFragment>> pods_;
  std::unordered_map<const model::Node*, Kept<model::Node, std::string>> nodes_;
  uint64_t session_ = 1;
};

// The members of a JSON object as it is written: name, value. None if it is not an object.
using RawMembers = std::vector<std::pair<std::string, std::string_view>>;
RawMembers MembersOf(std::string_view json);

void AppendResource(std::string& out, const Resource& resource);
void AppendTextMap(std::string& out, const model::Labels& map);  // null if it is empty

}  // namespace coppice::batch::extender
