#include "wire/codec.h"
#include "wire/tables_workloads.h"

COPPICE_WIRE_KIND(coppice::model::Job);
COPPICE_WIRE_KIND(coppice::model::CronJob);
