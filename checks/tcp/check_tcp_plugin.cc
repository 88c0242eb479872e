#include "drover/serve.h"
#include "tcp_checks.h"

DROVER_CHECK_PROVIDER(drover::check_tcp::TcpChecks, "tcp", "check_tcp", "0.1.0");
