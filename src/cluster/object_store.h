// ObjectStore<T>: the objects of one kind, in list order and by name.
//
// List order is that of arrival: new ones come last, an update keeps its place, a deletion closes
// the gap. Who needs an answer that does not depend on it asks by name. Lookup is O(1); the order
// of names is worked out when it is asked for and something has changed since. Objects are
// immutable and shared; a pointer that Find() answers is good until the object is replaced or
// erased.
//
// ObjectStores: one store per type, made when first asked for. So an engine adds a kind by naming
// its type, and nobody below has to know it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/canonical.h"
#include "cluster/id_table.h"

namespace coppice::cluster {

class ObjectStores;

// A store of whatever kind.
class AnyObjectStore {
 public:
  virtual ~AnyObjectStore() = default;
  virtual void CopyInto(ObjectStores& others) const = 0;  // all objects into the store of that kind
};

template <class T>
class ObjectStore final : public AnyObjectStore {
 public:
  using Ptr = std::shared_ptr<const T>;

  // Puts `object` in, or replaces the one of the same name.
  const T& Upsert(Ptr object) {
    ++version_;
    const auto& meta = object->metadata;
    uint32_t slot = SlotOf(meta.namespace_, meta.name);
    if (slot == IdTable::kAbsent) {
      slot = static_cast<uint32_t>(entries_.size());
      names_.Insert(Hash(meta.namespace_, meta.name), slot);
      entries_.emplace_back();
    }
    entries_[slot] = std::move(object);
    return *entries_[slot];
  }
  const T& Upsert(T object) { return Upsert(std::make_shared<const T>(std::move(object))); }

  bool Erase(std::string_view namespace_, std::string_view name) {
    const uint32_t slot = SlotOf(namespace_, name);
    if (slot == IdTable::kAbsent) return false;
    ++version_;
    names_.Erase(Hash(namespace_, name), slot);
    entries_[slot] = nullptr;
    if (entries_.size() > 64 && size() * 2 < entries_.size()) Compact();
    return true;
  }

  // Null if absent. Objects of the cluster have no namespace.
  const T* Find(std::string_view namespace_, std::string_view name) const {
    const uint32_t slot = SlotOf(namespace_, name);
    return slot == IdTable::kAbsent ? nullptr : entries_[slot].get();
  }
  const T* Find(std::string_view name) const { return Find("", name); }
  // To keep.
  Ptr Get(std::string_view namespace_, std::string_view name) const {
    const uint32_t slot = SlotOf(namespace_, name);
    return slot == IdTable::kAbsent ? nullptr : entries_[slot];
  }

  // visit(const Ptr&), in list order.
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const Ptr& entry : entries_) {
      if (entry) visit(entry);
    }
  }
  // In order of namespace and name.
  template <class Visit>
  void ForEachByName(Visit visit) const {
    for (const uint32_t slot : ByName()) visit(entries_[slot]);
  }
  template <class Visit>
  void ForEachIn(std::string_view namespace_, Visit visit) const {
    const std::vector<uint32_t>& sorted = ByName();
    const auto namespace_of = [this](uint32_t slot) -> std::string_view {
      return entries_[slot]->metadata.namespace_;
    };
    auto it = std::ranges::lower_bound(sorted, namespace_, {}, namespace_of);
    for (; it != sorted.end() && namespace_of(*it) == namespace_; ++it) visit(entries_[*it]);
  }
  std::vector<Ptr> List() const {  // in list order
    std::vector<Ptr> all;
    all.reserve(size());
    ForEach([&](const Ptr& object) { all.push_back(object); });
    return all;
  }

  size_t size() const { return names_.size(); }
  uint64_t version() const { return version_; }  // grows with every change

  void CopyInto(ObjectStores& others) const override;

 private:
  static uint64_t Hash(std::string_view namespace_, std::string_view name) {
    return HashBytes(namespace_) * 31 + HashBytes(name);
  }
  uint32_t SlotOf(std::string_view namespace_, std::string_view name) const {
    return names_.Find(Hash(namespace_, name), [&](uint32_t slot) {
      const auto& meta = entries_[slot]->metadata;
      return meta.name == name && meta.namespace_ == namespace_;
    });
  }
  void Compact() {
    std::erase(entries_, nullptr);
    names_ = {};
    for (uint32_t slot = 0; slot < entries_.size(); ++slot) {
      const auto& meta = entries_[slot]->metadata;
      names_.Insert(Hash(meta.namespace_, meta.name), slot);
    }
  }
  const std::vector<uint32_t>& ByName() const {
    if (by_name_version_ == version_) return by_name_;
    by_name_version_ = version_;
    by_name_.clear();
    for (uint32_t slot = 0; slot < entries_.size(); ++slot) {
      if (entries_[slot]) by_name_.push_back(slot);
    }
    std::ranges::sort(by_name_, {}, [this](uint32_t slot) {
      const auto& meta = entries_[slot]->metadata;
      return std::tuple<std::string_view, std::string_view>(meta.namespace_, meta.name);
    });
    return by_name_;
  }

  std::vector<Ptr> entries_;  // null: deleted
  IdTable names_;             // to entries_
  uint64_t version_ = 0;
  mutable std::vector<uint32_t> by_name_;
  mutable uint64_t by_name_version_ = 0;
};

class ObjectStores {
 public:
  ObjectStores() = default;
  ObjectStores(const ObjectStores&) = delete;
  ObjectStores& operator=(const ObjectStores&) = delete;

  template <class T>
  ObjectStore<T>& Of() {
    for (const Kind& kind : kinds_) {  // some twenty
      if (kind.tag == &kTag<T>) return static_cast<ObjectStore<T>&>(*kind.store);
    }
    owned_.push_back(std::make_unique<ObjectStore<T>>());
    kinds_.push_back({&kTag<T>, owned_.back().get()});
    return static_cast<ObjectStore<T>&>(*owned_.back());
  }
  // The store of its kind is this one, which somebody else owns. Before anybody asks for it.
  template <class T>
  void Adopt(ObjectStore<T>& store) {
    kinds_.push_back({&kTag<T>, &store});
  }
  void CopyInto(ObjectStores& others) const {
    for (const Kind& kind : kinds_) kind.store->CopyInto(others);
  }

 private:
  template <class T>
  static inline char kTag = 0;  // its address stands for the type
  struct Kind {
    const void* tag;
    AnyObjectStore* store;
  };
  std::vector<Kind> kinds_;
  std::vector<std::unique_ptr<AnyObjectStore>> owned_;
};

template <class T>
void ObjectStore<T>::CopyInto(ObjectStores& others) const {
  ObjectStore<T>& other = others.Of<T>();
  ForEach([&](const Ptr& object) { other.Upsert(object); });
}

}  // namespace coppice::cluster
