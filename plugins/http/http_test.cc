// From a request's text to a call and from a reply to an answer.
#include <google/protobuf/descriptor.h>
#include <zlib.h>

#include "drover/reply_meta.h"
#include "gtest/gtest.h"
#include "gzip.h"
#include "http_test.pb.h"
#include "request.h"
#include "routes.h"

namespace drover::api {
namespace {

namespace thing = drover::test::http;

Routes all_routes() {
  Routes routes;
  const auto* service = thing::ThingRequest::descriptor()->file()->service(0);
  for (int i = 0; i < service->method_count(); ++i) {
    const Status added = routes.add(*service->method(i));
    EXPECT_TRUE(added.ok()) << added.to_string();
  }
  return routes;
}

// --- routes ----------------------------------------------------------------------------------------------------------

// "Get id=7", "404" or "405".
std::string describe(const Match& match) {
  if (!match.binding) return match.path_known ? "405" : "404";
  std::string text = match.binding->method->name();
  for (const auto& [name, value] : match.parameters) text += " " + name + "=" + value;
  return text;
}

TEST(HttpRoutes, TheMostSpecificPathWins) {
  const Routes routes = all_routes();
  struct Case {
    const char* verb;
    const char* path;
    const char* found;
  };
  const Case cases[] = {
      {"GET", "/v1/test/thing/7", "Get id=7"},
      {"GET", "/v1/test/alias/7", "Get id=7"},
      {"GET", "/v1/test/thing/special", "Special"},
      {"GET", "/v1/test/thing/7/deep", "Deep id=7"},
      {"GET", "/v1/test/thing/a/b/c/deep", "Deep id=a/b/c"},
      {"GET", "/v1/test/thing/a/b", "Rest id=a/b"},
      {"GET", "/v1/test/thing/a/later", "404"},
      {"GET", "/v1/test/thing/a/b/not/yet", "404"},
      {"GET", "/v1/test/thing/later", "Get id=later"},
      {"GET", "/v1/test/thing/a/yet", "Rest id=a/yet"},
      {"PUT", "/v1/test/thing/7/deep", "405"},
      {"GET", "/v1/test/thing/a%2Fb", "Get id=a/b"},
      {"GET", "/v1/test/thing/a+b%20c", "Get id=a+b c"},
      {"PUT", "/v1/test/thing/7", "Write id=7"},
      {"POST", "/v1/test/thing/7", "Write id=7"},
      {"POST", "/v1/test/thing/special", "Write id=special"},
      {"DELETE", "/v1/test/thing/7", "Remove id=7"},
      {"GET", "/v1/test/names", "Names"},
      {"DELETE", "/v1/test/names", "Names"},
      {"GET", "/v1/test/thing/", "404"},
      {"GET", "/v1/test/thing", "404"},
      {"GET", "/v1/test/thing/%zz", "404"},
      {"GET", "/v1/test/thing/%2", "404"},
      {"GET", "/v1/nothing", "404"},
      {"GET", "", "404"},
      {"GET", "v1/test/names", "404"},
      {"GET", "/v1/test/part", "405"},
      {"POST", "/v1/test/part", "405"},
      {"PATCH", "/v1/test/thing/7", "405"},
      {"get", "/v1/test/names", "405"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.verb) + " " + c.path);
    EXPECT_EQ(describe(routes.find(c.verb, c.path)), c.found);
  }
}

TEST(HttpRoutes, AParameterTellsMethodsOfOnePathApart) {
  const Routes routes = all_routes();
  const auto found = [&](std::string_view query) { return describe(routes.find("GET", "/v1/test/kinds", query)); };
  EXPECT_EQ(found(""), "Ones");
  EXPECT_EQ(found("kind=one"), "Ones");
  EXPECT_EQ(found("kind=others"), "Ones");
  EXPECT_EQ(found("kind=other"), "Others");
  EXPECT_EQ(found("a=b&kind=oth%65r&c"), "Others");
  EXPECT_EQ(describe(routes.find("PUT", "/v1/test/kinds", "kind=other")), "405");
}

TEST(HttpRoutes, AMethodWithoutFormHasNoPath) {
  Routes routes;
  const auto* service = thing::ThingRequest::descriptor()->file()->service(0);

  EXPECT_TRUE(routes.add(*service->FindMethodByName("Inside")).ok());

  EXPECT_EQ(routes.size(), 0u);
}

TEST(HttpRoutes, AFormIsTakenOnce) {
  Routes routes = all_routes();
  const auto* service = thing::ThingRequest::descriptor()->file()->service(0);

  EXPECT_EQ(routes.add(*service->FindMethodByName("Text")).to_string(),
            "already_exists: drover.test.http.Web.Text: GET /v1/test/text is already answered by "
            "drover.test.http.Web.Text");
}

TEST(HttpRoutes, DamagedEscapesAreNotDecoded) {
  EXPECT_EQ(percent_decode("a%2Fb%2f"), "a/b/");
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
  EXPECT_EQ(percent_decode(""), "");
  for (const char* damaged : {"%", "%2", "a%2", "%2g", "%g2", "%%"}) {
    EXPECT_EQ(percent_decode(damaged), std::nullopt) << damaged;
  }
}

// --- requests --------------------------------------------------------------------------------------------------------

class HttpRequest : public ::testing::Test {
 protected:
  std::variant<Outgoing, Answer> prepare(Incoming incoming) { return to_call(incoming, routes_); }
  Outgoing outgoing(Incoming incoming) {
    auto prepared = prepare(incoming);
    if (auto* answer = std::get_if<Answer>(&prepared)) {
      ADD_FAILURE() << answer->status << " " << answer->body;
      return {};
    }
    return std::get<Outgoing>(std::move(prepared));
  }
  // "400 Invalid index"
  std::string refusal(Incoming incoming) {
    auto prepared = prepare(incoming);
    auto* answer = std::get_if<Answer>(&prepared);
    return answer ? std::to_string(answer->status) + " " + answer->body : "accepted";
  }
  static thing::ThingRequest request(const Outgoing& call) {
    thing::ThingRequest request;
    EXPECT_TRUE(request.ParseFromString(call.request));
    return request;
  }
  const Routes routes_ = all_routes();
};

TEST_F(HttpRequest, NamesTheMethodAndFillsTheRequest) {
  const Outgoing call = outgoing({.verb = "GET", .target = "/v1/test/thing/a%2Fb?count=3&all=true&unknown=1"});

  EXPECT_EQ(call.context.method, "/drover.test.http.Web/Get");
  EXPECT_EQ(request(call).id(), "a/b");
  EXPECT_EQ(request(call).count(), 3);
  EXPECT_TRUE(request(call).all());
  EXPECT_FALSE(call.pretty);
}

TEST_F(HttpRequest, CommonParametersBecomeQueryOptions) {
  const QueryOptions query =
      outgoing({.verb = "GET",
                .target = "/v1/test/names?region=mars&namespace=dev&prefix=a%20b&index=12&wait=10s&stale"
                          "&per_page=5&next_token=t&reverse=true",
                .token = "secret"})
          .context.query;

  EXPECT_EQ(query.region, "mars");
  EXPECT_EQ(query.name_space, "dev");
  EXPECT_EQ(query.prefix, "a b");
  EXPECT_EQ(query.min_index, 12u);
  EXPECT_EQ(query.max_wait, std::chrono::seconds(10));
  EXPECT_TRUE(query.stale);
  EXPECT_EQ(query.per_page, 5);
  EXPECT_EQ(query.next_token, "t");
  EXPECT_TRUE(query.reverse);
  EXPECT_EQ(query.token, "secret");
}

TEST_F(HttpRequest, AHeaderFillsAMapWhereTheFormAsksForIt) {
  const auto with = [](std::string_view text) {
    return Incoming{.verb = "DELETE", .target = "/v1/test/thing/7", .header = [text](std::string_view name) {
                      return name == "X-Things" ? text : std::string_view();
                    }};
  };
  const auto texts = [&](std::string_view text) {
    const auto filled = request(outgoing(with(text))).texts();
    return std::map<std::string, std::string>(filled.begin(), filled.end());
  };
  using Texts = std::map<std::string, std::string>;
  EXPECT_EQ(texts(""), Texts());
  EXPECT_EQ(texts("user=me"), (Texts{{"user", "me"}}));
  EXPECT_EQ(texts("user=me, key=a=b==,empty="), (Texts{{"user", "me"}, {"key", "a=b=="}, {"empty", ""}}));
  for (const char* damaged : {"user", "=me", "user=me,,"})
    EXPECT_EQ(refusal(with(damaged)), "400 the header X-Things is not of the form key=value,key=value") << damaged;
}

TEST_F(HttpRequest, TheNamespaceIsDefaultUnlessSaid) {
  EXPECT_EQ(outgoing({.verb = "GET", .target = "/v1/test/names"}).context.query.name_space, "default");
  EXPECT_EQ(outgoing({.verb = "GET", .target = "/v1/test/names?namespace=*"}).context.query.name_space, "*");
}

TEST_F(HttpRequest, TheTokenStandsInOneOfTwoHeaders) {
  const auto token = [&](std::string_view own, std::string_view authorization) {
    return outgoing({.verb = "GET", .target = "/v1/test/names", .token = own, .authorization = authorization})
        .context.query.token;
  };

  EXPECT_EQ(token("", "Bearer secret"), "secret");
  EXPECT_EQ(token("", "bEARER secret"), "secret");
  EXPECT_EQ(token("mine", "Bearer other"), "mine");
  EXPECT_EQ(token("", "Basic secret"), "");
  EXPECT_EQ(token("", "secret"), "");
}

TEST_F(HttpRequest, BadParametersAreNamed) {
  struct Case {
    const char* query;
    const char* answer;
  };
  const Case cases[] = {
      {"index=x", "400 Invalid index"},
      {"index=-1", "400 Invalid index"},
      {"index=", "400 Invalid index"},
      {"index=99999999999999999999999", "400 Invalid index"},
      {"wait=soon", "400 Invalid wait time"},
      {"stale=maybe", "400 Failed to parse value of \"stale\" (maybe) as a bool"},
      {"per_page=many", "400 Failed to parse value of \"per_page\" (many) as a number"},
      {"per_page=-1", "400 Failed to parse value of \"per_page\" (-1) as a number"},
      {"prefix=%zz", "400 the query \"prefix=%zz\" has a damaged escape"},
      {"", "accepted"},
      {"&&=&", "accepted"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.query);
    EXPECT_EQ(refusal({.verb = "GET", .target = "/v1/test/names?" + std::string(c.query)}), c.answer);
  }
  EXPECT_TRUE(refusal({.verb = "GET", .target = "/v1/test/names?count=x"}).starts_with("400 "));
}

TEST_F(HttpRequest, StaleTakesEveryFormOfABoolean) {
  for (const auto& [text, is_stale] : std::initializer_list<std::pair<const char*, bool>>{{"", true},
                                                                                          {"1", true},
                                                                                          {"t", true},
                                                                                          {"T", true},
                                                                                          {"true", true},
                                                                                          {"TRUE", true},
                                                                                          {"True", true},
                                                                                          {"0", false},
                                                                                          {"f", false},
                                                                                          {"F", false},
                                                                                          {"false", false},
                                                                                          {"FALSE", false},
                                                                                          {"False", false}}) {
    SCOPED_TRACE(text);
    EXPECT_EQ(outgoing({.verb = "GET", .target = "/v1/test/names?stale=" + std::string(text)}).context.query.stale,
              is_stale);
  }
}

TEST_F(HttpRequest, PathsOfNomadThatNothingAnswersSayWhy) {
  struct Case {
    const char* verb;
    const char* path;
    const char* answer;
  };
  const Case cases[] = {
      {"GET", "/v1/acl/policies", "400 ACL support disabled"},
      {"PUT", "/v1/acl/bootstrap", "400 ACL support disabled"},
      {"GET", "/v1/acl/token/self", "400 ACL support disabled"},
      {"GET", "/v1/quotas", "501 Nomad Enterprise only endpoint"},
      {"PUT", "/v1/quota/x", "501 Nomad Enterprise only endpoint"},
      {"GET", "/v1/quota-usages", "501 Nomad Enterprise only endpoint"},
      {"GET", "/v1/sentinel/policies", "501 Nomad Enterprise only endpoint"},
      {"GET", "/v1/recommendations", "501 Nomad Enterprise only endpoint"},
      {"GET", "/v1/operator/license", "501 Nomad Enterprise only endpoint"},
      {"GET", "/v1/var/", "400 missing variable path"},
      {"GET", "/v1/acls", "404 "},
  };
  for (const Case& c : cases) EXPECT_EQ(refusal({.verb = c.verb, .target = c.path}), c.answer) << c.path;
  EXPECT_TRUE(routes_.has_below("/v1/test"));
  EXPECT_FALSE(routes_.has_below("/v1/acl"));
}

TEST_F(HttpRequest, UnknownPathsAndVerbsAreRefused) {
  EXPECT_EQ(refusal({.verb = "GET", .target = "/v1/nothing"}), "404 ");
  EXPECT_EQ(refusal({.verb = "GET", .target = "/v1/test/part?x=1"}), "405 Invalid method");
}

TEST_F(HttpRequest, ABodyFillsTheRequestAndThePathWins) {
  const Outgoing call = outgoing({.verb = "PUT",
                                  .target = "/v1/test/thing/path?count=5",
                                  .body = R"({"ID": "body", "Count": 3, "Part": {"Name": "n"}})"});

  EXPECT_EQ(request(call).id(), "path");
  EXPECT_EQ(request(call).count(), 5);
  EXPECT_EQ(request(call).part().name(), "n");
}

TEST_F(HttpRequest, ABodyMayBeOneFieldOfTheRequest) {
  const Outgoing call = outgoing({.verb = "PUT", .target = "/v1/test/part", .body = R"({"Name": "n", "Size": 2})"});

  EXPECT_EQ(request(call).part().name(), "n");
  EXPECT_EQ(request(call).part().size(), 2);
}

TEST_F(HttpRequest, AnEmptyBodyIsRefusedUnlessItIsOptional) {
  EXPECT_EQ(refusal({.verb = "PUT", .target = "/v1/test/thing/7"}), "400 Request body is empty");
  EXPECT_EQ(refusal({.verb = "POST", .target = "/v1/test/maybe"}), "accepted");
}

TEST_F(HttpRequest, ABodyThatCannotBeReadIsNamedWithItsPlace) {
  const auto put = [&](std::string_view body) {
    return refusal({.verb = "PUT", .target = "/v1/test/thing/7", .body = body});
  };

  EXPECT_TRUE(put("{").starts_with("400 ")) << put("{");
  EXPECT_TRUE(put("[]").starts_with("400 ")) << put("[]");
  const std::string wrong = put(R"({"Part": {"Size": "big"}})");
  EXPECT_TRUE(wrong.starts_with("400 ")) << wrong;
  EXPECT_NE(wrong.find("Part.Size"), std::string::npos) << wrong;
}

// --- answers
// -----------------------------------------------------------------------------------------------------------

std::string header(const Answer& answer, std::string_view name) {
  for (const auto& [key, value] : answer.headers) {
    if (key == name) return value;
  }
  return "none";
}

class HttpAnswer : public HttpRequest {
 protected:
  Answer answer(std::string_view verb, std::string_view target, const thing::ThingReply& reply, ReplyMeta meta = {}) {
    return to_answer(outgoing({.verb = verb, .target = target}), Reply{reply.SerializeAsString(), std::move(meta)});
  }
};

TEST_F(HttpAnswer, IsTheMessageAsJson) {
  thing::ThingReply reply;
  reply.set_id("7");
  reply.set_count(3);

  const Answer a = answer("GET", "/v1/test/thing/7", reply,
                          {.index = 12, .last_contact = std::chrono::milliseconds(5), .known_leader = true});

  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body, R"({"ID":"7","Count":3})");
  EXPECT_EQ(a.content_type, "application/json");
  EXPECT_EQ(header(a, "X-Nomad-Index"), "12");
  EXPECT_EQ(header(a, "X-Nomad-LastContact"), "5");
  EXPECT_EQ(header(a, "X-Nomad-KnownLeader"), "true");
  EXPECT_EQ(header(a, "X-Nomad-NextToken"), "none");
}

