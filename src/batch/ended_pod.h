// EndedPod: a pod with phase Succeeded or Failed. They are not in the World among the pods, for
// nobody else wants them; those that belong to a group are kept as objects of this kind, for a gang
// counts those that are done.

#pragma once

#include "model/pod.h"

namespace coppice::batch {

struct EndedPod : model::Pod {};

}  // namespace coppice::batch
