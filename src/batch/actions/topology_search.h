// TopologySearch: where in the network a job is placed.
//
// Row by row of its gradients every HyperNode is tried, all placements and their inverses; of those in
// which the job gets ready the best by its sub-jobs' scores is taken, and the placements are made once
// more. Each sub-job is placed so within what is tried for the job. Where there is but one place to
// try, it is tried for good at once.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "batch/session.h"
#include "batch/statement.h"
#include "batch/worksheet.h"

namespace coppice::batch {

class TopologySearch {
 public:
  // Places tasks on nodes of the HyperNode until the sub-job is ready; nothing: it did not come to
  // that, and nothing has changed.
  using Place = std::function<std::optional<Statement>(SubJob&, TaskHeap&, const HyperNode&)>;
  // Places all tasks on the nodes that their pods name, within the HyperNode; nothing: as above.
  using PlaceAsNominated =
      std::function<std::optional<Statement>(SubJob&, TaskHeap, const HyperNode&)>;

  TopologySearch(Session& session, Place place, PlaceAsNominated place_as_nominated)
      : session_(session),
        ask_(session.ask()),
        place_(std::move(place)),
        place_as_nominated_(std::move(place_as_nominated)) {}

  // All placements of the job, made; nothing: there is no place for it. What is left to place stays
  // on the sheet.
  std::optional<Statement> PlaceJob(Job& job, Worksheet& sheet);
  // They were committed: the job is where it was last placed.
  void Committed(Job& job);

  // On the nodes that gang evictions have made room on. Nothing: some of it does not fit there any
  // more, and nothing is left of the nomination.
  std::optional<Statement> FromNomination(SubJob& sub_job, TaskHeap& tasks);

 private:
  using HyperNodes = std::vector<const HyperNode*>;
  struct Attempt {
    const HyperNode* at;
    std::vector<Statement::Saved> steps;
    Worksheet sheet;
    double score;
    std::map<SubJob*, const HyperNode*> decided;
  };
  struct SubAttempt {
    const HyperNode* at;
    std::vector<Statement::Saved> steps;
    TaskHeap tasks;
  };

  bool OnlyOne(const HyperNodeGradients& gradients) const;
  bool PlaceWithin(Job& job, Worksheet& sheet, const HyperNode& at, bool compared,
                   std::vector<Statement>& statements, Attempt& attempt);
  std::optional<Statement> PlaceSubJob(SubJob& sub_job, TaskHeap& tasks, const HyperNode& within,
                                       bool compared, Attempt& attempt);
  std::optional<Statement> PlaceAtOnce(SubJob& sub_job, TaskHeap& tasks, const HyperNode& at,
                                       bool compared, Attempt& attempt);
  std::optional<SubAttempt> BestOf(const SubJob& sub_job, std::vector<SubAttempt> tried,
                                   double& score) const;
  void Undo(std::vector<Statement>& statements) const;
  const HyperNode* Where(const SubJob& sub_job) const;
  void Settle(SubJob& sub_job, const HyperNode& at, Attempt& attempt) const;
  static void ForgetRefusals(SubJob& sub_job);

  Session& session_;
  const Combine& ask_;
  const Place place_;
  const PlaceAsNominated place_as_nominated_;
  struct Decision {
    const HyperNode* at;
    std::map<SubJob*, const HyperNode*> sub_jobs;
  };
  std::map<const Job*, Decision> decisions_;
};

}  // namespace coppice::batch
