#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drover/api/keyring.pb.h"
#include "file_wrapper.h"
#include "keyring.pb.h"
#include "keys.h"
#include "leader.h"
#include "replicator.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "tables.h"

namespace drover::keyring {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// So many rows are sealed by one key.
class FakeUser final : public KeyUser {
 public:
  uint64_t uses(const ReadView&, std::string_view key_id, uint64_t most) const override {
    return key_id == key ? std::min(count, most) : 0;
  }
  std::string key;
  uint64_t count = 0;
};

// A cluster of several servers, of which this one leads.
class Cluster final : public testing::FakeHost {
 public:
  RaftInfo raft() const override {
    RaftInfo info = FakeHost::raft();
    for (const Uuid& id : servers) info.servers.push_back({.id = id, .address = ""});
    if (!servers.empty()) info.server_id = servers[0];
    return info;
  }
  std::vector<Uuid> servers;
};

class Keyrings : public ::testing::Test {
 protected:
  Keyrings() : folder_(fs::temp_directory_path() / ("keyring-test-" + Uuid::random().to_string())) {
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    users_.add(user_);
    fs::create_directories(folder_);
    EXPECT_TRUE(open().ok());
    leader_ = std::make_unique<Leader>(tables_, users_, *keys_);
    rpc_ = std::make_unique<Rpc>(tables_, users_, *keys_, *leader_);
    leader_->start(host_, {});
    rpc_->start(host_);
    EXPECT_TRUE(rpc_->declare(host_.rows()).ok());
    host_.answer_calls_with([this](const CallContext& context, const std::string& request) -> Result<std::string> {
      return answer_as_peer(context.method, request);
    });
  }
  ~Keyrings() override { fs::remove_all(folder_); }

  // As a start of the agent does.
  Status open() {
    keys_ = opened_.emplace_back(std::make_unique<Keys>(tables_)).get();
    FileWrapper* wrapper = wrappers_.emplace_back(std::make_unique<FileWrapper>()).get();
    DROVER_RETURN_IF_ERROR(wrapper->start(folder_ / "kek", true));
    return keys_->start(std::make_unique<KeyFiles>(folder_ / "keys", "aead", *wrapper));
  }

  // The other servers.
  Result<std::string> answer_as_peer(const std::string& method, const std::string& bytes) {
    asked_.push_back(method);
    if (method == "/drover.v1.KeyringReplication/Hold") {
      DROVER_TRY(const auto request, parse_message<v1::HoldKeyMaterialRequest>(bytes));
      if (away_.contains(request.server_id())) return unavailable("away");
      held_[request.server_id()][request.key().key_id()] = request.key();
      return std::string();
    }
    DROVER_TRY(const auto request, parse_message<v1::GetKeyMaterialRequest>(bytes));
    if (away_.contains(request.server_id())) return unavailable("away");
    const auto& keys = held_[request.server_id()];
    const auto at = keys.find(request.key_id());
    if (at == keys.end()) return no_such_key(request.key_id());
    v1::KeyMaterialResponse response;
    *response.mutable_key() = at->second;
    return serialize(response);
  }

  std::string rotate(bool rekey = false) {
    const auto rotated = leader_->rotate(rekey, {});
    EXPECT_TRUE(rotated.ok()) << rotated.status().message();
    return rotated ? parse_message<v1::RootKey>(rotated->answer)->key_id() : "";
  }
  std::string state_of(const std::string& id) {
    const auto key = tables_.keys.get(*host_.snapshot(), id);
    return key ? v1::RootKeyState_Name(key->state()).substr(15) : "none";
  }
  std::string remove(const std::string& key_id, bool force = false) {
    v1::DeleteRootKeyRequest request;
    request.set_key_id(key_id);
    request.set_force(force);
    return host_.answer<v1::DeleteRootKeyResponse>("/drover.v1.Keyring/Delete", request).status().message();
  }
  fs::path file_of(const std::string& id) const { return folder_ / "keys" / (key_text(id) + ".nks.json"); }

