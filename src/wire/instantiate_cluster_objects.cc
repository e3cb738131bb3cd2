#include "wire/codec.h"
#include "wire/tables_cluster_objects.h"

COPPICE_WIRE_KIND(coppice::model::Namespace);
COPPICE_WIRE_KIND(coppice::model::ConfigMap);
COPPICE_WIRE_KIND(coppice::model::Service);
COPPICE_WIRE_KIND(coppice::model::Lease);
COPPICE_WIRE_KIND(coppice::model::Event);
COPPICE_WIRE_KIND(coppice::model::EventsEvent);
