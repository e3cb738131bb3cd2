// Texts, URLs, answers and arguments: everything that has to be as Go has it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/fake_clock.h"
#include "plugins/batch/extender/answers.h"
#include "plugins/batch/extender/breaker.h"
#include "plugins/batch/extender/config.h"
#include "plugins/batch/extender/fragments.h"
#include "plugins/batch/extender/go_text.h"
#include "plugins/batch/extender/go_url.h"
#include "test/support/must.h"

namespace coppice::batch::extender {
namespace {

using testing::HasSubstr;

std::string GoText(std::string_view text) {
  std::string out;
  AppendGoText(out, text);
  return out;
}

std::string GoFloat(double value) {
  std::string out;
  return AppendGoFloat(out, value) ? out : "refused";
}

TEST(GoTextTest, EscapesWhatGoEscapes) {
  EXPECT_EQ(GoText("a<b>&\"\\"), R"("a\u003cb\u003e\u0026\"\\")");
  EXPECT_EQ(GoText("\n\t\r\b\f\x01"), R"("\n\t\r\b\f\u0001")");
  EXPECT_EQ(GoText("Gr\u00fc\u00dfe \u2028\u2029 \u2027"),
            "\"Gr\u00fc\u00dfe \\u2028\\u2029 \u2027\"");
  EXPECT_EQ(GoText("\xff"), "\"\uFFFD\"");
  EXPECT_EQ(GoText("\xe2\x80"), "\"\uFFFD\uFFFD\"");
}

TEST(GoTextTest, WritesNumbersInTheirShortestForm) {
  EXPECT_EQ(GoFloat(0), "0");
  EXPECT_EQ(GoFloat(-0.0), "-0");
  EXPECT_EQ(GoFloat(1.5), "1.5");
  EXPECT_EQ(GoFloat(-1000), "-1000");
  EXPECT_EQ(GoFloat(0.000001), "0.000001");
  EXPECT_EQ(GoFloat(0.00000012), "1.2e-7");
  EXPECT_EQ(GoFloat(1099511627776000), "1099511627776000");
  EXPECT_EQ(GoFloat(123456789012345678901.0), "123456789012345680000");
  EXPECT_EQ(GoFloat(1e21), "1e+21");
  EXPECT_EQ(GoFloat(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(GoFloat(std::numeric_limits<double>::infinity()), "refused");
  EXPECT_EQ(GoFloat(std::nan("")), "refused");
}

TEST(GoTextTest, RewritesAnObjectAndKeepsItsOrder) {
  EXPECT_EQ(AsGoWrites(" { \"b\" : [ 1.50 , \"<\" ] , \"a\" : { } , \"c\":[ [ ] ] } "),
            R"({"b":[1.50,"\u003c"],"a":{},"c":[[]]})");
  EXPECT_EQ(AsGoWrites("{} x"), std::nullopt);
  EXPECT_EQ(AsGoWrites("{"), std::nullopt);
  EXPECT_EQ(AsGoWrites(std::string(100'000, '[')), std::nullopt);
}

TEST(GoUrlTest, SendsAPathAsItIsWhereItCan) {
  const auto target = [](std::string_view text) {
    const auto url = ParseGoUrl(text);
    return url.ok() ? url->target : "refused";
  };
  EXPECT_EQ(target("http://h/a/../b"), "/a/../b");
  EXPECT_EQ(target("http://h//verb"), "//verb");
  EXPECT_EQ(target("http://h/pre dicate"), "/pre%20dicate");
  EXPECT_EQ(target("http://h/pr\u00e4"), "/pr%C3%A4");
  EXPECT_EQ(target("http://h/%70re"), "/%70re");
  EXPECT_EQ(target("http://h/%70 e"), "/p%20e");
  EXPECT_EQ(target("http://h/a!b(c)"), "/a!b(c)");
  EXPECT_EQ(target("http://h/v#frag"), "/v");
  EXPECT_EQ(target("http://h?a=b/v"), "/?a=b/v");
  EXPECT_EQ(target("http://h"), "/");
  EXPECT_EQ(target("http://h/%zz"), "refused");
  EXPECT_EQ(target("http://h/a\nb"), "refused");
  EXPECT_EQ(target("/verb"), "refused");
  EXPECT_EQ(target("127.0.0.1:1/verb"), "refused");
  EXPECT_EQ(target("ftp://h/verb"), "refused");
  EXPECT_EQ(target("http://h:x/verb"), "refused");
}

TEST(GoUrlTest, FollowsALocation) {
  const GoUrl base = ParseGoUrl("http://h:1/a/b?q").value();
  const auto to = [&](std::string_view location) {
    return ResolveGoUrl(base, location).value().ToString();
  };
  EXPECT_EQ(to("/moved"), "http://h:1/moved");
  EXPECT_EQ(to("c?x=1"), "http://h:1/a/c?x=1");
  EXPECT_EQ(to("../c"), "http://h:1/c");
  EXPECT_EQ(to("?x"), "http://h:1/a/b?x");
  EXPECT_EQ(to("//other/c"), "http://other/c");
  EXPECT_EQ(to("https://other:2/c#f"), "https://other:2/c");
}

TEST(AnswersTest, ReadsAPredicateAsGoDoes) {
  struct Row {
    std::string_view body;
    bool ok;
    std::string_view message;
    int64_t code;
  };
  for (const Row& row : std::initializer_list<Row>{
           {R"({"status":"no","code":2})", true, "no", 2},
           {R"({"STATUS":"no","Code":2})", true, "no", 2},
           {R"({"status":"a","status":"b"})", true, "b", 0},
           {R"({"status":"a","status":null})", true, "a", 0},
           {R"({"status":"a","code":1}{"status":"b"})", true, "a", 1},
           {R"({"\u017ftatus":"a"})", true, "a", 0},
           {"null", true, "", 0},
           {"{}", true, "", 0},
           {R"({"other":[1,{}]})", true, "", 0},
           {R"({"code":2.0})", false, "", 0},
           {R"({"code":"2"})", false, "", 0},
           {R"({"status":5})", false, "", 0},
           {R"({"status":5,"code":3})", false, "", 3},
           {"[]", false, "", 0},
           {"5", false, "", 0},
           {"", false, "", 0},
           {"  ", false, "", 0},
           {R"({"status":"a")", false, "", 0},
           {"<html>", false, "", 0},
       }) {
    const auto answer = ReadPredicate(row.body);
    EXPECT_EQ(answer.status.ok(), row.ok) << row.body;
    EXPECT_EQ(answer.value.message, row.message) << row.body;
    EXPECT_EQ(answer.value.code, row.code) << row.body;
  }
}

TEST(AnswersTest, ScoresMayBeAnyNumberButNotTooLarge) {
  const auto good = ReadPrioritize(R"({"nodeScore":{"a":1.5,"b":-2e3}})");
  ASSERT_TRUE(good.status.ok());
  EXPECT_EQ(good.value.scores->at("a"), 1.5);
  EXPECT_EQ(good.value.scores->at("b"), -2000);
  EXPECT_FALSE(ReadPrioritize(R"({"nodeScore":{"a":1e999}})").status.ok());
  EXPECT_TRUE(ReadPrioritize(R"({"nodeScore":{"a":1e-999}})").status.ok());
  EXPECT_FALSE(ReadPrioritize(R"({"nodeScore":{"a":"1"}})").status.ok());
  EXPECT_FALSE(ReadPrioritize("{}").value.scores.has_value());
  EXPECT_FALSE(ReadPrioritize(R"({"nodeScore":{},"nodeScore":null})").value.scores.has_value());
  // The second map is put into the first.
  EXPECT_EQ(ReadPrioritize(R"({"nodeScore":{"a":1},"nodeScore":{"b":1}})").value.scores->size(),
            2u);
}

TEST(AnswersTest, AVictimIsAWholeTaskOrOnlyAUid) {
  const auto answer = ReadVictims(
      R"({"status":1,"victims":[{"UID":"u1","Resreq":{"MilliCPU":1}},{"uid":"u2"},null]})");
  ASSERT_TRUE(answer.status.ok());
  ASSERT_EQ(answer.value.victims.size(), 3u);
  EXPECT_TRUE(answer.value.victims[0].complete);
  EXPECT_EQ(answer.value.victims[1].uid, "u2");
  EXPECT_FALSE(answer.value.victims[1].complete);
  EXPECT_TRUE(answer.value.victims[2].null);
  EXPECT_FALSE(ReadVictims(R"({"victims":[{"UID":1}]})").status.ok());
  EXPECT_FALSE(ReadVictims(R"({"victims":[{"Status":"x"}]})").status.ok());
  EXPECT_FALSE(ReadVictims(R"({"victims":{}})").status.ok());
}

TEST(ConfigTest, WhatIsOfAnotherTypeCountsAsAbsent) {
  const Arguments arguments({{"extender.urlPrefix", {int64_t{5}}},
                             {"extender.predicateVerb", {true}},
                             {"extender.ignorable", {std::string("t")}},
                             {"extender.httpTimeout", {std::string("150ms")}},
                             {"extender.weight", {2.5}}});
  const Config config = ReadConfig(arguments, "extender.", false).value();
  EXPECT_EQ(config.url_prefix, "");
  EXPECT_FALSE(config.Has(Verb::kPredicate));
  EXPECT_TRUE(config.ignorable);
  EXPECT_EQ(config.timeout, std::chrono::milliseconds(150));
  EXPECT_EQ(config.weight, 2.5);
  // What upstream does not know is not read where it has to be upstream's.
  EXPECT_EQ(ReadConfig(arguments, "extender.", true).value().weight, 1);
}

TEST(ConfigTest, InTheListWhatNobodyKnowsOrCannotReadIsRefusedByName) {
  const auto problem = [](const std::string& key, ArgumentValue value) {
    const Arguments arguments({{"urlPrefix", {std::string("http://e")}}, {key, std::move(value)}});
    EXPECT_OK(ReadConfig(arguments, "extender.", false)) << "upstream's plug-in passes over it";
    return std::string(ReadConfig(arguments, "", false).status().message());
  };
  EXPECT_EQ(problem("prioritiseVerb", {std::string("p")}),
            "the key 'prioritiseVerb' is unknown; did you mean 'prioritizeVerb'?");
  EXPECT_THAT(problem("httpTimeout", {std::string("soon")}), HasSubstr("httpTimeout"));
  EXPECT_THAT(problem("breakerPause", {2.5}), HasSubstr("breakerPause"));
  EXPECT_THAT(problem("predicateVerb", {int64_t{3}}), HasSubstr("predicateVerb"));
  EXPECT_THAT(problem("ignorable", {std::string("maybe")}), HasSubstr("ignorable"));
  EXPECT_THAT(problem("weight", {std::string("2")}), HasSubstr("weight"));
  EXPECT_EQ(problem("breakerFailures", {int64_t{3}}), "");
  EXPECT_EQ(problem("caFile", {}), "") << "null is not there";
  EXPECT_EQ(problem("httpTimeout", {int64_t{5'000'000}}), "");
}

TEST(ConfigTest, InTheListATimeMayBeANumberOfNanoseconds) {
  const Arguments listed({{"httpTimeout", {int64_t{5'000'000}}}});
  EXPECT_EQ(ReadConfig(listed, "", false).value().timeout, std::chrono::milliseconds(5));
  const Arguments tier({{"extender.httpTimeout", {int64_t{5'000'000}}}});
  EXPECT_EQ(ReadConfig(tier, "extender.", false).value().timeout, std::chrono::seconds(1));
}

TEST(ConfigTest, ManagedResourcesAreAListOfTexts) {
  const auto read = [](ArgumentValue value) {
    return ReadConfig(Arguments({{"extender.managedResources", std::move(value)}}), "extender.",
                      false);
  };
  EXPECT_FALSE(read({std::string("a,b")}).ok());
  EXPECT_FALSE(read({ArgumentValue::List{{int64_t{1}}}}).ok());
  EXPECT_TRUE(read({}).ok());
  const Config config = read({ArgumentValue::List{{std::string("gpu")}}}).value();
  model::Pod pod;
  EXPECT_FALSE(config.Interests(pod));
  pod.spec.init_containers.emplace_back().resources.limits["gpu"] = model::Quantity();
  EXPECT_TRUE(config.Interests(pod));
}

TEST(BreakerTest, OpensAfterFailuresInARowAndTriesOnceAfterThePause) {
  Breaker breaker(2, std::chrono::seconds(10));
  TimePoint now{};
  const Status bad = Unavailable("refused");
  EXPECT_TRUE(breaker.Admit(now).ok());
  breaker.Note(bad, now);
  breaker.Note(Status::Ok(), now);
  breaker.Note(bad, now);
  EXPECT_TRUE(breaker.Admit(now).ok());
  breaker.Note(bad, now);
  EXPECT_EQ(breaker.state(), Breaker::State::kOpen);
  EXPECT_THAT(breaker.Admit(now).message(), testing::HasSubstr("refused"));
  now += std::chrono::seconds(10);
  EXPECT_TRUE(breaker.Admit(now).ok());
  EXPECT_FALSE(breaker.Admit(now).ok());  // one at a time
  breaker.Note(Status::Ok(), now);
  EXPECT_EQ(breaker.state(), Breaker::State::kClosed);
}

}  // namespace
}  // namespace coppice::batch::extender
