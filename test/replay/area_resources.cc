// resources: the batch scheduler's arithmetic, operation by operation.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "batch/resource.h"
#include "test/replay/objects.h"
#include "test/replay/replay.h"

namespace coppice::replay {
namespace {

using batch::Missing;
using batch::Resource;

std::optional<Resource> ResourceAt(const Json& c, const char* key) {
  if (!c.contains(key) || c.at(key).is_null()) return std::nullopt;
  const Json& json = c.at(key);
  Resource r;
  r.cpu = json.at("MilliCPU");
  r.memory = json.at("Memory");
  r.max_tasks = json.at("MaxTaskNum");
  if (!json.at("ScalarResources").is_null()) {
    r.MakeScalars();
    for (const auto& [name, value] : json.at("ScalarResources").items()) {
      r.Set(batch::InternScalar(name), value);
    }
  }
  return r;
}

Json ToJson(const Resource& r) {
  Json json{{"MilliCPU", r.cpu},
            {"Memory", r.memory},
            {"ScalarResources", nullptr},
            {"MaxTaskNum", r.max_tasks}};
  if (r.has_scalars()) json["ScalarResources"] = Json::object();
  for (const auto& [key, value] : r.scalars()) {
    json["ScalarResources"][batch::ScalarName(key)] = value;
  }
  return json;
}

Json ToJson(const batch::Dimensions& d) {
  Json names = d.names;
  std::sort(names.begin(), names.end());
  return {{"ok", d.yes}, {"names", names}};
}

Json Sorted(Json names) {
  std::sort(names.begin(), names.end());
  return names;
}

struct Operands {
  const Json& c;
  Resource r;
  std::optional<Resource> other;
  std::optional<Resource> asked;
  Missing missing;

  const Resource& rr() const { return other.value(); }
  const Resource* rr_or_null() const { return other ? &*other : nullptr; }
  const Resource* req() const { return asked ? &*asked : nullptr; }
};

using Operation = std::function<Json(Operands&)>;

std::map<std::string, Operation> Changes() {
  return {
      {"add", [](Operands& o) { return ToJson(o.r.Add(o.rr())); }},
      {"sub", [](Operands& o) { return o.r.Sub(o.rr()) ? ToJson(o.r) : Json{{"panic", true}}; }},
      {"subWithoutAssert",
       [](Operands& o) {
         (void)o.r.Sub(o.rr());
         return ToJson(o.r);
       }},
      {"setMaxResource",
       [](Operands& o) {
         if (o.other) o.r.SetMax(o.rr());
         return ToJson(o.r);
       }},
      {"fitDelta", [](Operands& o) { return ToJson(o.r.FitDelta(o.rr())); }},
      {"minDimensionResource", [](Operands& o) { return ToJson(o.r.CapBy(o.rr(), o.missing)); }},
      {"clone", [](Operands& o) { return ToJson(o.r); }},
      {"string", [](Operands& o) { return Json(o.r.ToString()); }},
      {"isEmpty", [](Operands& o) { return Json(o.r.IsEmpty()); }},
      {"resourceNames", [](Operands& o) { return Sorted(o.r.Names()); }},
      {"newResource",
       [](Operands& o) {
         model::ResourceList list;
         for (const auto& [name, text] : o.c.at("list").items()) {
           list[name] = model::Quantity::Parse(text.get<std::string>()).value();
         }
         return ToJson(Resource::From(list));
       }},
      {"share", [](Operands& o) { return Json(batch::Share(o.c.at("l"), o.c.at("rval"))); }},
  };
}

std::map<std::string, Operation> Comparisons() {
  const auto diff = [](Missing missing) {
    return [missing](Operands& o) {
      const auto d = batch::ResourceDiff::Of(o.r, o.rr(), missing);
      return Json{{"increased", ToJson(d.increased)}, {"decreased", ToJson(d.decreased)}};
    };
  };
  return {
      {"less", [](Operands& o) { return Json(o.r.Less(o.rr(), o.missing)); }},
      {"lessEqual", [](Operands& o) { return Json(o.r.LessEqual(o.rr(), o.missing)); }},
      {"lessPartly", [](Operands& o) { return Json(o.r.LessPartly(o.rr(), o.missing)); }},
      {"lessEqualPartly", [](Operands& o) { return Json(o.r.LessEqualPartly(o.rr(), o.missing)); }},
      {"equal", [](Operands& o) { return Json(o.r.Equal(o.rr())); }},
      {"lessEqualWithResourcesName",
       [](Operands& o) { return ToJson(batch::LessEqualNamed(o.r, o.rr(), o.missing)); }},
      {"lessEqualWithDimensionAndResourcesName",
       [](Operands& o) {
         const bool has_r = o.c.contains("r") && !o.c.at("r").is_null();
         return ToJson(
             batch::LessEqualWhereAsked(has_r ? &o.r : nullptr, o.rr_or_null(), o.req()));
       }},
      {"lessEqualPartlyWithDimension",
       [](Operands& o) { return ToJson(batch::LessEqualSomewhereAsked(o.r, o.rr(), o.req())); }},
      {"lessEqualPartlyWithDimensionZeroFiltered",
       [](Operands& o) { return ToJson(batch::LessEqualSomewhereReal(o.r, o.rr(), o.req())); }},
      {"greaterPartlyWithDimension",
       [](Operands& o) {
         return ToJson(batch::GreaterSomewhereAsked(o.r, o.rr_or_null(), o.req()));
       }},
      {"greaterPartlyWithRelevantDimensions",
       [](Operands& o) {
         return ToJson(batch::GreaterWhereRelevant(o.r, o.rr_or_null(), o.req()));
       }},
      {"diff", diff(Missing::kZero)},
      {"diffInfinity", diff(Missing::kInfinity)},
      {"exceededPart",
       [](Operands& o) {
         if (!o.other) return ToJson(o.r);
         return ToJson(batch::ExceededPart(o.r, o.rr()));
       }},
      {"intersection", [](Operands& o) { return Sorted(batch::CommonNames(o.r, o.rr())); }},
      {"helperMin", [](Operands& o) { return ToJson(batch::Min(o.r, o.rr())); }},
      {"helperMax", [](Operands& o) { return ToJson(batch::Max(o.r, o.rr())); }},
  };
}

}  // namespace

void resources(const Json& c, Report& report) {
  static const auto operations = [] {
    auto all = Changes();
    all.merge(Comparisons());
    return all;
  }();
  const std::string op = c.at("op");
  const auto found = operations.find(op);
  if (found == operations.end()) return report.Unreadable("no operation " + op);
  Operands operands{.c = c,
                    .r = ResourceAt(c, "r").value_or(Resource()),
                    .other = ResourceAt(c, "rr"),
                    .asked = ResourceAt(c, "req"),
                    .missing = c.value("default", "Zero") == "Infinity" ? Missing::kInfinity
                                                                        : Missing::kZero};
  const Json ours = found->second(operands);
  if (ours != c.at("expect")) report.Differs(op, c.at("expect").dump(), ours.dump());
}

}  // namespace coppice::replay
