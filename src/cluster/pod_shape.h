// From a pod's object to what scheduling sees of it. Internal to the interner.

#pragma once

#include "cluster/canonical.h"
#include "cluster/shapes.h"

namespace coppice::cluster {

// Everything that ShapeOf reads. What is missing here would make two different shapes one.
void AddRaw(Canonical& bytes, const model::Pod& pod);
PodSpecShape ShapeOf(const model::Pod& pod);
void AddShape(Canonical& bytes, const PodSpecShape& shape);

// Every id of b is a's. Stricter than need be where a whole member is compared, never laxer: what
// AddRaw, Interner::Volumes and Interner::Eviction read is here.
bool HaveSameIds(const model::Pod& a, const model::Pod& b);

}  // namespace coppice::cluster
