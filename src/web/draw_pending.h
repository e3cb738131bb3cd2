// DrawPending: pods that wait, by what they ask for, with what was last said of them (picture.h).

#pragma once

#include "web/picture.h"

namespace coppice::web {

void DrawPending(const Seen& seen, const ToldPods& told, Picture& picture);

}  // namespace coppice::web