TEST_F(HttpAnswer, WithoutIndexHasNoIndexHeaders) {
  EXPECT_EQ(header(answer("DELETE", "/v1/test/thing/7", {}), "X-Nomad-Index"), "none");
}

TEST_F(HttpAnswer, AReadHasAnIndexEvenOfNothing) {
  const Answer a = answer("GET", "/v1/test/thing/7", {}, {.next_token = "more"});

  EXPECT_EQ(header(a, "X-Nomad-Index"), "0");
  EXPECT_EQ(header(a, "X-Nomad-KnownLeader"), "false");
  EXPECT_EQ(header(a, "X-Nomad-NextToken"), "more");
  EXPECT_EQ(a.body, "{}");
}

TEST_F(HttpAnswer, WhatIsNotThereHasTheIndexToWaitFor) {
  const Outgoing call = outgoing({.verb = "GET", .target = "/v1/test/thing/7"});
  const ReplyMeta now = {.index = 12, .last_contact = std::chrono::milliseconds(5), .known_leader = true};

  const Answer missing = to_answer(call, with_meta(not_found("thing not found"), now));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(header(missing, "X-Nomad-Index"), "12");
  EXPECT_EQ(header(missing, "X-Nomad-LastContact"), "5");
  EXPECT_EQ(header(missing, "X-Nomad-KnownLeader"), "true");
  EXPECT_EQ(header(to_answer(call, with_meta(invalid_argument("x"), now)), "X-Nomad-Index"), "none");
  EXPECT_EQ(header(to_answer(call, not_found("x")), "X-Nomad-Index"), "none") << "nobody looked at the state";
}

