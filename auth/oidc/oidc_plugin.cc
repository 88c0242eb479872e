#include "drover/serve.h"
#include "oidc_method.h"

DROVER_AUTH_METHOD(drover::oidc::OidcMethod, "oidc", "oidc", "0.1.0");
