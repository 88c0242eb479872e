// A thing is said once: what every method declares, read from the .proto files themselves.
#include <google/protobuf/descriptor.h>

#include <map>
#include <memory>

#include "drover/http_form.h"
#include "drover/options.pb.h"
#include "gtest/gtest.h"
#include "tests/architecture/source_tree.h"
#include "tests/support/proto_folders.h"

namespace drover::architecture {
namespace {

namespace pb = google::protobuf;
using Folder = drover::testing::ProtoFolder;

std::vector<std::unique_ptr<Folder>> all_folders() {
  return drover::testing::all_proto_folders(PROTOC, DROVER_SOURCE_ROOT);
}

// Everything wrong with what these files declare.
class Check {
 public:
  void folder(const Folder& folder) {
    if (!folder.problems().empty()) problems.push_back(folder.label() + ": " + folder.problems());
    for (const auto* file : folder.files()) {
      for (int i = 0; i < file->message_type_count(); ++i) claim(folder.label(), file->message_type(i)->full_name());
      for (int i = 0; i < file->enum_type_count(); ++i) claim(folder.label(), file->enum_type(i)->full_name());
      for (int i = 0; i < file->service_count(); ++i) service(folder.label(), *file->service(i));
    }
  }

  std::vector<std::string> problems;
  int methods = 0;
  int paths = 0;

 private:
  void claim(const std::string& label, const std::string& name) {
    auto [at, is_new] = owners_.emplace(name, label);
    if (!is_new) problems.push_back(name + " is declared by " + at->second + " and by " + label);
  }

  void service(const std::string& label, const pb::ServiceDescriptor& service) {
    claim(label, service.full_name());
    if (!drover::testing::is_routed(service)) return;
    for (int i = 0; i < service.method_count(); ++i) {
      ++methods;
      const pb::MethodDescriptor& method = *service.method(i);
      const Route& route = method.options().GetExtension(drover::route);
      if (route.target() == Route::TARGET_UNSPECIFIED)
        problems.push_back(method.full_name() + ": its route has no target");
      if (route.kind() == Route::KIND_UNSPECIFIED) problems.push_back(method.full_name() + ": its route has no kind");
      for (const std::string& field : {route.node_field(), route.alloc_field(), route.server_field()}) {
        if (!field.empty() && !method.input_type()->FindFieldByName(field))
          problems.push_back(method.full_name() + ": its route names " + field + ", no field of the request");
      }
      if (!route.server_field().empty() && route.target() != Route::LOCAL)
        problems.push_back(method.full_name() + ": its route names a server, and is none of an agent's own methods");
      if (!says_who(method.options().GetExtension(drover::access)))
        problems.push_back(method.full_name() + ": has no access rule");
      if (method.options().HasExtension(drover::http)) form(method, method.options().GetExtension(drover::http));
    }
  }

  // A rule that is set, and not to an enumeration's zero.
  static bool says_who(const Access& access) {
    const pb::OneofDescriptor* rule = Access::descriptor()->FindOneofByName("rule");
    const pb::FieldDescriptor* field = access.GetReflection()->GetOneofFieldDescriptor(access, rule);
    return field && (!field->enum_type() || access.GetReflection()->GetEnumValue(access, field) != 0);
  }

