// The rules by which a service or a check gets its address and port. Pure.
#pragma once

#include "drover/resolved_service.h"

namespace drover {

struct AddressWish {
  const std::string& address;  // the job's own; empty: none
  const std::string& mode;     // empty: auto
  const std::string& port;     // a label or a number; empty: none
};

// May give an empty address: nothing says which. Errors: invalid_argument; failed_precondition for a network that is
// not there.
Result<ServiceAddress> service_address(const AddressWish& wish, const ServicePlace& place);

}  // namespace drover
