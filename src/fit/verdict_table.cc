#include "fit/verdict_table.h"

namespace coppice::fit {

std::shared_ptr<ShapeRow> VerdictTable::Row(cluster::SpecId spec, uint64_t asked,
                                            cluster::NodeShapeId shapes) {
  if (spec >= rows_.size()) rows_.resize(spec + 1);
  std::shared_ptr<ShapeRow>& row = rows_[spec];
  // Which filters ask about shapes is decided by the spec, as a rule. Where a filter decides by
  // more than that, the row starts afresh rather than answering for the wrong filters.
  if (!row || row->asked != asked) {
    row = std::make_shared<ShapeRow>();
    row->asked = asked;
  }
  if (row->answers.size() < shapes) {
    row->answers.resize(shapes, ShapeRow::kUnknown);
    if (!row->refused.empty()) row->refused.resize(shapes);
  }
  return row;
}

}  // namespace coppice::fit
