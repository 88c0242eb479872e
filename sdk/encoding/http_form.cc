#include "drover/http_form.h"

#include "drover/options.pb.h"

namespace drover {

HttpForm http_form(const Http& declared) {
  switch (declared.pattern_case()) {
    case Http::kGet:
      return {declared.get(), {"GET"}};
    case Http::kWrite:
      return {declared.write(), {"PUT", "POST"}};
    case Http::kPut:
      return {declared.put(), {"PUT"}};
    case Http::kPost:
      return {declared.post(), {"POST"}};
    case Http::kDelete:
      return {declared.delete_(), {"DELETE"}};
    case Http::kAny:
      return {declared.any(), {"PUT", "POST", "DELETE", "GET"}};
    case Http::PATTERN_NOT_SET:
      break;
  }
  return {};
}

}  // namespace drover
