// VerdictTable: the answers of shape filters, per pair of shapes.
//
// One row per pod spec shape, one byte per node shape: not asked yet, yes, or no; beside a no
// stands which filter said it first, and its verdict. Lives in Snapshot::Memory, for shape ids are
// the snapshot's.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cluster/shapes.h"
#include "model/verdict.h"

namespace coppice::fit {

class Filter;

// One pod spec shape against all node shapes.
struct ShapeRow {
  enum Answer : uint8_t { kUnknown = 0, kYes = 1, kNo = 2 };
  struct Refused {
    uint32_t by = 0;  // place of the filter in the chain
    model::Verdict verdict = model::Verdict::Yes();
  };
  uint64_t asked = 0;            // bit i: the chain's filter i is asked about shapes
  std::vector<uint8_t> answers;  // by node shape
  std::vector<Refused> refused;  // by node shape; as long as answers, or empty while nobody refused
};

class VerdictTable {
 public:
  // The row for a pod spec whose shape filters are `asked`, long enough for all node shapes there
  // are.
  // Shared, because a question keeps its row while another one may begin a new row for the same
  // spec.
  std::shared_ptr<ShapeRow> Row(cluster::SpecId spec, uint64_t asked, cluster::NodeShapeId shapes);

 private:
  std::vector<std::shared_ptr<ShapeRow>> rows_;  // by spec
};

}  // namespace coppice::fit
