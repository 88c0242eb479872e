#include "drover/serve.h"
#include "http_checks.h"

DROVER_CHECK_PROVIDER(drover::check_http::HttpChecks, "http", "check_http", "0.1.0");
