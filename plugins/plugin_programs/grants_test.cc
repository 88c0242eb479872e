#include "grants.h"

#include <gtest/gtest.h>

#include "drover/abi_bytes.h"
#include "drover/v1/plugin_host.pb.h"
#include "resident_host.h"

namespace drover::plugin_programs {
namespace {

const std::string kList = "drover.v1.Nodes/List";

// A router that asks the gate, as the real one does, and answers with what it was asked.
class Echo final : public Caller {
 public:
  void call(CallContext, std::string, std::function<void(Result<Reply>)>) override {}
  Result<Reply> call_and_wait(CallContext context, std::string request) override {
    DROVER_RETURN_IF_ERROR(context.gate->admit(context.method));
    return Reply{.body = context.method + " " + request};
  }
  Result<std::unique_ptr<StreamCall>> open(CallContext, std::string, StreamReceiver) override {
    return unimplemented("no streams");
  }
};

// One call through the endpoint, as a plugin makes it.
struct Asked {
  std::string answer;
  int32_t code = -1;
  std::string text;
};
Asked ask(const ResidentHost& host, const std::string& method, const std::string& message) {
  const drover_endpoint endpoint = endpoint_of(host);
  Asked asked;
  const drover_stream replies{.self = &asked,
                              .push = [](void* self, drover_bytes bytes) -> int32_t {
                                static_cast<Asked*>(self)->answer = view_of(bytes);
                                return 1;
                              },
                              .end = [](void*) {},
                              .close =
                                  [](void* self, int32_t code, drover_bytes text) {
                                    static_cast<Asked*>(self)->code = code;
                                    static_cast<Asked*>(self)->text = view_of(text);
                                  }};
  const drover_request request{.size = sizeof(request), .method = bytes_of(method), .deadline_ns = 0};
  const drover_stream requests = endpoint.open(endpoint.self, &request, replies);
  (void)requests.push(requests.self, bytes_of(message));
  requests.end(requests.self);
  requests.close(requests.self, 0, {});
  return asked;
}

TEST(Grants, WhatWasNotGrantedIsRefusedWithTheLineToAddAndCounted) {
  Metrics metrics;
  Grants grants("acme", {kList}, metrics);

  EXPECT_TRUE(grants.admit("/" + kList).ok());
  EXPECT_TRUE(grants.admit(kList).ok());
  const Status refused = grants.admit("/drover.v1.Jobs/Register");

  EXPECT_EQ(permission_denied("plugin acme may not call drover.v1.Jobs/Register; the operator grants it with plugin "
                              "\"acme\" { grants = [\"drover.v1.Jobs/Register\"] }"),
            refused);
  EXPECT_EQ((std::map<std::string, uint64_t>{{kList, 2}}), grants.counts().used);
  EXPECT_EQ((std::map<std::string, uint64_t>{{"drover.v1.Jobs/Register", 1}}), grants.counts().refused);
}

TEST(Grants, RefusalsOfEverNewNamesTakeNoMoreMemory) {
  Metrics metrics;
  Grants grants("acme", {}, metrics);

  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(grants.admit("/a.B/" + std::to_string(i)).ok());

  const auto refused = grants.counts().refused;
  EXPECT_EQ(101u, refused.size());
  EXPECT_EQ(900u, refused.at("(others)"));
}

TEST(Grants, AMethodThatIsNotThereIsAnError) {
  const std::vector<std::string> known = {"/drover.v1.Nodes/List", "/drover.v1.Jobs/List"};

  EXPECT_TRUE(check_grants({kList, std::string(kLogMethod)}, known).ok());
  EXPECT_EQ(invalid_argument("grants: there is no method \"drover.v1.Nodes/Lst\"; did you mean "
                             "\"drover.v1.Nodes/List\"?"),
            check_grants({"drover.v1.Nodes/Lst"}, known));
}

TEST(ResidentHost, TheLogIsAGrantAsAnyOther) {
  Metrics metrics;
  v1::PluginLogLine line;
  line.set_message("hello");
  const ResidentHost with{.plugin = "acme",
                          .grants = std::make_shared<Grants>("acme", std::vector{std::string(kLogMethod)}, metrics)};
  const ResidentHost without{.plugin = "acme",
                             .grants = std::make_shared<Grants>("acme", std::vector<std::string>(), metrics)};
  const std::string method = "/" + std::string(kLogMethod);

  EXPECT_EQ(0, ask(with, method, line.SerializeAsString()).code);
  EXPECT_EQ(1u, with.grants->counts().used.at(std::string(kLogMethod)));
  EXPECT_EQ(static_cast<int32_t>(Code::permission_denied), ask(without, method, line.SerializeAsString()).code);
  EXPECT_EQ(static_cast<int32_t>(Code::invalid_argument), ask(with, method, "\xff\xff").code);
}

TEST(ResidentHost, OtherMethodsGoThroughTheRouterWhichAsksTheGate) {
  Metrics metrics;
  Echo router;
  const ResidentHost host{
      .plugin = "acme", .grants = std::make_shared<Grants>("acme", std::vector{kList}, metrics), .caller = &router};

  const Asked granted = ask(host, "/" + kList, "please");
  const Asked refused = ask(host, "/drover.v1.Jobs/Register", "please");

  EXPECT_EQ(0, granted.code) << granted.text;
  EXPECT_EQ("/" + kList + " please", granted.answer);
  EXPECT_EQ(static_cast<int32_t>(Code::permission_denied), refused.code);
  EXPECT_EQ("", refused.answer);
  EXPECT_EQ(1u, host.grants->counts().refused.at("drover.v1.Jobs/Register"));
}

}  // namespace
}  // namespace drover::plugin_programs