TEST(StatusMeta, TravelsInTheDetailsUnlessSomethingElseDoes) {
  const auto meta = meta_of(with_meta(not_found("x"), {.index = 7, .last_contact = std::chrono::nanoseconds(9)}));
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->index, 7u);
  EXPECT_EQ(meta->last_contact.count(), 9);
  EXPECT_FALSE(meta->known_leader);
  const Status other = with_meta(with_http_status(not_found("x"), 409), {.index = 7});
  EXPECT_FALSE(meta_of(other));
  EXPECT_EQ(http_status_of(other), 409);
  for (const char* damaged : {"", "meta:", "meta:1", "meta:1,2", "meta:1,2,x", "meta:1,2,11x"}) {
    EXPECT_FALSE(meta_of(not_found("x").with_details(damaged))) << damaged;
  }
}

TEST_F(HttpAnswer, AListWithoutIndexSaysZero) {
  EXPECT_EQ(header(answer("GET", "/v1/test/names", {}), "X-Nomad-Index"), "0");
}

TEST_F(HttpAnswer, ABodyMaySayWhatTheHeadersSay) {
  const Answer a = answer("GET", "/v1/test/told", {},
                          {.index = 12, .last_contact = std::chrono::milliseconds(5), .known_leader = true});

  EXPECT_EQ(a.body, R"({"Index":12,"LastContact":5000000,"KnownLeader":true})");
}

