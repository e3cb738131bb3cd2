#include "plugins/batch/extender/extender.h"

#include <algorithm>
#include <set>

#include "plugins/batch/extender/go_text.h"

namespace coppice::batch::extender {
namespace {

constexpr std::string_view kName = "extender";
// Upstream's votes.
constexpr int kPermit = 1;
constexpr int kReject = -1;

// As kube-scheduler's own extenders are asked to bind.
std::string BindBody(const Outcome::Bind& bind) {
  std::string out = R"({"PodName":)";
  AppendGoText(out, bind.pod.name);
  out += R"(,"PodNamespace":)";
  AppendGoText(out, bind.pod.namespace_);
  out += R"(,"PodUID":)";
  AppendGoText(out, bind.pod.uid);
  out += R"(,"Node":)";
  AppendGoText(out, bind.node);
  if (!bind.annotations.empty()) {
    out += R"(,"Annotations":{)";
    for (const auto& [key, value] : bind.annotations) {
      if (out.back() != '{') out += ',';
      AppendGoText(out, key);
      out += ':';
      AppendGoText(out, value);
    }
    out += '}';
  }
  return out + '}';
}

class BindByExtender final : public BindDelegate {
 public:
  BindByExtender(std::shared_ptr<Caller> caller, std::string verb, bool ignorable)
      : caller_(std::move(caller)), verb_(std::move(verb)), ignorable_(ignorable) {}

  Status Bind(const Outcome::Bind& bind) const override {
    const auto answer = ReadReply(caller_->Post(verb_, BindBody(bind)), ReadBindError);
    if (!answer.status.ok()) return Unavailable(answer.status.message());
    return answer.value.empty() ? Status::Ok() : FailedPrecondition(answer.value);
  }
  bool ignorable() const override { return ignorable_; }
  std::string name() const override { return "the extender at " + caller_->Name(); }

