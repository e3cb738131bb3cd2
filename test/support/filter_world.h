// FilterWorld: one filter, a small cluster, and the answers in a form that reads in a test.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "cluster/snapshot.h"
#include "fit/filter.h"
#include "model/node.h"
#include "model/pod.h"
#include "test/support/must.h"

namespace coppice::test {

// Node name to reason, "" where the pod fits. A rejection everywhere stands alone under "*"; a
// filter that has nothing to check gives an empty map.
using Answers = std::map<std::string, std::string>;

class FilterWorld {
 public:
  FilterWorld(void (*register_filter)(fit::FilterRegistry&), std::string_view name) {
    fit::FilterRegistry registry("filter");
    register_filter(registry);
    filter_ = MUST(registry.Make(name, fit::SchedulerConfig()));
  }

  cluster::Facts& facts() { return facts_; }

  void AddNode(std::string name, model::Labels labels = {}) {
    model::Node node;
    node.metadata.name = name;
    node.metadata.labels = std::move(labels);
    AddNode(node);
  }
  void AddNode(const model::Node& node) { MUST(snapshot.AddNode(node)); }

  void Place(const model::Pod& pod, std::string_view node) {
    snapshot.AddPod(pod, snapshot.FindNode(node));
  }

  Answers Ask(const model::Pod& pod) {
    const cluster::PodIndex index = snapshot.AddPod(pod);
    Answers answers = AskAll(index);
    snapshot.RemovePod(index);
    return answers;
  }

  // Of the last refusal that Ask has seen.
  model::Verdict last_refusal = model::Verdict::Yes();

 private:
  cluster::Facts facts_;

 public:
  cluster::Snapshot snapshot{facts_};

 private:
  std::string Shown(const model::Verdict& verdict) {
    if (verdict.yes()) return "";
    last_refusal = verdict;
    return verdict.code() == model::VerdictCode::kError ? "error" : verdict.reason();
  }

  Answers AskAll(cluster::PodIndex index) {
    const cluster::PodView pod = snapshot.pod(index);
    const fit::Preparation preparation = filter_->Prepare(pod, snapshot);
    Answers answers;
    switch (preparation.kind) {
      case fit::Preparation::Kind::kSkip:
        break;
      case fit::Preparation::Kind::kReject:
        answers["*"] = Shown(preparation.rejection);
        break;
      case fit::Preparation::Kind::kShapes:
        for (const cluster::NodeIndex node : snapshot.nodes()) {
          answers[snapshot.node(node).name] =
              Shown(filter_->Check(pod.spec, snapshot.node_shape(node)));
        }
        break;
      case fit::Preparation::Kind::kNodes:
        for (const cluster::NodeIndex node : snapshot.nodes()) {
          answers[snapshot.node(node).name] = Shown(preparation.check->Check(node));
        }
        break;
    }
    return answers;
  }

  std::unique_ptr<fit::Filter> filter_;
};

}  // namespace coppice::test