TEST_F(HttpAnswer, ATokenBeginsNoHeaderOfItsOwn) {
  const Answer a = answer("GET", "/v1/test/thing/7", {}, {.next_token = "default.a\r\nX-Other: b"});

  EXPECT_EQ(header(a, "X-Nomad-NextToken"), "default.a  X-Other: b");
}

TEST_F(HttpAnswer, IsPrettyWhenAsked) {
  thing::ThingReply reply;
  reply.set_id("7");

  EXPECT_EQ(answer("GET", "/v1/test/thing/7?pretty", reply).body, "{\n    \"ID\": \"7\"\n}\n");
  EXPECT_EQ(answer("GET", "/v1/test/thing/7?pretty=0", reply).body, R"({"ID":"7"})");
}

TEST_F(HttpAnswer, MayBeOneFieldOfTheMessage) {
  thing::ThingReply reply;
  reply.add_names("a");
  reply.add_names("b");

  EXPECT_EQ(answer("GET", "/v1/test/names", reply).body, R"(["a","b"])");
  EXPECT_EQ(answer("GET", "/v1/test/names", {}).body, "null");
}

TEST_F(HttpAnswer, MayBeEmpty) {
  thing::ThingReply reply;
  reply.set_id("7");

  const Answer a = answer("DELETE", "/v1/test/thing/7", reply);

  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body, "");
  EXPECT_EQ(a.content_type, "");
}

