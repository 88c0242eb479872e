#include "drover/serve.h"
#include "health_checks.h"

DROVER_CHECK_PROVIDER(drover::check_grpc::GrpcChecks, "grpc", "check_grpc", "0.1.0");
