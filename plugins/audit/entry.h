// One line of the audit log. Pure. [any]
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/http_form.h"
#include "drover/methods.h"

namespace google::protobuf {
class MethodDescriptor;
}

namespace drover::audit {

// A method of the HTTP API: what others are told of it, and what its requests are about.
struct Audited {
  std::string service, name;    // "Jobs", "Register"
  std::vector<HttpForm> forms;  // at least one
  const google::protobuf::MethodDescriptor* method = nullptr;
};

// Nothing for a method without a form in the HTTP API: agents call it, not people.
std::optional<Audited> audited(const google::protobuf::MethodDescriptor& method);

// Leaves out what it matches: one of the endpoints ("/v1/metrics", with "*" at the end for all below; a path part in
// braces stands as it is declared) and one of the operations, where it names any.
struct Filter {
  std::vector<std::string> endpoints, operations;
  bool leaves_out(const HttpForm& form) const;
};

// The parts of the request that say what it is about: what paths name, and the names and identifiers of what is
// written. Never a secret, nor a text of any length.
std::map<std::string, std::string> object_of(const Audited& what, std::string_view request);

// A JSON object and a line feed. `now_ns`: since 1970.
std::string line_of(const Audited& what, const CallContext& context, std::string_view request, const Status& outcome,
                    const std::string& region, int64_t now_ns);

}  // namespace drover::audit
