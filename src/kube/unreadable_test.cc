// One object that cannot be read among good ones, of every kind that decisions read, in lists and
// in watches, in both encodings: the others are seen, and the bad one is there.

#include <gmock/gmock.h>

#include <map>

#include "kube/feed.h"
#include "kube/test_rig.h"
#include "model/added_kinds.h"

namespace coppice::kube {
namespace {

using wire::Encoding;

using FeedKinds =
    model::KindList<model::Node, model::Pod, model::PodDisruptionBudget, model::DaemonSet,
                    model::ReplicaSet, model::StatefulSet, model::ReplicationController, model::Job,
                    model::Namespace, model::Service, model::PersistentVolumeClaim,
                    model::PersistentVolume, model::StorageClass, model::CsiNode, model::CsiDriver,
                    model::CsiStorageCapacity, model::VolumeAttachment, model::ConfigMap>;

// Those that engines add to the feed.
template <class... A, class... B, class... C>
constexpr auto Together(model::KindList<A...>, model::KindList<B...>, model::KindList<C...>) {
  return model::KindList<A..., B..., C...>();
}
using AddedKinds =
    decltype(Together(model::PoolKinds(), model::ProviderKinds(), model::BatchKinds()));
template <class... T>
constexpr size_t SizeOf(model::KindList<T...>) {
  return sizeof...(T);
}
constexpr size_t kKinds = SizeOf(FeedKinds()) + SizeOf(AddedKinds());

// Of a custom resource an API server has JSON only.
template <class T>
constexpr bool kComesAsJson = model::kKind<T>.api_version.find(".sh/") != std::string_view::npos ||
                              model::kKind<T>.api_version.find(".dev/") != std::string_view::npos;

// An API server that answers with the bytes that it was given.
class RawServer {
 public:
  struct Kind {
    std::string list;
    std::string watch;    // sent when a watch goes on from a version, which then stays open
    std::string initial;  // the same of a watch that begins with the whole state
    std::string content_type = {};
  };

  RawServer()
      : server_(test::MustValue(net::HttpServer::Create(
            {.port = 0}, [this](const net::ServerRequest& r) { return Answer(r); }))) {}

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

  std::map<std::string, Kind> kinds;  // by path; before the first request

 private:
  net::ServerResponse Answer(const net::ServerRequest& request) {
    net::ServerResponse response;
    const auto kind = kinds.find(request.path);
    if (kind == kinds.end()) return {.status = 404};
    response.content_type = kind->second.content_type;
    if (request.Query("watch") == nullptr) {
      response.body = kind->second.list;
      return response;
    }
    const bool initial = request.Query("sendInitialEvents") != nullptr;
    response.stream = [this, bytes = initial ? kind->second.initial : kind->second.watch](
                          std::shared_ptr<net::ServerStream> stream) {
      if (!bytes.empty()) stream->Write(bytes);
      open_.push_back(std::move(stream));
    };
    return response;
  }