TEST_F(HttpAnswer, MayBeText) {
  thing::ThingReply reply;
  reply.set_text("metric 1\n");
  EXPECT_EQ(answer("GET", "/v1/test/text", reply).body, "metric 1\n");
  EXPECT_TRUE(answer("GET", "/v1/test/text", reply).content_type.starts_with("text/plain"));

  reply.clear_text();
  reply.set_count(1);
  EXPECT_EQ(answer("GET", "/v1/test/text", reply).body, R"({"Count":1})");
}

TEST_F(HttpAnswer, AnErrorHasItsStatusAndItsText) {
  const std::pair<Status, int> cases[] = {
      {invalid_argument("x"), 400},
      {permission_denied("x"), 403},
      {not_found("x"), 404},
      {resource_exhausted("x"), 429},
      {unimplemented("x"), 501},
      {internal_error("x"), 500},
      {unavailable("x"), 500},
      {failed_precondition("x"), 500},
      {with_http_status(internal_error("x"), 409), 409},
  };
  for (const auto& [status, expected] : cases) {
    const Answer a = to_answer(outgoing({.verb = "GET", .target = "/v1/test/names"}), Result<Reply>(status));
    EXPECT_EQ(a.status, expected) << status.to_string();
    EXPECT_EQ(a.body, "x");
    EXPECT_TRUE(a.content_type.starts_with("text/plain"));
  }
}

