#include "plugins/batch/extender/answers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "model/pod.h"
#include "plugins/batch/extender/go_value.h"
#include "wire/wire.h"

namespace coppice::batch::extender {
namespace {

using Kind = GoValue::Kind;

std::string_view NameOf(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "bool";
    case Kind::kNumber:
      return "number";
    case Kind::kText:
      return "string";
    case Kind::kArray:
      return "array";
    case Kind::kObject:
      break;
  }
  return "object";
}

// Puts values into fields and remembers the first that did not fit.
class Reader {
 public:
  Status status;

  void Wrong(const GoValue& value, std::string_view wanted) {
    if (!status.ok()) return;
    status = InvalidArgument("cannot read " + std::string(NameOf(value.kind)) + " as " +
                             std::string(wanted));
  }

  // Each member that goes into `field`, in order.
  template <class F>
  void Each(const GoValue& object, std::string_view field, F f) {
    for (const auto& [name, value] : object.members) {
      if (GoesInto(name, field)) f(value);
    }
  }

  // False: nothing to look into.
  bool IsObject(const GoValue& value) {
    if (value.kind == Kind::kObject) return true;
    if (value.kind != Kind::kNull) Wrong(value, "an object");
    return false;
  }

  void Put(const GoValue& value, std::string& out) {
    if (value.kind == Kind::kText) {
      out = value.text;
    } else if (value.kind != Kind::kNull) {
      Wrong(value, "a string");
    }
  }
  void Put(const GoValue& value, bool& out) {
    if (value.kind == Kind::kBool) {
      out = value.flag;
    } else if (value.kind != Kind::kNull) {
      Wrong(value, "a bool");
    }
  }
  void Put(const GoValue& value, int64_t& out) {
    if (value.kind == Kind::kNull) return;
    int64_t number = 0;
    const char* end = value.text.data() + value.text.size();
    const auto [stop, problem] = std::from_chars(value.text.data(), end, number);
    if (value.kind != Kind::kNumber || problem != std::errc() || stop != end) {
      return Wrong(value, "an int");
    }
    out = number;
  }
  void Put(const GoValue& value, int32_t& out) {
    int64_t wide = out;
    Put(value, wide);
    if (wide < std::numeric_limits<int32_t>::min() || wide > std::numeric_limits<int32_t>::max()) {
      return Wrong(value, "an int32");
    }
    out = static_cast<int32_t>(wide);
  }
  void Put(const GoValue& value, double& out) {
    if (value.kind == Kind::kNull) return;
    if (value.kind != Kind::kNumber) return Wrong(value, "a float");
    double number = 0;
    const char* end = value.text.data() + value.text.size();
    const auto [stop, problem] = std::from_chars(value.text.data(), end, number);
    // Too small to be told from zero is zero; too large is an error.
    if (problem == std::errc::result_out_of_range) {
      number = std::strtod(value.text.c_str(), nullptr);
      if (std::isinf(number)) return Wrong(value, "a float");
    } else if (problem != std::errc() || stop != end) {
      return Wrong(value, "a float");
    }
    out = number;
  }
  template <class V>
  void Put(const GoValue& value, std::map<std::string, V>& out) {
    if (!IsObject(value)) return;
    for (const auto& [name, member] : value.members) {
      V element{};
      Put(member, element);
      out[name] = std::move(element);
    }
  }
  // Null takes away what an earlier member has set.
  template <class V>
  void Put(const GoValue& value, std::optional<V>& out) {
    if (value.kind == Kind::kNull) {
      out.reset();
    } else {
      if (!out) out.emplace();
      Put(value, *out);
    }
  }
  void Put(const GoValue& value, PredicateAnswer& out) {
    if (!IsObject(value)) return;
    Field(value, "status", out.message);
    Field(value, "code", out.code);
  }

  template <class T>
  void Field(const GoValue& object, std::string_view name, T& out) {
    Each(object, name, [&](const GoValue& value) { Put(value, out); });
  }

  void CheckResource(const GoValue& value) {
    if (!IsObject(value)) return;
    double real = 0;
    int64_t number = 0;
    std::map<std::string, double> scalars;
    Field(value, "MilliCPU", real);
    Field(value, "Memory", real);
    Field(value, "ScalarResources", scalars);
    Field(value, "MaxTaskNum", number);
  }

  void CheckPod(const GoValue& value) {
    if (!IsObject(value)) return;
    const auto pod = wire::FromJson<model::Pod>(value.raw);
    if (!pod.ok() && status.ok()) status = pod.status();
  }

