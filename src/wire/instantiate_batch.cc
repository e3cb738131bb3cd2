#include "wire/codec.h"
#include "wire/tables_batch.h"

COPPICE_WIRE_KIND(coppice::model::HyperNode);
COPPICE_WIRE_KIND(coppice::model::PodGroup);
COPPICE_WIRE_KIND(coppice::model::Queue);
COPPICE_WIRE_KIND(coppice::model::ResourceQuota);