  std::vector<std::shared_ptr<net::ServerStream>> open_;  // on the server's thread
  std::unique_ptr<net::HttpServer> server_;
};

// 1767323045 seconds, as a protobuf varint, and one that has no end.
const std::string kTimeText = "2026-01-02T03:04:05Z";
const std::string kTimeBytes = "\xA5\xEB\xDC\xCA\x06";
const std::string kEndless = "\xFF\xFF\xFF\xFF\xFF";

template <class T>
T Named(const std::string& name) {
  T object;
  object.metadata.name = name;
  if (model::kKind<T>.namespaced) object.metadata.namespace_ = "ns";
  object.metadata.uid = "uid-of-" + name;
  object.metadata.resource_version = name == "good" ? "1" : name == "bad" ? "2" : "3";
  object.metadata.labels["app"] = name;
  return object;
}

// The bad one is known by its time of creation, which is then spoiled.
std::string Spoil(Encoding encoding, std::string bytes) {
  const std::string& time = encoding == Encoding::kJson ? kTimeText : kTimeBytes;
  const size_t at = bytes.find(time);
  EXPECT_NE(at, std::string::npos);
  if (at == std::string::npos) return bytes;
  if (encoding == Encoding::kProtobuf) return bytes.replace(at, time.size(), kEndless);
  return bytes.replace(at, time.size(), "a fine day in January");
}

template <class T>
std::vector<T> Three() {
  std::vector<T> three = {Named<T>("good"), Named<T>("bad"), Named<T>("last")};
  three[1].metadata.creation_timestamp =
      model::Time{TimePoint(std::chrono::seconds(1'767'323'045))};
  return three;
}

template <class T>
std::string ListOf(Encoding encoding, std::vector<T> items) {
  model::List<T> list;
  list.metadata.resource_version = "1";
  list.items = std::move(items);
  if constexpr (!kComesAsJson<T>) {
    if (encoding == Encoding::kProtobuf) return wire::ToEnvelope(list);
  }
  return wire::ToJson(list);
}

template <class T>
std::string EventOf(Encoding encoding, model::WatchType type, const T& object) {
  model::WatchEvent<T> event;
  event.type = type;
  event.object = object;
  return wire::WriteWatchEvent(encoding, event);
}

enum class Way { kListed, kWatched, kStreamed };

struct Case {
  std::string name;
  Encoding encoding;
  Way way;
};

class UnreadableTest : public testing::TestWithParam<Case> {
 protected:
  UnreadableTest() {
    ConnectionConfig config;
    config.server = raw_.url();
    credentials_ = std::make_unique<Credentials>(
        Credentials::Parts{.config = config, .executor = rig_.executor, .workers = rig_.workers});
    client_ = std::make_unique<Client>(ClientOptions{.server = raw_.url(), .qps = 0},
                                       *rig_.transport, *credentials_, rig_.executor, rig_.rng);
    FeedKinds::Any([this]<class T>() {
      raw_.kinds[PathOf<T>()] = Fill<T>();
      return false;
    });
    AddedKinds::Any([this]<class T>() {
      raw_.kinds[PathOf<T>()] = Fill<T>();
      return false;
    });
    FeedOptions options{.config_map_namespace = "ns", .config_map_name = "bad"};
    options.stream_first = GetParam().way == Way::kStreamed;
    feed_ = std::make_unique<ClusterFeed>(options, world_, *client_, log_);
    AddedKinds::Any([this]<class T>() {
      KindCodec codec = CodecOf<T>();
      codec.json_only = kComesAsJson<T>;
      feed_->AddToWorld<T>(std::move(codec));
      return false;
    });
    feed_->Start();
  }

  template <class T>
  static std::string PathOf() {
    if constexpr (std::is_same_v<T, model::ConfigMap>) return "/api/v1/namespaces/ns/configmaps";
    return CodecOf<T>().path;
  }

  template <class T>
  RawServer::Kind Fill() {
    const Encoding encoding = kComesAsJson<T> ? Encoding::kJson : GetParam().encoding;
    const std::vector<T> three = Three<T>();
    RawServer::Kind kind;
    kind.content_type = encoding == Encoding::kJson ? kJson : kProtobuf;
    if (GetParam().way == Way::kListed) {
      kind.list = Spoil(encoding, ListOf<T>(encoding, three));
      return kind;
    }
    std::string events;
    for (const T& object : three) events += EventOf(encoding, model::WatchType::kAdded, object);
    kind.list = ListOf<T>(encoding, {});
    kind.watch = kind.initial = Spoil(encoding, events);
    T end;
    end.metadata.resource_version = "9";
    end.metadata.annotations["k8s.io/initial-events-end"] = "true";
    kind.initial += EventOf(encoding, model::WatchType::kBookmark, end);
    return kind;
  }

  bool AllSeen() const {
    return std::ranges::all_of(feed_->reflectors(), [](const auto& r) { return r->size() == 3; });
  }

  TestRig rig_;
  RawServer raw_;
  std::string lines_;
  Log log_{rig_.clock, [this](std::string_view line) { lines_ += line; }, LogFormat::kJson};
  cluster::World world_;
  std::unique_ptr<Credentials> credentials_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ClusterFeed> feed_;
};

TEST_P(UnreadableTest, OneBadObjectOfEachKindHidesNoOther) {
  ASSERT_TRUE(rig_.Until([this] { return feed_->synced() && AllSeen(); })) << feed_->Missing();
  ASSERT_EQ(feed_->reflectors().size(), kKinds);
  for (const auto& reflector : feed_->reflectors()) {
    SCOPED_TRACE(reflector->kind());
    EXPECT_EQ(reflector->size(), 3u);
    EXPECT_TRUE(reflector->trouble().ok()) << reflector->trouble();
    ASSERT_EQ(reflector->unreadable().size(), 1u);
    const auto& [name, why] = *reflector->unreadable().begin();
    EXPECT_THAT(name, testing::EndsWith("/bad"));
    EXPECT_THAT(why.what, testing::StartsWith("metadata.creationTimestamp: "));
    EXPECT_EQ(reflector->nameless(), 0u);
    const std::string said = "\"kind\":\"" + reflector->kind() + "\"";
    EXPECT_THAT(lines_, testing::HasSubstr(said));
  }
  EXPECT_EQ(feed_->Unreadable().size(), kKinds);
  EXPECT_THAT(feed_->StaleKinds(std::chrono::minutes(1)), "");
}

TEST_P(UnreadableTest, WhatIsLeftOfItIsInTheWorld) {
  ASSERT_TRUE(rig_.Until([this] { return feed_->synced() && AllSeen(); })) << feed_->Missing();
  const auto pod = world_.FindPod("ns", "bad");
  ASSERT_NE(pod, nullptr);
  EXPECT_TRUE(pod->metadata.unreadable);
  EXPECT_EQ(pod->metadata.uid, "uid-of-bad");
  EXPECT_EQ(pod->metadata.labels, (model::Labels{{"app", "bad"}}));
  EXPECT_FALSE(world_.FindPod("ns", "last")->metadata.unreadable);
  EXPECT_TRUE(world_.FindNode("bad")->metadata.unreadable);
  AddedKinds::Any([this]<class T>() {
    const std::string_view namespace_ = model::kKind<T>.namespaced ? "ns" : "";
    const auto bad = world_.objects<T>().Get(namespace_, "bad");
    EXPECT_TRUE(bad != nullptr && bad->metadata.unreadable && bad->metadata.uid == "uid-of-bad")
        << model::kKind<T>.kind;
    const auto last = world_.objects<T>().Get(namespace_, "last");
    EXPECT_TRUE(last != nullptr && !last->metadata.unreadable) << model::kKind<T>.kind;
    return false;
  });
  // It may protect any pod of its namespace, and so it does.
  const auto budget = world_.objects<model::PodDisruptionBudget>().Find("ns", "bad");
  ASSERT_NE(budget, nullptr);
  EXPECT_EQ(budget->spec.selector, model::LabelSelector{});
  EXPECT_EQ(budget->status.disruptions_allowed, 0);
  EXPECT_EQ(world_.objects<model::PodDisruptionBudget>().Find("ns", "last")->spec.selector,
            std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Ways, UnreadableTest,
                         testing::ValuesIn(std::vector<Case>{
                             {"JsonListed", Encoding::kJson, Way::kListed},
                             {"JsonWatched", Encoding::kJson, Way::kWatched},
                             {"JsonStreamed", Encoding::kJson, Way::kStreamed},
                             {"ProtobufListed", Encoding::kProtobuf, Way::kListed},
                             {"ProtobufWatched", Encoding::kProtobuf, Way::kWatched},
                             {"ProtobufStreamed", Encoding::kProtobuf, Way::kStreamed}}),
                         [](const auto& row) { return row.param.name; });

// What a real API server makes of `sizeLimit: 1e5000`.
TEST(UnreadableTest, AnAbsurdQuantityIsNoReasonAtAll) {
  const auto page = test::MustValue(ReadPage<model::Pod>(
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[)"
      R"({"metadata":{"name":"p"},"spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"100e4998"}}]}}]})"));
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_FALSE(page.items[0].unreadable);
}

