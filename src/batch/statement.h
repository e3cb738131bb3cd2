// Statement: changes that are kept or dropped together.
//
// Each change is made at once, in jobs, nodes and with everybody who listens; Discard() makes the
// inverse ones in reverse order, and listeners are told each. A statement that is neither committed
// nor discarded keeps its changes for the rest of the session, and they end with it.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "batch/session.h"

namespace coppice::batch {

class Statement {
 public:
  explicit Statement(Session& session) : session_(&session) {}
  Statement(Statement&&) = default;
  Statement& operator=(Statement&&) = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void Evict(Task& task, std::string_view reason);
  void Spare(Task& task);  // not evicted after all, whatever was done since
  // The reason why it was undone again: somebody objected.
  Status Pipeline(Task& task, NodeInfo& node, bool eviction_occurred);
  Status Allocate(Task& task, NodeInfo& node);

  void Commit();
  void Discard();
  void Merge(Statement&& other);  // its changes are ours now
  bool HasEvictions() const;
  bool empty() const { return operations_.empty(); }

  // The changes as they are now, to be made again after they were discarded.
  struct Saved {
    enum class Kind : uint8_t { kEvict, kPipeline, kAllocate } kind;
    Task* task;
    NodeInfo* node;
    bool eviction_occurred;
    std::string reason;
    std::optional<TransactionContext> last_transaction = {};
  };
  void SaveTo(std::vector<Saved>& saved) const;
  Status Recover(const std::vector<Saved>& saved);

 private:
  struct Operation {
    Saved::Kind kind;
    Task* task;
    std::string reason;
  };
  void UnEvict(Task& task);
  void UnPlace(Task& task);

  Session* session_;
  std::vector<Operation> operations_;
};

}  // namespace coppice::batch
