#include "rpc/answer_cache.h"

#include <utility>

#include "rpc/messages.h"

namespace coppice::rpc {

std::shared_ptr<const AnswerCache::Listing> AnswerCache::CurrentListing() {
  const uint64_t version = groups_.Version();
  std::shared_ptr<const Listing> before;
  {
    const MutexLock lock(mutex_);
    if (version != 0 && listing_version_ == version) return listing_;
    before = listing_;
  }
  std::vector<cloud::GroupInfo> infos = groups_.Groups();
  std::shared_ptr<const Listing> listing = before;
  if (before == nullptr || infos != before->infos) {
    auto made = std::make_shared<Listing>();
    made->all = std::make_shared<const std::string>(SerializeGroups(infos));
    for (const cloud::GroupInfo& info : infos) {
      made->of_node.emplace(info.id,
                            std::make_shared<const std::string>(SerializeGroupOfNode(info)));
    }
    made->infos = std::move(infos);
    listing = std::move(made);
  }
  if (version == 0) return listing;
  const MutexLock lock(mutex_);
  if (listing_version_ < version) {
    listing_version_ = version;
    listing_ = listing;
  }
  return listing;
}

grpc::Answer AnswerCache::PerGroup(TextByGroup Kept::* kept, std::string_view group,
                                   const std::function<Result<std::string>()>& make) {
  const uint64_t version = groups_.Version();
  if (version != 0) {
    const MutexLock lock(mutex_);
    if (kept_.version == version) {
      const TextByGroup& texts = kept_.*kept;
      if (const auto it = texts.find(group); it != texts.end()) return grpc::Bytes(it->second);
    }
  }
  auto made = make();
  if (!made.ok()) return made.status();
  auto text = std::make_shared<const std::string>(std::move(made).value());
  if (version != 0) {
    const MutexLock lock(mutex_);
    if (kept_.version < version) kept_ = Kept{.version = version};
    if (kept_.version == version) (kept_.*kept).insert_or_assign(std::string(group), text);
  }
  return grpc::Bytes(std::move(text));
}

grpc::Bytes AnswerCache::NoGroup() { return SerializeGroupOfNode({}); }

grpc::Bytes AnswerCache::NodeGroups() { return CurrentListing()->all; }

grpc::Bytes AnswerCache::GroupOfNode(std::string_view group) {
  const auto listing = CurrentListing();
  const auto it = listing->of_node.find(group);
  return it == listing->of_node.end() ? NoGroup() : grpc::Bytes(it->second);
}

grpc::Answer AnswerCache::Nodes(std::string_view group) {
  return PerGroup(&Kept::nodes, group, [&]() -> Result<std::string> {
    return SerializeInstances(TRY(groups_.Instances(group)));
  });
}

grpc::Answer AnswerCache::Template(std::string_view group) {
  return PerGroup(&Kept::templates, group, [&]() -> Result<std::string> {
    const auto node = TRY(groups_.Template(group));
    if (node == nullptr)
      return Unimplemented("no template is known for node group '" + std::string(group) + "'");
    return SerializeTemplate(*node);
  });
}

}  // namespace coppice::rpc