TEST(UnreadableTest, ANodeThatCannotBeReadOffersNothing) {
  const auto page = test::MustValue(ReadPage<model::Node>(
      R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[)"
      R"({"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"4","memory":"lots"},"capacity":{"cpu":"4"}}}]})"));
  ASSERT_EQ(page.items.size(), 1u);
  ASSERT_TRUE(page.items[0].unreadable);
  EXPECT_EQ(page.items[0].unreadable->reason, "quantity");
  const auto& node = *std::static_pointer_cast<const model::Node>(page.items[0].object);
  EXPECT_TRUE(node.status.allocatable.empty());
  EXPECT_EQ(node.status.capacity.size(), 1u);
}

// What is made of it is up to who decides: its fields are as they were sent.
TEST(UnreadableTest, ABudgetWithAMalformedSelectorIsSaidToBeUnreadable) {
  const auto page = test::MustValue(ReadPage<model::PodDisruptionBudget>(
      R"({"kind":"PodDisruptionBudgetList","apiVersion":"policy/v1","metadata":{},"items":[)"
      R"({"metadata":{"name":"odd"},"spec":{"selector":{"matchExpressions":[{"key":"app","operator":"Like"}]}}},)"
      R"({"metadata":{"name":"good"},"spec":{"selector":{"matchLabels":{"app":"web"}}}}]})"));
  ASSERT_EQ(page.items.size(), 2u);
  ASSERT_TRUE(page.items[0].unreadable);
  EXPECT_EQ(page.items[0].unreadable->reason, "selector");
  EXPECT_THAT(page.items[0].unreadable->what, testing::StartsWith("spec.selector: "));
  const auto& odd =
      *std::static_pointer_cast<const model::PodDisruptionBudget>(page.items[0].object);
  EXPECT_TRUE(odd.metadata.unreadable);
  EXPECT_EQ(odd.spec.selector->match_expressions.size(), 1u);
  EXPECT_FALSE(page.items[1].unreadable);
}

}  // namespace
}  // namespace coppice::kube
