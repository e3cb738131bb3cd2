// The configuration on disk while a scheduler runs. Its plug-ins are two made-up ones: `plain`, and
// `picky`, which wants its argument `mode` to be a text.

#include "batch/conf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "batch/plugin.h"
#include "batch/session.h"
#include "test/support/must.h"

namespace coppice::batch {
namespace {

using testing::HasSubstr;

class NothingPlugin final : public Plugin {
 public:
  Status Open(Session&, Slots&) override { return Status::Ok(); }
};

Result<std::unique_ptr<Plugin>> MakePicky(const PluginContext& context) {
  const ArgumentValue* mode = context.arguments.Find("mode");
  if (mode && !mode->AsText()) return InvalidArgument("mode must be a text");
  return std::unique_ptr<Plugin>(std::make_unique<NothingPlugin>());
}

class ConfFileTest : public testing::Test {
 protected:
  ConfFileTest() {
    plugins_.Add("plain", FactoryOf<NothingPlugin>());
    plugins_.Add("picky", MakePicky);
    // Of the list: a key that it does not know is an error.
    plugins_.Add("extender", [](const PluginContext& context) -> Result<std::unique_ptr<Plugin>> {
      if (context.name == kListedExtender && context.arguments.Find("mistake"))
        return InvalidArgument("the key 'mistake' is unknown");
      return std::unique_ptr<Plugin>(std::make_unique<NothingPlugin>());
    });
  }
  ~ConfFileTest() override { std::filesystem::remove(path_); }

  void Write(const std::string& plugin, const std::string& more = "") {
    const std::string fresh = path_ + ".new";
    std::ofstream(fresh) << "actions: allocate\ntiers:\n- plugins:\n  - " << plugin << "\n" << more;
    std::filesystem::rename(fresh, path_);
  }
  // The next session looks.
  bool Look() { return file_.Look(now_ += std::chrono::seconds(2)); }
  std::string InForce() const { return file_.conf().tiers[0].plugins[0].name; }
  size_t Errors() const { return errors_; }

  PluginRegistry plugins_;
  fit::FilterRegistry filters_{"filter"};
  Options options_;
  size_t errors_ = 0;
  SystemClock clock_;
  Log log_{clock_, [this](std::string_view) { ++errors_; }, LogFormat::kText, LogLevel::kError};
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("conf-file-test-" + std::to_string(getpid())))
          .string();
  ConfFile file_{path_,
                 [this](const Conf& conf) {
                   return Session::CheckPlugins(conf, options_, plugins_, filters_);
                 },
                 log_};
  TimePoint now_{};
};

TEST_F(ConfFileTest, AChangedFileIsTakenByTheNextSession) {
  Write("name: plain");
  ASSERT_OK(file_.Open(false));
  Write("name: picky");
  EXPECT_EQ(InForce(), "plain");
  EXPECT_TRUE(Look());
  EXPECT_EQ(InForce(), "picky");
  EXPECT_FALSE(Look()) << "it has not changed since";
  EXPECT_EQ(Errors(), 0u);
}

TEST_F(ConfFileTest, ABadOneStaysOutIsToldOnceAndTakenWhenMended) {
  Write("name: plain");
  ASSERT_OK(file_.Open(false));
  for (const char* bad : {"name: [", "name: unheard-of", "{name: picky, arguments: {mode: 3}}"}) {
    Write(bad);
    const size_t told = Errors();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(Look()) << bad;
    EXPECT_EQ(Errors(), told + 1) << bad;
    EXPECT_NE(file_.trouble(), "") << bad;
    EXPECT_EQ(InForce(), "plain") << bad;
  }
  Write("{name: picky, arguments: {mode: three}}");
  EXPECT_TRUE(Look());
  EXPECT_EQ(file_.trouble(), "");
  EXPECT_EQ(InForce(), "picky");
}

TEST_F(ConfFileTest, WhatIsWrongIsToldByName) {
  Write("name: plain");
  ASSERT_OK(file_.Open(false));
  Write("{name: picky, arguments: {mode: 3}}");
  EXPECT_FALSE(Look());
  EXPECT_THAT(file_.trouble(), HasSubstr("picky: mode must be a text"));
  Write("name: plain", "extenders: [{mistake: x}]\n");
  EXPECT_FALSE(Look());
  EXPECT_THAT(file_.trouble(), HasSubstr("extenders: the key 'mistake' is unknown"));
  Write("name: plain", "extenders: {urlPrefix: x}\n");
  EXPECT_FALSE(Look());
  EXPECT_THAT(file_.trouble(), HasSubstr("extenders must be a list"));
  Write("name: plain", "extenders: [{urlPrefix: x}]\n");
  EXPECT_TRUE(Look());
}

TEST_F(ConfFileTest, AFileThatIsGoneLeavesWhatItSaid) {
  Write("name: picky");
  ASSERT_OK(file_.Open(false));
  std::filesystem::remove(path_);
  EXPECT_FALSE(Look());
  EXPECT_EQ(InForce(), "picky");
  EXPECT_THAT(file_.trouble(), HasSubstr("cannot open"));
  Write("name: plain");
  EXPECT_TRUE(Look());
  EXPECT_EQ(InForce(), "plain");
}

// What is wrong may be somewhere else, and mended there.
TEST_F(ConfFileTest, AFileThatCannotBeUsedIsTriedAgain) {
  bool there = false;
  ConfFile file(
      path_, [&](const Conf&) { return there ? Status::Ok() : NotFound("ca.pem"); }, log_);
  Write("name: plain");
  ASSERT_OK(file.Open(true));
  EXPECT_EQ(file.conf().tiers.size(), 2u) << "the default";
  EXPECT_FALSE(file.Look(now_ + std::chrono::seconds(1)));
  EXPECT_EQ(Errors(), 1u);
  there = true;
  EXPECT_TRUE(file.Look(now_ + std::chrono::seconds(3)));
  EXPECT_EQ(file.conf().tiers.size(), 1u);
}

TEST_F(ConfFileTest, ExactlyAsUpstreamOnlyNamesAreLookedAt) {
  options_.upstream_exact = true;
  Write("{name: picky, arguments: {mode: 3}}", "extenders: 3\n");
  EXPECT_OK(file_.Open(false));
}

}  // namespace
}  // namespace coppice::batch
