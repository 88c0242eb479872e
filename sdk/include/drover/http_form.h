// Where a method is answered in the HTTP API, by its declaration (drover/options.proto, Http). Pure. [any]
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drover {

class Http;

struct HttpForm {
  std::string path;                     // "/v1/job/{job_id=**}"; empty: the declaration names none
  std::vector<std::string_view> verbs;  // "PUT" before the others; callers of ours say the first
};

// That of this declaration alone; the further ones in `also` have forms of their own.
HttpForm http_form(const Http& declared);

}  // namespace drover
