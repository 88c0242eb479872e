#include "drover/serve.h"
#include "jwt_method.h"

DROVER_AUTH_METHOD(drover::jwt::JwtMethod, "jwt", "jwt", "0.1.0");