 private:
  const std::shared_ptr<Caller> caller_;
  const std::string verb_;
  const bool ignorable_;
};

}  // namespace

Extender::Extender(Config config, bool upstream_exact, std::unique_ptr<Line> line,
                   GiveBack give_back)
    : config_(std::move(config)),
      exact_(upstream_exact),
      line_(std::move(line)),
      give_back_(std::move(give_back)) {}

Extender::~Extender() {
  if (give_back_) give_back_(std::move(line_));
}

Result<Reply> Extender::Ask(Verb verb, const std::string& body) {
  TRY(broken_);
  return line_->caller->Post(config_.verb(verb), body);
}

Status Extender::Open(Session& session, Slots& slots) {
  session_ = &session;
  line_->fragments.NextSession();
  bodies_ = std::make_unique<Bodies>(session, line_->fragments, config_.compact);
  const bool hears_placements = config_.Has(Verb::kAllocate) || config_.Has(Verb::kDeallocate);
  if (config_.compact && !exact_ && !hears_placements) {
    ahead_.emplace(session, [this](const Task& task) { return Interests(task); });
  }
  broken_ = line_->caller->ReadToken();
  bool registers = true;
  TRY(OpenSession(registers));
  if (!registers) return Status::Ok();
  if (config_.Has(Verb::kPredicate) || config_.Has(Verb::kBatchPredicate)) slots.predicate = this;
  if (config_.Has(Verb::kPrioritize)) slots.batch_node_order = this;
  if (config_.Has(Verb::kPreemptable)) slots.preemptable = this;
  if (config_.Has(Verb::kReclaimable)) slots.reclaimable = this;
  if (config_.Has(Verb::kJobEnqueueable)) slots.job_enqueueable = this;
  if (config_.Has(Verb::kJobEnqueued)) slots.job_enqueued = this;
  if (config_.Has(Verb::kQueueOverused)) slots.overused = this;
  if (config_.Has(Verb::kJobReady)) slots.job_ready = this;
  if (config_.Has(Verb::kBind)) {
    const auto delegate = std::make_shared<const BindByExtender>(
        line_->caller, config_.verb(Verb::kBind), config_.ignorable);
    session.AddBinder([this, delegate](const Task& task) -> std::shared_ptr<const BindDelegate> {
      return Interests(task) ? delegate : nullptr;
    });
  }
  session.AddEventHandler(*this);
  return Status::Ok();
}

// Upstream goes without an extender that has failed to open, although it was told not to ignore it;
// we take its silence for a no.
Status Extender::OpenSession(bool& registers) {
  if (!config_.Has(Verb::kSessionOpen)) return Status::Ok();
  const auto reply = SendOpening();
  if (reply.ok() || config_.ignorable) return Status::Ok();
  if (exact_) {
    registers = false;
  } else {
    broken_ = reply.status();
  }
  return Status::Ok();
}

Result<Reply> Extender::SendOpening() {
  if (!config_.delta) return Ask(Verb::kSessionOpen, bodies_->SessionOpen());
  Opening& opening = line_->opening;
  const bool is_delta = opening.is_delta();
  auto reply = Ask(Verb::kSessionOpen, bodies_->SessionOpen(opening));
  if (reply.ok() && is_delta && ReadResend(reply->body).value) {
    opening.Forget();
    reply = Ask(Verb::kSessionOpen, bodies_->SessionOpen(opening));
  }
  if (reply.ok()) {
    opening.Heard();
  } else {
    opening.Forget();
  }
  return reply;
}

void Extender::Close(Session&) {
  if (config_.Has(Verb::kSessionClose)) {
    (void)line_->caller->Post(config_.verb(Verb::kSessionClose), "{}");
  }
}

void Extender::TellNews(News& news) const {
  const std::string failure = broken_.ok() ? line_->caller->last_failure() : broken_.message();
  news.outside.push_back(
      {line_->caller->Name(), std::string(ToString(line_->caller->breaker_state())), failure});
}

// ---- Predicates.

Fit Extender::Failed(const Status& why) const {
  if (config_.ignorable) return nullptr;
  return Refuse(kFitError, why.message(), exact_ ? "" : std::string(kName));
}

Fit Extender::Refused(const PredicateAnswer& answer) const {
  if (answer.message.empty()) return nullptr;
  // A message without a code is an error, from the time when there was no code.
  const int64_t code = answer.code == kFitSuccess ? kFitError : answer.code;
  const bool known = code >= kFitError && code <= kFitSkip;
  // Upstream lets a node pass whose refusal has a number that it does not know; the numbers' own
  // meaning is then nobody's business. We take the refusal as it was meant.
  if (!known && !exact_) return Refuse(kFitError, answer.message, std::string(kName));
  return Refuse(static_cast<int>(std::clamp<int64_t>(code, -1000, 1000)), answer.message,
                std::string(kName));
}

Fit Extender::Judge(const Result<Reply>& reply) const {
  const auto answer = ReadReply(reply, ReadPredicate);
  return answer.status.ok() ? Refused(answer.value) : Failed(answer.status);
}

Fit Extender::CheckNode(const Task& task, const NodeInfo& node) {
  if (!Interests(task)) return nullptr;
  if (collecting_) {
    // Named twice, it is asked twice, but not again about a node that it has just refused: the
    // second time it is asked when the first answer is known.
    if (collected_.empty() || collected_.back() != &node) {
      collected_.push_back(const_cast<NodeInfo*>(&node));
    }
    return nullptr;
  }
  if (collected_for_ == &task) {
    const Asked* asked = TakeNoted(node);
    if (asked && asked->node_version == node.version) return asked->fit;
  }
  if (!config_.Has(Verb::kBatchPredicate)) {
    return Judge(Ask(Verb::kPredicate, bodies_->Predicate(task, node)));
  }
  collected_for_ = &task;
  collected_ = {const_cast<NodeInfo*>(&node)};
  ForgetNoted();
  FetchInOneCall(false);
  const Fit fit = fetched_.front().fit;
  ForgetNoted();
  return fit;
}

// ---- Scores.

Status Extender::ScoreNodes(const Task& task, std::span<NodeInfo* const> nodes,
                            std::span<double> scores) {
  if (!Interests(task)) return Status::Ok();
  const auto answer =
      ReadReply(Ask(Verb::kPrioritize, bodies_->Prioritize(task, nodes)), ReadPrioritize);
  if (!answer.status.ok()) return config_.ignorable ? Status::Ok() : answer.status;
  if (!answer.value.error.empty() || !answer.value.scores) {
    // Said in so many words, or an answer without scores: to upstream never ignorable.
    if (!exact_ && config_.ignorable) return Status::Ok();
    return FailedPrecondition(answer.value.error.empty() ? "the extender gave no scores"
                                                         : answer.value.error);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto own = answer.value.scores->find(std::string(nodes[i]->name));
    if (own != answer.value.scores->end()) scores[i] += own->second * config_.weight;
  }
  return Status::Ok();
}

// ---- Victims.

Victims Extender::PreemptVictims(const Task& preemptor, std::span<Task* const> candidates) {
  return AskVictims(Verb::kPreemptable, preemptor, candidates);
}

Victims Extender::ReclaimVictims(const Task& reclaimer, std::span<Task* const> candidates) {
  return AskVictims(Verb::kReclaimable, reclaimer, candidates);
}

Victims Extender::AskVictims(Verb verb, const Task& evictor, std::span<Task* const> candidates) {
  if (!Interests(evictor)) return {.tasks = {}, .vote = 0};
  const auto answer = ReadReply(Ask(verb, bodies_->Evict(evictor, candidates)), ReadVictims);
  if (!answer.status.ok()) {
    // Upstream: permit or reject, and both with an empty list mean that nobody may go.
    if (exact_) return {.tasks = {}, .vote = config_.ignorable ? kPermit : kReject};
    return {.tasks = {}, .vote = config_.ignorable ? 0 : kReject};
  }
  if (answer.value.vote == 0) return {.tasks = {}, .vote = 0};
  return Resolve(answer.value, candidates);
}

// Whom the extender names, by uid. Upstream takes the objects that it was sent for the victims, so
// that one without a request, or none at all, ends its process as soon as it looks at them.
Victims Extender::Resolve(const VictimsAnswer& answer, std::span<Task* const> candidates) {
  Victims victims;
  std::set<const Task*> hollow;
  for (const VictimsAnswer::Victim& victim : answer.victims) {
    if (victim.null) {
      if (exact_) session_->Fail(Internal("the extender named a victim that is null"));
      continue;
    }
    const auto known = std::ranges::find_if(
        candidates, [&](const Task* candidate) { return candidate->uid == victim.uid; });
    if (known != candidates.end()) {
      victims.tasks.push_back(*known);
      if (!victim.complete) hollow.insert(*known);
    } else if (exact_) {
      Task& stranger = strangers_.emplace_back();
      stranger.uid = *stranger_uids_.insert(victim.uid).first;
      victims.tasks.push_back(&stranger);
      hollow.insert(&stranger);
    }
  }
  if (exact_ && !hollow.empty()) {
    victims.taken = [this, hollow = std::move(hollow)](std::vector<Task*>& tasks) {
      if (std::erase_if(tasks, [&](const Task* task) { return hollow.contains(task); }) == 0) {
        return;
      }
      session_->Fail(Internal("the extender named a victim without its request"));
      tasks.clear();
    };
  }
  return victims;
}

// ---- Queues and jobs.

bool Extender::IsOverused(const QueueInfo& queue) {
  const auto answer = ReadReply(Ask(Verb::kQueueOverused, bodies_->OfQueue(queue)), ReadOverused);
  return answer.status.ok() ? answer.value : !config_.ignorable;
}

bool Extender::IsJobReady(const Job& job) {
  const auto answer = ReadReply(Ask(Verb::kJobReady, bodies_->OfJob(job)), ReadReady);
  if (answer.status.ok()) return answer.value;
  // Upstream has it the wrong way round.
  return exact_ ? !config_.ignorable : config_.ignorable;
}

int Extender::JobEnqueueableVote(const Job& job) {
  const auto answer = ReadReply(Ask(Verb::kJobEnqueueable, bodies_->OfJob(job)), ReadVote);
  if (answer.status.ok()) return static_cast<int>(std::clamp<int64_t>(answer.value, -1, 1));
  if (!config_.ignorable) return kReject;
  return exact_ ? kPermit : 0;
}

void Extender::OnJobEnqueued(const Job& job) {
  (void)Ask(Verb::kJobEnqueued, bodies_->OfJob(job));  // whatever it says
}

// ---- Events.

void Extender::OnAllocate(Event& event) { Tell(Verb::kAllocate, event, true); }
void Extender::OnDeallocate(Event& event) { Tell(Verb::kDeallocate, event, false); }

void Extender::Tell(Verb verb, Event& event, bool counts) {
  if (!config_.Has(verb) || !Interests(event.task)) return;
  const auto answer = ReadReply(Ask(verb, bodies_->OfTask(event.task)), ReadErrorMessage);
  if (!counts) return;
  if (!answer.status.ok() && !config_.ignorable) event.error = answer.status.message();
  if (!answer.value.empty()) event.error = answer.value;
}

}  // namespace coppice::batch::extender
