#include "wire/codec.h"
#include "wire/tables_workloads.h"

COPPICE_WIRE_KIND(coppice::model::DaemonSet);
COPPICE_WIRE_KIND(coppice::model::ReplicaSet);
COPPICE_WIRE_KIND(coppice::model::ReplicationController);
COPPICE_WIRE_KIND(coppice::model::Deployment);
COPPICE_WIRE_KIND(coppice::model::StatefulSet);
