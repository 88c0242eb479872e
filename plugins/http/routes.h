// Which method answers which verb and path. Derived from the declarations of the methods (drover.http). Pure; constant
// once built.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/options.pb.h"
#include "drover/result.h"

namespace google::protobuf {
class MethodDescriptor;
}

namespace drover::api {

struct Binding {
  const google::protobuf::MethodDescriptor* method = nullptr;
  Http form;
};

struct Match {
  const Binding* binding = nullptr;               // null: see `path_known`
  bool path_known = false;                        // the path exists, with another verb
  std::map<std::string, std::string> parameters;  // request field → decoded part of the path
};

// A verb and a path, "/v1/job/{job_id}", and the method that answers there.
struct Form {
  std::string verb;
  std::string path;
  std::string query;                // a parameter without which the method does not answer, "type=host"
  std::vector<std::string> fields;  // of the request, that the path fills
  const Binding* binding = nullptr;
};

class Routes {
 public:
  // Adds every HTTP form of the method, if it has one. Errors: a form that another method has; a field that the request
  // does not have.
  Status add(const google::protobuf::MethodDescriptor& method);
  // The most specific path wins: literal parts before fields, longer before shorter; then what asks for a parameter of
  // the query, "a=b&c", before what asks for none.
  Match find(std::string_view verb, std::string_view path, std::string_view query = {}) const;
  // True when some path begins with these literal parts and goes on.
  bool has_below(std::string_view path) const;
  size_t size() const { return patterns_.size(); }
  // All of them; those of a path stand together. They point into this object.
  std::vector<Form> forms() const;

 private:
  struct Part {
    std::string literal;  // or
    std::string field;
    bool rest = false;  // the field takes slashes as well
  };
  using ByQuery = std::map<std::string, Binding, std::greater<>>;  // by the parameter; "" comes last
  struct Pattern {
    std::vector<Part> parts;
    std::map<std::string, ByQuery, std::less<>> by_verb;
    std::vector<std::vector<std::string>> reserved;  // endings that its last field, one with slashes, never takes
  };
  Status add_form(const google::protobuf::MethodDescriptor& method, const Http& form);
  static bool matches(const std::vector<Part>& parts, const std::vector<std::string_view>& segments,
                      std::map<std::string, std::string>& parameters);
  static const Binding* choose(const ByQuery& bindings, std::string_view query);
  static bool is_reserved(const Pattern& pattern, const std::vector<std::string_view>& segments);
  static bool more_specific(const Pattern& a, const Pattern& b);

  std::vector<Pattern> patterns_;  // the most specific first
};

// "%2F" → "/", "+" stays. Nothing when an escape is damaged.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

}  // namespace drover::api
