// The keys of the gossip: what a step may do, the file, and a step on all servers.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "drover/api/members.pb.h"
#include "drover/read_all.h"
#include "gossip.pb.h"
#include "keys/key_rpc.h"
#include "keys/key_steps.h"
#include "keys/server_keys.h"
#include "sdk/testing/fake_host.h"

namespace drover::gossip {
namespace {

using Keys = std::vector<std::string>;

const std::string kOld = "AAAAAAAAAAAAAAAAAAAAAA==", kNew = "BBBBBBBBBBBBBBBBBBBBBA==",
                  kThird = "CCCCCCCCCCCCCCCCCCCCCA==";

constexpr auto kNone = drover::v1::GOSSIP_KEY_STEP_UNSPECIFIED, kList = drover::v1::GOSSIP_KEY_STEP_LIST,
               kInstall = drover::v1::GOSSIP_KEY_STEP_INSTALL, kUse = drover::v1::GOSSIP_KEY_STEP_USE,
               kRemove = drover::v1::GOSSIP_KEY_STEP_REMOVE;

std::string text_of(const Result<Keys>& keys) {
  if (!keys) return keys.status().message();
  std::string text;
  for (const std::string& key : *keys) text += (text.empty() ? "" : " ") + key.substr(0, 1);
  return text;
}

// --- one server ------------------------------------------------------------------------------------------------------

TEST(GossipKeys, AStepOfOneServer) {
  struct Case {
    const char* name;
    Step step;
    std::string key;
    Keys before;
    const char* after;
  };
  const Case cases[] = {
      {"a list changes nothing", kList, "", {kOld, kNew}, "A B"},
      {"a new key does not seal", kInstall, kNew, {kOld}, "A B"},
      {"twice is once", kInstall, kNew, {kOld, kNew}, "A B"},
      {"also the first", kInstall, kOld, {kOld, kNew}, "A B"},
      {"used is first", kUse, kNew, {kOld, kThird, kNew}, "B A C"},
      {"already used", kUse, kOld, {kOld, kNew}, "A B"},
      {"not there to use", kUse, kNew, {kOld}, "the key is not installed"},
      {"the first stays", kRemove, kOld, {kOld, kNew}, "the key is the one to seal with"},
      {"another goes", kRemove, kNew, {kOld, kNew, kThird}, "A C"},
      {"one that is not there has gone", kRemove, kNew, {kOld}, "A"},
      {"no step", kNone, kNew, {kOld}, "this server knows no step 0 of the gossip's keys"},
      {"a later version's", static_cast<Step>(9), kNew, {kOld}, "this server knows no step 9"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string after = text_of(keys_after(c.step, c.key, c.before));
    EXPECT_EQ(after.substr(0, std::string(c.after).size()), c.after);
  }
}

// --- all of them -----------------------------------------------------------------------------------------------------

ServerKeys has(const char* name, Keys keys) { return {.name = name, .status = ok_status(), .keys = std::move(keys)}; }
ServerKeys silent(const char* name) { return {.name = name, .status = unavailable("no route"), .keys = {}}; }

TEST(GossipKeys, NoStepBeginsThatWouldPartTheServers) {
  struct Case {
    const char* name;
    Step step;
    std::string key;
    std::vector<ServerKeys> servers;
    Code code;
    const char* text;
  };
  const Case cases[] = {
      {"install where some are silent", kInstall, kNew, {has("a", {kOld}), silent("b")}, Code::ok, ""},
      {"a list where some are silent", kList, "", {has("a", {kOld}), silent("b")}, Code::ok, ""},
      {"use what all have", kUse, kNew, {has("a", {kOld, kNew}), has("b", {kNew, kOld})}, Code::ok, ""},
      {"use what one has not",
       kUse,
       kNew,
       {has("a", {kOld, kNew}), has("b", {kOld}), has("c", {kOld})},
       Code::failed_precondition,
       "the key is not installed on b, c; install it first"},
      {"use where one is silent",
       kUse,
       kNew,
       {has("a", {kOld, kNew}), silent("b")},
       Code::unavailable,
       "a server that lives cannot be asked: b: no route"},
      {"use where one is silent and one has not",
       kUse,
       kNew,
       {has("a", {kOld}), silent("b")},
       Code::failed_precondition,
       "not installed on a"},
      {"remove what seals nowhere", kRemove, kOld, {has("a", {kNew, kOld}), has("b", {kNew, kOld})}, Code::ok, ""},
      {"remove what some have", kRemove, kOld, {has("a", {kNew, kOld}), has("b", {kNew})}, Code::ok, ""},
      {"remove what one seals with",
       kRemove,
       kOld,
       {has("a", {kNew, kOld}), has("b", {kOld, kNew})},
       Code::failed_precondition,
       "b still seals with this key"},
      {"remove where one is silent",
       kRemove,
       kOld,
       {has("a", {kNew, kOld}), silent("b"), silent("c")},
       Code::unavailable,
       "b: no route; c: no route"},
      {"remove what nobody has", kRemove, kThird, {has("a", {kNew})}, Code::not_found, "no server has this key"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Status status = may_begin(c.step, c.key, c.servers);
    EXPECT_EQ(status.code(), c.code) << status.message();
    EXPECT_NE(status.message().find(c.text), std::string::npos) << status.message();
    if (!status.ok()) {
      EXPECT_TRUE(status.message().starts_with("nothing was changed: ")) << status.message();
    }
    EXPECT_EQ(status.message().find("=="), std::string::npos) << "a key stands in an error";
  }
}

TEST(GossipKeys, ASummaryCountsServersByKey) {
  const std::vector<ServerKeys> servers = {has("a", {kOld, kNew}), has("b", {kNew, kOld}), silent("c")};
  const auto listed = summary_of(kList, servers);
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->num_nodes(), 3);
  EXPECT_EQ(listed->keys().at(kOld), 2);
  EXPECT_EQ(listed->primary_keys().at(kNew), 1);
  EXPECT_EQ(listed->messages().at("c"), "cannot be asked: no route");

  const auto done = summary_of(kInstall, servers);
  EXPECT_EQ(done.status().code(), Code::unavailable);
  EXPECT_EQ(done.status().message(), "not every server did it, the others did; do it again: c: no route");
}

// --- the file --------------------------------------------------------------------------------------------------------

TEST(GossipKeys, TheFileIsAListOfKeys) {
  EXPECT_EQ(text_of(read_keys(write_keys({kNew, kOld}))), "B A");
  EXPECT_EQ(text_of(read_keys("[\"AAAAAAAAAAAAAAAAAAAAAB==\", \"" + kOld + "\"]")), "A") << "each once";
  for (const char* bad : {"", "{}", "[]", "[1]", "\"AAAA\""}) {
    EXPECT_EQ(text_of(read_keys(bad)), "it is no JSON list of keys") << bad;
  }
  EXPECT_EQ(text_of(read_keys("[\"" + kOld + "\", \"AAAA\"]")),
            "key 2: the key is not 16, 24 or 32 bytes in base64: it has 3 bytes");
}

class GossipKeyFile : public ::testing::Test {
 protected:
  GossipKeyFile() {
    std::string name = (std::filesystem::temp_directory_path() / "drover-gossip-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~GossipKeyFile() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/server/serf.keyring"; }
  std::string content() const {
    std::ifstream file(path());
    return read_all(file);
  }
  void write(const std::string& text, mode_t mode = 0600) const {
    std::filesystem::create_directories(folder_ + "/server");
    std::ofstream(path()) << text;
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
  }
  mode_t mode() const {
    struct stat found {};
    return ::stat(path().c_str(), &found) == 0 ? found.st_mode & 0777 : 0;
  }

  std::string folder_;
};

TEST_F(GossipKeyFile, IsWrittenFromTheConfigurationAndThenGoesBeforeIt) {
  ServerKeyring first;
  ASSERT_TRUE(first.start(folder_, kOld).ok());
  EXPECT_EQ(content(), "[\"" + kOld + "\"]\n");
  EXPECT_EQ(mode(), 0600U);

  ServerKeyring later;
  ASSERT_TRUE(later.start(folder_, kNew).ok());
  EXPECT_EQ(text_of(later.step(kList, "")), "A");
  ServerKeyring without;
  ASSERT_TRUE(without.start(folder_, "").ok());
  EXPECT_EQ(text_of(without.step(kList, "")), "A");
}

TEST_F(GossipKeyFile, HasAStepBeforeItIsInUse) {
  ServerKeyring keyring;
  ASSERT_TRUE(keyring.start(folder_, kOld).ok());
  std::vector<std::string> written;
  keyring.on_change([&](const Seal&) { written.push_back(content()); });

  EXPECT_EQ(text_of(keyring.step(kInstall, kNew)), "A B");
  EXPECT_EQ(text_of(keyring.step(kInstall, kNew)), "A B");
  EXPECT_EQ(text_of(keyring.step(kUse, kNew)), "B A");
  EXPECT_EQ(text_of(keyring.step(kRemove, kNew)), "the key is the one to seal with");
  EXPECT_EQ(text_of(keyring.step(kRemove, kOld)), "B");
  EXPECT_EQ(written, (Keys{write_keys({kOld, kNew}), write_keys({kNew, kOld}), write_keys({kNew})}));
  EXPECT_EQ(mode(), 0600U);

  ServerKeyring again;
  ASSERT_TRUE(again.start(folder_, kOld).ok());
  EXPECT_EQ(text_of(again.step(kList, "")), "B");
}

TEST_F(GossipKeyFile, IsKeptFromOthersAndNamedWhenItIsWrong) {
  write(write_keys({kOld}), 0644);
  ServerKeyring keyring;
  ASSERT_TRUE(keyring.start(folder_, "").ok());
  EXPECT_EQ(mode(), 0600U);

  write("[]");
  const Status status = ServerKeyring().start(folder_, "");
  EXPECT_EQ(status.message(), path() + ": it is no JSON list of keys");
  EXPECT_EQ(ServerKeyring().start(folder_, "short").message().substr(0, 15), "server.encrypt:");
}

TEST_F(GossipKeyFile, IsNotThereInTheClear) {
  ServerKeyring keyring;
  ASSERT_TRUE(keyring.start(folder_, "").ok());
  const auto refused = keyring.step(kInstall, kNew);
  EXPECT_EQ(refused.status().code(), Code::failed_precondition);
  EXPECT_NE(refused.status().message().find("in the clear"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

// --- a step on all servers -------------------------------------------------------------------------------------------

class Directory final : public ServerDirectory {
 public:
  std::vector<ServerMember> servers() const override { return all; }
  std::vector<ServerMember> all;
};

// Answers calls as the test says.
class Others final : public Caller {
 public:
  std::function<Result<std::string>(const CallContext&, const std::string&)> answer;

  void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) override {
    done(call_and_wait(std::move(context), std::move(request)));
  }
  Result<Reply> call_and_wait(CallContext context, std::string request) override {
    DROVER_TRY(std::string body, answer(context, request));
    return Reply{std::move(body), {}};
  }
  Result<std::unique_ptr<StreamCall>> open(CallContext, std::string, StreamReceiver) override {
    return unimplemented("no streams");
  }
};

// A server that calls others by methods that it answers itself.
class CallingHost final : public drover::testing::FakeHost {
 public:
  drover::Caller& caller() override { return others; }
  Others others;
};

// This server is "a"; the others answer from keys that the test sets.
class GossipKeySteps : public GossipKeyFile {
 protected:
  GossipKeySteps() {
    host_.agent_info().server_id = add("a");
    add("b");
    add("c");
    EXPECT_TRUE(keyring_.start(folder_, kOld).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    rpc_.start(host_);
    host_.others.answer = [this](const CallContext& context, const std::string& bytes) -> Result<std::string> {
      EXPECT_EQ(context.method, "/drover.v1.GossipKeys/Step");
      EXPECT_TRUE(context.from_server);
      drover::v1::GossipKeyStepRequest request;
      EXPECT_TRUE(request.ParseFromString(bytes));
      for (const ServerMember& server : directory_.all) {
        if (server.id.to_string() != request.server_id()) continue;
        if (away_ == server.name) return unavailable("no route");
        auto keys = keys_after(request.step(), request.key(), others_[server.name]);
        if (!keys) return keys.status();
        others_[server.name] = *keys;
        drover::v1::GossipKeyStepResponse response;
        for (const std::string& key : *keys) response.add_keys(key);
        return response.SerializeAsString();
      }
      return not_found("no such server");
    };
  }
  Uuid add(const std::string& name, ServerStatus status = ServerStatus::alive) {
    ServerMember& server = directory_.all.emplace_back();
    server.id = Uuid::from_bytes(std::string(15, '\0') + name[0]);
    server.name = name;
    server.region = "global";
    server.status = status;
    others_[name] = {kOld};
    return server.id;
  }
  Result<drover::v1::GossipKeysResponse> call(const std::string& method, const std::string& key) {
    drover::v1::GossipKeyRequest request;
    request.set_key(key);
    return host_.answer<drover::v1::GossipKeysResponse>("/drover.v1.GossipKeyring/" + method, request);
  }
  Result<drover::v1::GossipKeysResponse> list() {
    const drover::v1::ListGossipKeysRequest request;
    return host_.answer<drover::v1::GossipKeysResponse>("/drover.v1.GossipKeyring/List", request);
  }

  CallingHost host_;
  Directory directory_;
  std::map<std::string, Keys> others_;
  std::string away_;
  ServerKeyring keyring_;
  KeyRpc rpc_{keyring_, directory_};
};

TEST_F(GossipKeySteps, ReplaceAKeyOnAllServers) {
  add("d", ServerStatus::failed);
  add("e", ServerStatus::left);
  const auto installed = call("Install", kNew);
  ASSERT_TRUE(installed.ok()) << installed.status().message();
  EXPECT_EQ(installed->num_nodes(), 3);
  EXPECT_EQ(installed->keys().at(kNew), 3);
  EXPECT_EQ(installed->primary_keys().at(kOld), 3);
  ASSERT_EQ(installed->messages_size(), 1) << "of the failed one";
  EXPECT_EQ(installed->messages().at("d.global"), "is failed; when it comes back it has the keys that it had");

  ASSERT_TRUE(call("Use", kNew).ok());
  ASSERT_TRUE(call("Remove", kOld).ok());
  EXPECT_EQ(text_of(others_["b"]), "B");
  EXPECT_EQ(text_of(others_["c"]), "B");
  EXPECT_EQ(text_of(others_["d"]), "A");
  const auto listed = list();
  EXPECT_EQ(listed->keys_size(), 1);
  EXPECT_EQ(listed->keys().at(kNew), 3);
}

TEST_F(GossipKeySteps, AreRefusedWhole) {
  EXPECT_EQ(call("Use", kNew).status().code(), Code::failed_precondition);
  EXPECT_EQ(call("Remove", kOld).status().code(), Code::failed_precondition);
  EXPECT_EQ(call("Install", "AAAA").status().code(), Code::invalid_argument);
  away_ = "c";
  EXPECT_EQ(call("Install", kNew).status().code(), Code::unavailable) << "not on all: it is to be done again";
  EXPECT_EQ(text_of(others_["b"]), "A B");
  EXPECT_EQ(call("Use", kNew).status().message(),
            "nothing was changed: a server that lives cannot be asked: c.global: no route");
  EXPECT_EQ(text_of(others_["b"]), "A B");
  EXPECT_EQ(list()->messages().at("c.global"), "cannot be asked: no route");
}

TEST_F(GossipKeySteps, AKeyInAnotherFormIsTheSame) {
  ASSERT_TRUE(call("Install", "BBBBBBBBBBBBBBBBBBBBBB==").ok());
  EXPECT_EQ(text_of(others_["b"]), "A B");
  ASSERT_TRUE(call("Use", kNew + "\n").ok());
  EXPECT_EQ(text_of(keyring_.step(kList, "")), "B A");
}

TEST_F(GossipKeySteps, OfAnotherServerAreDoneHere) {
  drover::v1::GossipKeyStepRequest request;
  request.set_step(kInstall);
  request.set_key(kNew);
  const auto done = host_.answer<drover::v1::GossipKeyStepResponse>("/drover.v1.GossipKeys/Step", request);
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(done->keys_size(), 2);
  request.set_step(static_cast<Step>(9));
  EXPECT_EQ(host_.answer<drover::v1::GossipKeyStepResponse>("/drover.v1.GossipKeys/Step", request).status().code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace drover::gossip