  void form(const pb::MethodDescriptor& method, const Http& http) {
    const auto [path, verbs] = http_form(http);
    if (path.empty()) {
      problems.push_back(method.full_name() + ": its HTTP form has no path");
      return;
    }
    if (!path.starts_with("/v1/") && !path.starts_with("/.well-known/"))  // RFC 8615
      problems.push_back(method.full_name() + ": " + path + " is below neither /v1/ nor /.well-known/");
    // Two paths that differ in the names of their fields only are the same.
    std::string shape;
    for (const std::string& segment : split(path, '/')) {
      if (!segment.starts_with('{')) {
        shape += "/" + segment;
        continue;
      }
      shape += segment.ends_with("=**}") ? "/{**}" : "/{}";
      const std::string field = segment.substr(1, segment.find_first_of("=}") - 1);
      if (!method.input_type()->FindFieldByName(field))
        problems.push_back(method.full_name() + ": " + path + " names " + field + ", no field of the request");
    }
    for (const std::string_view verb : verbs) {
      ++paths;
      auto [known, is_new] = forms_.emplace(std::string(verb) + " " + shape + "?" + http.query(), method.full_name());
      if (!is_new)
        problems.push_back(method.full_name() + ": " + std::string(verb) + " " + path + " is already answered by " + known->second);
    }
    for (const std::string& field : {http.body() == "*" ? std::string() : http.body()}) {
      if (!field.empty() && !method.input_type()->FindFieldByName(field))
        problems.push_back(method.full_name() + ": its body is " + field + ", no field of the request");
    }
    if (!http.reply().empty() && !method.output_type()->FindFieldByName(http.reply()))
      problems.push_back(method.full_name() + ": its reply is " + http.reply() + ", no field of the response");
    if (http.content() == Http::TEXT && !method.output_type()->FindFieldByName("text"))
      problems.push_back(method.full_name() + ": answers text, and its response has no field text");
    const bool is_stream = http.content() == Http::FRAMES || http.content() == Http::BYTES || http.upload();
    if (is_stream != method.server_streaming())
      problems.push_back(method.full_name() +
                         ": frames, bytes and uploads are the forms of a stream, and of nothing else");
    if (http.content() == Http::BYTES && !method.output_type()->FindFieldByName("data"))
      problems.push_back(method.full_name() + ": answers bytes, and its response has no field data");
    if (http.upload() && !(method.client_streaming() && method.input_type()->FindFieldByName("data")))
      problems.push_back(method.full_name() + ": takes an upload, and its request is no stream of data");
    for (const Http& further : http.also()) form(method, further);
  }

  std::map<std::string, std::string> owners_;
  std::map<std::string, std::string> forms_;
};

TEST(Declarations, EveryMethodSaysWhereItGoesAndWhoMayCallIt) {
  Check check;

  for (const auto& folder : all_folders()) check.folder(*folder);

  EXPECT_GT(check.methods, 30);
  EXPECT_GT(check.paths, 30);
  EXPECT_EQ(lines(check.problems), "");
}

// A .proto given as text, with the options of the SDK around it.
class Declared {
 public:
  explicit Declared(const std::string& body) {
    std::ofstream(place_.path() / "x.proto") << "syntax = \"proto3\";\npackage x;\nimport \"drover/options.proto\";\n"
                                             << body;
    read_ = std::make_unique<Folder>(PROTOC, DROVER_SOURCE_ROOT, place_.path(), "x", std::vector<std::string>{"x.proto"});
  }
  std::string problems() const {
    Check check;
    check.folder(*read_);
    return lines(check.problems);
  }
  const Folder& folder() const { return *read_; }

