// Every Kubernetes object that decisions need.
#pragma once

#include "model/meta.h"
#include "model/node.h"
#include "model/pod.h"
