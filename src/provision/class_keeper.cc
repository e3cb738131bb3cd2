#include "provision/class_keeper.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/node_class.h"
#include "wire/scalars.h"
#include "wire/wire.h"

namespace coppice::provision {

namespace {

using Json = nlohmann::json;

constexpr Duration kReadAgain = std::chrono::minutes(5);
const cloud::NodeClassKind kOurs = {"coppice.dev", "v1alpha1", "NodeClass"};

bool SameClass(const cloud::NodeClassInput& a, const cloud::NodeClassInput& b) {
  return a.kind.group == b.kind.group && a.kind.kind == b.kind.kind &&
         a.node_class.metadata.name == b.node_class.metadata.name &&
         a.node_class.metadata.uid == b.node_class.metadata.uid;
}

using ClassPtr = std::shared_ptr<const model::NodeClass>;

cluster::ObjectName NameOfClass(const model::NodeClass& node_class) {
  return {"coppice.dev/v1alpha1", "nodeclasses", "", node_class.metadata.name,
          node_class.metadata.uid};
}

Result<std::string> FromSecret(const std::string& json, const model::SecretKeyReference& from) {
  const Json secret = Json::parse(json, nullptr, false);
  const std::string key = from.key.empty() ? "userData" : from.key;
  if (!secret.is_object() || !secret.contains("data") || !secret.at("data").is_object() ||
      !secret.at("data").contains(key) || !secret.at("data").at(key).is_string()) {
    return NotFound("the Secret " + from.namespace_ + "/" + from.name + " has no key " + key);
  }
  model::Bytes bytes;
  wire::Trouble trouble;
  if (!wire::BytesFromBase64(secret.at("data").at(key).get<std::string>(), bytes, trouble))
    return InvalidArgument("the key " + key + " of the Secret " + from.name + " is not base64");
  return bytes.data;
}

}  // namespace

bool ClassKeeper::Look(TimePoint now) {
  std::vector<cloud::NodeClassInput> inputs;
  std::string versions;
  context_.world().objects<model::NodeClass>().ForEachByName([&](const ClassPtr& node_class) {
    cloud::NodeClassInput input{.kind = kOurs, .node_class = *node_class};
    if (node_class->metadata.unreadable) {
      inputs.push_back(std::move(input));
      return;
    }
    versions += node_class->metadata.name + "=" + node_class->metadata.uid + "/" +
                std::to_string(node_class->metadata.generation) +
                (node_class->metadata.deletion_timestamp ? "-" : "") + ";";
    if (node_class->spec.user_data_secret) {
      UserData& data = user_data_[node_class->metadata.name];
      const std::string version = std::to_string(node_class->metadata.generation);
      if (!data.busy && (data.version != version || now >= Later(data.read_at, kReadAgain))) {
        data.busy = true;
        data.version = version;
        context_.Spawn(ReadUserData(node_class));
      }
      input.user_data = data.text;
      input.user_data_status = data.status;
      versions += std::to_string(std::hash<std::string>{}(data.text)) + data.status.message();
    }
    inputs.push_back(std::move(input));
  });
  if (context_.parts.foreign_classes) {
    for (cloud::NodeClassInput& input : context_.parts.foreign_classes()) {
      if (input.node_class.metadata.unreadable) {
        inputs.push_back(std::move(input));
        continue;
      }
      versions += input.kind.group + "/" + input.kind.kind + "/" + input.node_class.metadata.name +
                  "=" + input.node_class.metadata.uid + "/" +
                  input.node_class.metadata.resource_version + ";";
      inputs.push_back(std::move(input));
    }
  }
  // The provider goes by what was read last of a class that cannot be read now: with half of one
  // its machines would look outdated.
  std::vector<cloud::NodeClassInput> readable;
  for (const cloud::NodeClassInput& input : inputs) {
    if (!input.node_class.metadata.unreadable) readable.push_back(input);
    const auto before = std::ranges::find_if(last_, [&](const cloud::NodeClassInput& one) {
      return input.node_class.metadata.unreadable && SameClass(one, input);
    });
    if (before == last_.end()) continue;
    readable.push_back(*before);
    versions += input.node_class.metadata.name + "=as before;";
  }
  last_ = readable;
  const bool changed = versions != handed_over_;
  if (changed) {
    handed_over_ = versions;
    context_.parts.claims.SetClasses(std::move(readable));
  }
  const auto states = context_.parts.claims.ClassStates();
  context_.classes.clear();
  for (const cloud::NodeClassInput& input : inputs) Judge(input.kind, input.node_class, states);
  if (!context_.pretends()) WriteOurs(now);
  return changed;
}

void ClassKeeper::Judge(const cloud::NodeClassKind& kind, const model::NodeClass& node_class,
                        const std::vector<cloud::NodeClassState>& states) {
  NodeClassFacts facts{.generation = node_class.metadata.generation,
                       .deleting = node_class.metadata.deletion_timestamp.has_value()};
  const auto state = std::ranges::find_if(states, [&](const cloud::NodeClassState& one) {
    return one.kind.group == kind.group && one.kind.kind == kind.kind &&
           one.name == node_class.metadata.name;
  });
  const auto* ready = model::FindCondition(node_class.status.conditions, model::karpenter::kReady);
  if (node_class.metadata.unreadable) {
    facts.ready = false;
    facts.reason = "NodeClassUnreadable";
    facts.message = "the node class cannot be read: " + node_class.metadata.unreadable->what;
  } else if (state != states.end()) {
    if (state->known) facts.ready = state->ready;
    facts.reason = state->reason;
    facts.message = state->message;
  } else if (ready != nullptr) {
    if (ready->status != "Unknown") facts.ready = ready->status == "True";
    facts.reason = ready->reason;
    facts.message = ready->message;
  } else {
    facts.ready = true;  // a provider without an opinion takes what it is given
  }
  context_.classes[kind.group + "/" + kind.kind + "/" + node_class.metadata.name] = facts;
}

void ClassKeeper::WriteOurs(TimePoint now) {
  context_.world().objects<model::NodeClass>().ForEachByName([&](const ClassPtr& node_class) {
    const std::string& name = node_class->metadata.name;
    if (node_class->metadata.unreadable) return;
    const NodeClassFacts& facts = context_.classes[kOurs.group + "/" + kOurs.kind + "/" + name];
    model::Condition ready{.type = model::karpenter::kReady,
                           .status = !facts.ready   ? "Unknown"
                                     : *facts.ready ? "True"
                                                    : "False",
                           .observed_generation = facts.generation,
                           .reason = facts.reason.empty()
                                         ? (facts.ready.value_or(false) ? "Ready" : "NotReady")
                                         : facts.reason,
                           .message = facts.message};
    auto conditions = node_class->status.conditions;
    model::SetCondition(conditions, ready, now);
    if (conditions == node_class->status.conditions || !busy_.insert(name).second) return;
    context_.Spawn(WriteReady(node_class, std::move(ready)));
  });
}

Task<void> ClassKeeper::WriteReady(ClassPtr node_class, model::Condition ready) {
  model::NodeClass after = *node_class;
  model::SetCondition(after.status.conditions, std::move(ready), context_.Now());
  Json patch;
  patch["status"]["conditions"] = Json::parse(wire::ToJson(after)).at("status").at("conditions");
  const auto written =
      co_await context_.parts.writer.UpdateStatus(NameOfClass(*node_class), patch.dump());
  if (!written.ok() && written.status().code() != Code::kNotFound) {
    context_.parts.log.Warning(
        "the status of a node class could not be written",
        {{"nodeclass", node_class->metadata.name}, {"error", written.status()}});
    // Not again at once, whatever is wrong.
    co_await context_.parts.executor.Sleep(std::chrono::seconds(10));
  } else {
    // The World shows it in a moment; until then it would be written again.
    co_await context_.parts.executor.Sleep(std::chrono::seconds(1));
  }
  busy_.erase(node_class->metadata.name);
}

Task<void> ClassKeeper::ReadUserData(ClassPtr node_class) {
  const model::SecretKeyReference from = *node_class->spec.user_data_secret;
  cluster::ObjectName secret;
  secret.api_version = "v1";
  secret.resource = "secrets";
  secret.namespace_ = from.namespace_;
  secret.name = from.name;
  const auto json = co_await context_.parts.writer.ObjectNow(secret);
  UserData& data = user_data_[node_class->metadata.name];
  data.busy = false;
  data.read_at = context_.Now();
  Result<std::string> text =
      json.ok() ? FromSecret(*json, from)
                : Result<std::string>(json.status().Context("reading its user data"));
  data.status = text.status();
  if (text.ok()) data.text = *std::move(text);
}

}  // namespace coppice::provision