 private:
  drover::testing::TemporaryFolder place_;
  std::unique_ptr<Folder> read_;
};

constexpr const char* kMessages = "message Q { string id = 1; }\nmessage A { string data = 1; }\n";

std::string method(const std::string& name, const std::string& options, const std::string& reply = "A") {
  return "rpc " + name + "(Q) returns (" + reply + ") { " + options + " }\n";
}

constexpr const char* kRoute = "option (drover.route) = { target: LEADER kind: WRITE }; ";
constexpr const char* kAccess = "option (drover.access) = { anyone: true }; ";

TEST(Declarations, TellWhatIsMissing) {
  const std::string both = std::string(kRoute) + kAccess;
  struct Case {
    const char* name;
    std::string methods;
    const char* problem;
  };
  const Case cases[] = {
      {"all is there", method("Do", both), ""},
      {"no route", method("Do", kAccess), "x.S.Do: its route has no target\nx.S.Do: its route has no kind\n"},
      {"no kind", method("Do", std::string("option (drover.route) = { target: ANY }; ") + kAccess),
       "x.S.Do: its route has no kind\n"},
      {"no access", method("Do", kRoute), "x.S.Do: has no access rule\n"},
      {"access that says nothing",
       method("Do", std::string(kRoute) + "option (drover.access) = { namespace: CAPABILITY_UNSPECIFIED };"),
       "x.S.Do: has no access rule\n"},
      {"a node field that is none",
       method("Do",
              std::string("option (drover.route) = { target: NODE kind: READ node_field: \"node\" }; ") + kAccess),
       "x.S.Do: its route names node, no field of the request\n"},
      {"a server field that is none",
       method("Do",
              std::string("option (drover.route) = { target: LOCAL kind: ACT server_field: \"server\" }; ") + kAccess),
       "x.S.Do: its route names server, no field of the request\n"},
      {"a server field of a method that goes elsewhere",
       method("Do", std::string("option (drover.route) = { target: ANY kind: ACT server_field: \"id\" }; ") + kAccess),
       "x.S.Do: its route names a server, and is none of an agent's own methods\n"},
      {"one path twice",
       method("Do", both + "option (drover.http) = { get: \"/v1/x/{id}\" };") +
           method("Go", both + "option (drover.http) = { get: \"/v1/x/{id}\" };"),
       "x.S.Go: GET /v1/x/{id} is already answered by x.S.Do\n"},
      {"one path with two verbs",
       method("Do", both + "option (drover.http) = { get: \"/v1/x\" };") +
           method("Go", both + "option (drover.http) = { delete: \"/v1/x\" };"),
       ""},
      {"write takes PUT and POST",
       method("Do", both + "option (drover.http) = { write: \"/v1/x\" };") +
           method("Go", both + "option (drover.http) = { put: \"/v1/x\" };"),
       "x.S.Go: PUT /v1/x is already answered by x.S.Do\n"},
      {"a further form", method("Do", both + "option (drover.http) = { get: \"/v1/x\" also: { get: \"/v1/x\" } };"),
       "x.S.Do: GET /v1/x is already answered by x.S.Do\n"},
      {"a path field that is none", method("Do", both + "option (drover.http) = { get: \"/v1/x/{name}\" };"),
       "x.S.Do: /v1/x/{name} names name, no field of the request\n"},
      {"a path outside the API", method("Do", both + "option (drover.http) = { get: \"/x\" };"),
       "x.S.Do: /x is below neither /v1/ nor /.well-known/\n"},
      {"frames of one answer", method("Do", both + "option (drover.http) = { get: \"/v1/x\" content: FRAMES };"),
       "x.S.Do: frames, bytes and uploads are the forms of a stream, and of nothing else\n"},
      {"bytes of a stream",
       method("Do", both + "option (drover.http) = { get: \"/v1/x\" content: BYTES };", "stream A"), ""},
      {"bytes without data",
       method("Do", both + "option (drover.http) = { get: \"/v1/x\" content: BYTES };", "stream Q"),
       "x.S.Do: answers bytes, and its response has no field data\n"},
      {"an upload of one request",
       method("Do", both + "option (drover.http) = { put: \"/v1/x\" upload: true };", "stream A"),
       "x.S.Do: takes an upload, and its request is no stream of data\n"},
      {"frames of a stream",
       method("Do", both + "option (drover.http) = { get: \"/v1/x\" content: FRAMES };", "stream A"), ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Declared(kMessages + std::string("service S {\n") + c.methods + "}\n").problems(), c.problem);
  }
}

TEST(Declarations, ANameBelongsToOneFolder) {
  const Declared one(kMessages);
  const Declared other("message Q {}\n");
  Check check;

  check.folder(one.folder());
  check.folder(other.folder());

  EXPECT_EQ(lines(check.problems), "x.Q is declared by x and by x\n");
}

TEST(Declarations, ACapabilityIsOneThatExists) {
  const auto problems = [](const std::string& capability) {
    return Declared(kMessages + std::string("service S {\n") +
                    method("Do", std::string(kRoute) + "option (drover.access) = { namespace: " + capability + " };") +
                    "}\n")
        .problems();
  };

  EXPECT_EQ(problems("SUBMIT_JOB"), "");
  EXPECT_NE(problems("SUBMIT_JOBS"), "");
  EXPECT_NE(problems("\"submit-job\""), "");
}

TEST(Declarations, AFileThatDoesNotCompileIsAProblem) { EXPECT_NE(Declared("message {\n").problems(), ""); }

}  // namespace
}  // namespace drover::architecture
