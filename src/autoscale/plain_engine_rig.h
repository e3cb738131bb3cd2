// A whole engine without any plug-in, one pass at a time: one filter (is there room?), an expander
// that leaves the choice open, groups that answer as they are told. The one that the product
// assembles is in test/support/engine_rig.h.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autoscale/engine.h"
#include "autoscale/engine_world_rig.h"
#include "autoscale/flags.h"
#include "fit/fake_filters.h"
#include "test/support/must.h"

namespace coppice::autoscale {

// Enough of everything that the pod asks for.
inline fit::Chain RoomFilter() {
  fit::FilterRegistry registry("filter");
  fit::AddFake<fit::FakeStateFilter>(
      registry, "Room", [](const cluster::PodView& pod, const cluster::Snapshot& snapshot) {
        return fit::Preparation::Ask(std::make_unique<fit::FakeNodeCheck>(
            [spec = pod.spec_id, &snapshot](cluster::NodeIndex node) {
              const cluster::ResourceColumns& columns = snapshot.resources();
              for (const auto& [resource, amount] : columns.asked(spec).of) {
                if (amount > columns.free(resource)[node])
                  return model::Verdict::No("Room", model::VerdictCode::kUnschedulable, "no room");
              }
              return model::Verdict::Yes();
            }));
      });
  return MUST(fit::Chain::Create(registry, {.chain = {{.name = "Room"}}}));
}

// Keeps all options; one that blocks is asked on a worker.
class OpenExpander final : public expand::Expander {
 public:
  OpenExpander(bool blocks, int& asked) : blocks_(blocks), asked_(asked) {}
  expand::Options Narrow(const expand::Options& options, const expand::Surroundings&) override {
    ++asked_;
    return options;
  }
  bool Blocks() const override { return blocks_; }

 private:
  bool blocks_;
  int& asked_;
};

class PlainEngineRig : public EngineWorldRig {
 protected:
  // Again: another engine, as after a restart. What the one before it had under way ends with it.
  void Assemble(std::vector<std::string> args, Workers& workers, cluster::Writer& writer) override {
    std::destroy_at(&executor_);  // its tasks work on the engine: they go first
    std::construct_at(&executor_, clock_);
    engine_.reset();
    options_ = MUST(ParseFlags(args)).options;
    expand::ExpanderRegistry registry("expander");
    for (const bool blocks : {false, true}) {
      registry.Add(blocks ? "asks" : "least-waste", [this, blocks](const expand::ExpanderContext&) {
        return Result<std::unique_ptr<expand::Expander>>(
            std::make_unique<OpenExpander>(blocks, expander_asked_));
      });
    }
    expanders_.emplace(MUST(expand::Chain::Create(options_.expander, registry,
                                                  {clock_, rng_, log_, metrics_, &groups_})));
    cloud_.emplace(groups_, workers, executor_);
    engine_ = std::make_unique<Engine>(Engine::Parts{.options = options_,
                                                     .world = world_,
                                                     .groups = groups_,
                                                     .cloud = *cloud_,
                                                     .writer = writer,
                                                     .executor = executor_,
                                                     .rng = rng_,
                                                     .filters = filters_,
                                                     .expanders = *expanders_,
                                                     .log = log_,
                                                     .view_age = view_age_,
                                                     .oldest_kind = [] { return "Pod"; },
                                                     .first_of_tie = true,
                                                     .processors = &processors_,
                                                     .wake = wake_});
  }
  std::shared_ptr<const report::PassReport> Pass() override {
    return executor_.BlockOn(engine_->Pass(clock_.Now()));
  }

  Processors processors_;
  const fit::Chain filters_ = RoomFilter();
  int expander_asked_ = 0;
  Options options_;
  std::optional<expand::Chain> expanders_;
  std::optional<CloudCalls> cloud_;
  std::unique_ptr<Engine> engine_;
  Executor executor_{clock_};
};

}  // namespace coppice::autoscale
