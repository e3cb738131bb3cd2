// YAML 1.1's types as Go's yaml.v2 gives them to a value without a type of its own.

#pragma once

#include "base/status.h"
#include "base/yaml.h"
#include "batch/arguments.h"

namespace coppice::batch {

// 1_000, 0x1f, 017 and 0b11 are ints; 1., .5, 1e3 and .inf floats; y, yes, on, True bools; ~ and
// nothing null; a date is a text. !!float 3 is a float; an error: a tag that the text belies.
Result<ArgumentValue> ToArgument(const yaml::Node& node);

}  // namespace coppice::batch