  // Of a task only the uid is used, but all of it has to be of the right type.
  void Put(const GoValue& value, VictimsAnswer::Victim& out) {
    out.null = value.kind == Kind::kNull;
    if (!IsObject(value)) return;
    static constexpr std::array<std::string_view, 7> kTexts{"Job",
                                                            "Name",
                                                            "Namespace",
                                                            "TaskRole",
                                                            "NodeName",
                                                            "RevocableZone",
                                                            "JobAllocatedHyperNode"};
    static constexpr std::array<std::string_view, 7> kFlags{"EvictionOccurred",
                                                            "VolumeReady",
                                                            "Preemptable",
                                                            "BestEffort",
                                                            "SchGated",
                                                            "HasRestartableInitContainer",
                                                            "CustomBindErrHandlerSucceeded"};
    std::string text;
    bool flag = false;
    int64_t status_number = 0;
    int32_t priority = 0;
    std::map<std::string, std::string> annotations;
    Field(value, "UID", out.uid);
    for (const std::string_view name : kTexts) Field(value, name, text);
    for (const std::string_view name : kFlags) Field(value, name, flag);
    Field(value, "Status", status_number);
    Field(value, "Priority", priority);
    Field(value, "PodAnnotations", annotations);
    Each(value, "Resreq", [&](const GoValue& v) {
      out.complete = v.kind == Kind::kObject;
      CheckResource(v);
    });
    Each(value, "InitResreq", [&](const GoValue& v) { CheckResource(v); });
    Each(value, "Pod", [&](const GoValue& v) { CheckPod(v); });
    for (const std::string_view name : {"LastTransaction", "NumaInfo", "DRAResreq"}) {
      Each(value, name, [&](const GoValue& v) { (void)IsObject(v); });
    }
  }
  void Put(const GoValue& value, std::vector<VictimsAnswer::Victim>& out) {
    if (value.kind == Kind::kNull) return out.clear();
    if (value.kind != Kind::kArray) return Wrong(value, "an array");
    out.clear();
    for (const GoValue& item : value.items) Put(item, out.emplace_back());
  }
};

// The first value of the body, as an object whose members `read` takes up.
template <class T, class Read>
Answer<T> ReadAnswer(std::string_view body, Read read) {
  Answer<T> answer{};
  const auto value = ReadGoValue(body);
  if (!value.ok()) {
    answer.status = value.status();
    return answer;
  }
  Reader reader;
  if (reader.IsObject(*value)) read(reader, *value, answer.value);
  answer.status = reader.status;
  return answer;
}

template <class T>
Answer<T> ReadOne(std::string_view body, std::string_view name) {
  return ReadAnswer<T>(body, [&](Reader& reader, const GoValue& object, T& out) {
    reader.Field(object, name, out);
  });
}

}  // namespace

Answer<PredicateAnswer> ReadPredicate(std::string_view body) {
  return ReadAnswer<PredicateAnswer>(
      body, [](Reader& reader, const GoValue& object, auto& out) { reader.Put(object, out); });
}

Answer<BatchPredicateAnswer> ReadBatchPredicate(std::string_view body) {
  return ReadAnswer<BatchPredicateAnswer>(body,
                                          [](Reader& reader, const GoValue& object, auto& out) {
                                            reader.Field(object, "nodeStatus", out.nodes);
                                            reader.Field(object, "errorMessage", out.error);
                                          });
}

Answer<PrioritizeAnswer> ReadPrioritize(std::string_view body) {
  return ReadAnswer<PrioritizeAnswer>(body, [](Reader& reader, const GoValue& object, auto& out) {
    reader.Field(object, "nodeScore", out.scores);
    reader.Field(object, "errorMessage", out.error);
  });
}

Answer<VictimsAnswer> ReadVictims(std::string_view body) {
  return ReadAnswer<VictimsAnswer>(body, [](Reader& reader, const GoValue& object, auto& out) {
    reader.Field(object, "status", out.vote);
    reader.Field(object, "victims", out.victims);
  });
}

Answer<int64_t> ReadVote(std::string_view body) { return ReadOne<int64_t>(body, "status"); }
Answer<bool> ReadOverused(std::string_view body) { return ReadOne<bool>(body, "overused"); }
Answer<bool> ReadReady(std::string_view body) { return ReadOne<bool>(body, "status"); }
Answer<std::string> ReadErrorMessage(std::string_view body) {
  return ReadOne<std::string>(body, "errorMessage");
}
Answer<std::string> ReadBindError(std::string_view body) {
  return ReadOne<std::string>(body, "Error");
}
// Whatever is no such answer does not ask for anything.
Answer<bool> ReadResend(std::string_view body) {
  Answer<bool> answer = ReadOne<bool>(body, "resend");
  return {.value = answer.status.ok() && answer.value, .status = Status::Ok()};
}
Status ReadNothing(std::string_view body) {
  return ReadAnswer<bool>(body, [](Reader&, const GoValue&, bool&) {}).status;
}

}  // namespace coppice::batch::extender