TEST_F(HttpAnswer, AReplyThatIsNoMessageIsOurFault) {
  const Answer a =
      to_answer(outgoing({.verb = "GET", .target = "/v1/test/names"}), Reply{std::string("\xff\xff\xff"), {}});

  EXPECT_EQ(a.status, 500);
}

TEST_F(HttpAnswer, AFrameIsAnObjectOrRawBytes) {
  thing::Frame frame;
  frame.set_data("hello");
  frame.set_file("stdout");
  std::string out;

  EXPECT_TRUE(append_frame(outgoing({.verb = "GET", .target = "/v1/test/follow"}), frame.SerializeAsString(), out));
  EXPECT_EQ(out, R"({"Data":"aGVsbG8=","File":"stdout"})");
  out.clear();
  EXPECT_TRUE(
      append_frame(outgoing({.verb = "GET", .target = "/v1/test/follow?plain=true"}), frame.SerializeAsString(), out));
  EXPECT_EQ(out, "hello");
  EXPECT_FALSE(append_frame(outgoing({.verb = "GET", .target = "/v1/test/follow"}), "\xff", out));
}

// --- gzip
// --------------------------------------------------------------------------------------------------------------

std::string gunzip(const std::string& bytes, size_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return "inflateInit2 failed";
  std::string out(size + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int end = inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return end == Z_STREAM_END ? out : "damaged";
}

TEST(HttpGzip, CanBeReadBack) {
  std::string noise;
  uint32_t state = 1;
  for (int i = 0; i < 100000; ++i) noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (const std::string& body : {std::string(), std::string("x"), std::string(1 << 20, 'a'), noise}) {
    EXPECT_EQ(gunzip(gzip(body), body.size()), body);
  }
}

}  // namespace
}  // namespace drover::api
