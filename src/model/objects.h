// Every Kubernetes object that decisions need, as plain values. kinds.h has their names in the API.

#pragma once

#include "model/api.h"
#include "model/cluster_objects.h"
#include "model/dra.h"
#include "model/meta.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/policy.h"
#include "model/storage.h"
#include "model/workloads.h"