  const fs::path folder_;
  Cluster host_;
  Tables tables_;
  FakeUser user_;
  Users users_;
  std::vector<std::unique_ptr<FileWrapper>> wrappers_;
  std::vector<std::unique_ptr<Keys>> opened_;
  Keys* keys_ = nullptr;  // the last one
  std::unique_ptr<Leader> leader_;
  std::unique_ptr<Rpc> rpc_;
  std::map<std::string, std::map<std::string, v1::KeyMaterial>> held_;  // by server and key
  std::set<std::string> away_;
  std::vector<std::string> asked_;
};

TEST_F(Keyrings, SealsByTheActiveKeyAndOpensAfterARestart) {
  EXPECT_EQ(keys_->seal(*host_.snapshot(), "x", "").status().message(), "keyring has not been initialized yet");
  const std::string id = rotate();
  const auto sealed = keys_->seal(*host_.snapshot(), "secret", "place");
  ASSERT_TRUE(sealed.ok()) << sealed.status().message();
  EXPECT_EQ(sealed->key_id, id);
  EXPECT_EQ(sealed->bytes.size(), 6u + 28u);
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(keys_->open(id, sealed->bytes, "place").value_or("?"), "secret");
  EXPECT_EQ(keys_->open(id, sealed->bytes, "other").status().code(), Code::data_loss);
  EXPECT_TRUE(keys_->is_ready(*host_.snapshot()).ok());
}

TEST_F(Keyrings, KeepFilesForTheirUserAloneAndWithoutTheKeyInClear) {
  const std::string id = rotate();
  struct stat found {};
  ASSERT_EQ(::stat(file_of(id).c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((folder_ / "keys").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  std::ifstream file(file_of(id));
  const auto text = nlohmann::json::parse(file);
  EXPECT_EQ(text["Meta"]["KeyID"], key_text(id));
  EXPECT_EQ(text.dump().find(keys_->find(id)->message().root()), std::string::npos);
}

TEST_F(Keyrings, DoNotStartOnABrokenFile) {
  const std::string id = rotate();
  const std::string good = key_text(id);
  std::ofstream(folder_ / "keys" / "notes.txt") << "nobody's";
  std::ofstream(folder_ / "keys" / "old.nks.json") << "no identifier";
  ASSERT_TRUE(open().ok());
  const fs::path other = file_of(Uuid::random().bytes());
  fs::copy_file(file_of(id), other);
  EXPECT_NE(open().message().find(other.string()), std::string::npos);
  fs::remove(other);
  std::ofstream(file_of(id)) << "{}";
  const Status status = open();
  EXPECT_NE(status.message().find(file_of(id).string()), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("bring the file back from a backup"), std::string::npos);
}

TEST_F(Keyrings, DoNotStartWithAnotherKeyEncryptionKey) {
  rotate();
  fs::remove(folder_ / "kek");
  EXPECT_EQ(open().code(), Code::data_loss);
  const Status gone = FileWrapper().start(folder_ / "gone", false);
  EXPECT_NE(gone.message().find("bring it back from a backup"), std::string::npos);
  fs::permissions(folder_ / "kek", fs::perms::group_read, fs::perm_options::add);
  EXPECT_NE(FileWrapper().start(folder_ / "kek", false).message().find("chmod 600"), std::string::npos);
}

TEST_F(Keyrings, SignAndVerifyTokens) {
  const std::string id = rotate();
  for (const auto algorithm : {Keyring::Algorithm::eddsa, Keyring::Algorithm::rs256}) {
    const auto token = keys_->sign(*host_.snapshot(), R"({"sub":"me"})", algorithm);
    ASSERT_TRUE(token.ok());
    EXPECT_EQ(keys_->verify(*token).value_or("?"), R"({"sub":"me"})");
    std::string forged = *token;
    forged[forged.find('.') + 3] = forged[forged.find('.') + 3] == 'x' ? 'y' : 'x';
    EXPECT_EQ(keys_->verify(forged).status().code(), Code::permission_denied);
  }
  const auto keys = nlohmann::json::parse(keys_->public_keys(*host_.snapshot()))["keys"];
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0]["alg"], "RS256");
  EXPECT_EQ(keys[0]["e"], "AQAB");
  EXPECT_EQ(keys[1]["crv"], "Ed25519");
  EXPECT_EQ(keys[1]["kid"], key_text(id));
  // A token by a key of somebody else's that says it is of this one.
  EXPECT_FALSE(keys_->verify("eyJhbGciOiJub25lIiwia2lkIjoieCJ9.e30.").ok());
}

TEST_F(Keyrings, MakeAKeyActiveOnlyWhenAQuorumHoldsIt) {
  host_.servers = {Uuid::random(), Uuid::random(), Uuid::random()};
  away_ = {host_.servers[1].to_string(), host_.servers[2].to_string()};
  const Status status = leader_->rotate(false, {}).status();
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("1 of 3 servers"), std::string::npos) << status.message();
  EXPECT_TRUE(host_.proposed().empty());
  away_.erase(host_.servers[2].to_string());
  const std::string id = rotate();
  EXPECT_EQ(state_of(id), "ACTIVE");
  EXPECT_TRUE(held_[host_.servers[2].to_string()].contains(id));
  // The attempt that failed left no second key behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "keys"), fs::directory_iterator()), 1);
}

TEST_F(Keyrings, RotateAndEmptyOldKeys) {
  const std::string first = rotate(), second = rotate();
  EXPECT_EQ(state_of(first), "INACTIVE");
  EXPECT_TRUE(keys_->retiring(*host_.snapshot()).empty());
  user_.key = first;
  user_.count = 1;
  const std::string third = rotate(true);
  EXPECT_EQ(state_of(first), "REKEYING");
  EXPECT_EQ(state_of(second), "REKEYING");
  EXPECT_EQ(state_of(third), "ACTIVE");
  EXPECT_EQ(keys_->retiring(*host_.snapshot()).size(), 2u);
  // The leader notices which are empty.
  std::jthread leading([&](const std::stop_token& stop) { leader_->run(stop); });
  EXPECT_TRUE(host_.eventually([&](const ReadView& view) {
    return tables_.keys.get(view, second)->state() == v1::ROOT_KEY_STATE_INACTIVE;
  }));
  EXPECT_EQ(state_of(first), "REKEYING");
}

TEST_F(Keyrings, RemoveOnlyWhatIsNeitherActiveNorInUse) {
  const std::string first = rotate(), second = rotate();
  EXPECT_EQ(remove(""), "root key ID is required");
  EXPECT_NE(remove("x").find("no UUID"), std::string::npos);
  EXPECT_EQ(remove(key_text(second)), "active root key cannot be deleted - call rotate first");
  EXPECT_EQ(remove(Uuid::random().to_string()), "");
  user_.key = first;
  user_.count = 3;
  EXPECT_NE(remove(key_text(first)).find("is in use by 3 variables"), std::string::npos);
  EXPECT_EQ(state_of(first), "INACTIVE");
  EXPECT_EQ(remove(key_text(first), true), "");
  EXPECT_EQ(state_of(first), "none");
  // Every server deletes the file when it sees that.
  ASSERT_TRUE(fs::exists(file_of(first)));
  Replicator replicator(tables_, *keys_);
  EXPECT_TRUE(replicator.look(host_, {}));
  EXPECT_FALSE(fs::exists(file_of(first)));
  EXPECT_TRUE(fs::exists(file_of(second)));
  EXPECT_EQ(keys_->open(first, "", "").status().message(), "no such key \"" + key_text(first) + "\" in keyring");
}

// While the log is read at a start, nobody is known who could say what uses a key: entries mean the same then.
TEST_F(Keyrings, ApplyEntriesWithoutAskingAnybody) {
  const std::string first = rotate();
  rotate(true);
  user_.key = first;
  user_.count = 1;
  v1::RootKeyEmptied emptied;
  emptied.set_key_id(first);
  ASSERT_TRUE(host_.propose(emptied, SteadyTime::max()).ok());
  EXPECT_EQ(state_of(first), "INACTIVE");
  v1::RootKeyRemoved removed;
  removed.set_key_id(first);
  ASSERT_TRUE(host_.propose(removed, SteadyTime::max()).ok());
  EXPECT_EQ(state_of(first), "none");
}

TEST_F(Keyrings, FetchWhatTheyLackFromAnyServer) {
  host_.servers = {Uuid::random(), Uuid::random(), Uuid::random()};
  const std::string nobodys = rotate(), somebodys = rotate();
  const std::string last = host_.servers[2].to_string();
  for (auto& [server, keys] : held_) keys.erase(nobodys);
  held_[host_.servers[1].to_string()].clear();
  held_[last][somebodys] = keys_->find(somebodys)->message();
  fs::remove_all(folder_ / "keys");
  ASSERT_TRUE(open().ok());
  Replicator replicator(tables_, *keys_);
  EXPECT_FALSE(replicator.look(host_, {}));
  EXPECT_TRUE(keys_->find(somebodys));
  EXPECT_FALSE(keys_->find(nobodys));
  EXPECT_TRUE(fs::exists(file_of(somebodys)));
}

TEST_F(Keyrings, TheLeaderMakesTheFirstKeyAndReplacesAnOldOne) {
  Settings settings{.rotation_threshold = 720h, .gc_threshold = 1h, .gc_interval = 1ms};
  leader_->start(host_, settings);
  std::string first;
  {
    std::jthread leading([&](const std::stop_token& stop) { leader_->run(stop); });
    ASSERT_TRUE(host_.eventually([&](const ReadView& view) { return active_key(view, tables_).has_value(); }));
    first = active_key(*host_.snapshot(), tables_)->key_id();
    user_.key = first;
    user_.count = 1;
    host_.forward_clock().advance(721h);
    ASSERT_TRUE(host_.eventually([&](const ReadView& view) { return active_key(view, tables_)->key_id() != first; }));
  }
  EXPECT_EQ(state_of(first), "INACTIVE");  // in use
  user_.count = 0;
  std::jthread leading([&](const std::stop_token& stop) { leader_->run(stop); });
  EXPECT_TRUE(host_.eventually([&](const ReadView& view) { return !tables_.keys.get(view, first); }));
}

}  // namespace
}  // namespace drover::keyring
