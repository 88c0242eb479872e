// A typed call of the public API in its HTTP form, by the declaration of its method (drover.http): for clients in C++.
// The methods are in drover/api/methods.h. In libdrover_api. Pure. [any]
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace google::protobuf {
class Message;
}

namespace drover {

// The parameters of a query by name. A list has several of one name.
using QueryParameters = std::multimap<std::string, std::string>;

struct ApiRequest {
  std::string verb;
  std::string path;
  QueryParameters parameters;
  std::string body;
  std::map<std::string, std::string> headers = {};  // that the method declares; they may hold secrets
};

// The request of a method, "drover.v1.Jobs.List": its fields fill the path and the body, and those that are set the
// query. `further`: parameters that every call understands, such as "prefix". Requires: the method has an HTTP form.
ApiRequest api_request(const std::string& method, const google::protobuf::Message& request,
                       QueryParameters further = {});

// Reads the body of a method's answer. Errors: invalid_argument naming the place.
Status read_api_answer(const std::string& method, std::string_view body, google::protobuf::Message& answer);

// For a path or a query: "a/b" → "a%2Fb".
std::string percent_encode(std::string_view text);

}  // namespace drover
