#include <gtest/gtest.h>

#include "drover/api/keyring.pb.h"
#include "drover/api/variables.pb.h"
#include "drover/options.pb.h"
#include "drover/permissions.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/namespace.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_variables.pb.h"
#include "lock_keeper.h"
#include "node_rpc.h"
#include "reseal.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_keyring.h"
#include "sdk/testing/permissions.h"
#include "tables.h"
#include "variables.pb.h"

namespace drover::variables {
namespace {

using namespace std::chrono_literals;

// A job's tasks read the variables of their job in its namespace.
class OwnVariables final : public testing::AllButManagement {
 public:
  explicit OwnVariables(Workload workload) : workload_(std::move(workload)) {}
  bool may_variable(std::string_view name_space, std::string_view path, Access_VariableRight right) const override {
    const bool is_own = path == "nomad/jobs" || (std::string(path) + "/").starts_with("nomad/jobs/" + workload_.job + "/");
    return name_space == workload_.name_space && is_own && right != Access::VARIABLE_WRITE;
  }

 private:
  const Workload workload_;
};

class FakeRights final : public WorkloadRights {
 public:
  Result<std::shared_ptr<const Permissions>> rights_of(const ReadView&, const Workload& workload) override {
    return std::shared_ptr<const Permissions>(std::make_shared<OwnVariables>(workload));
  }
};

class Vars : public ::testing::Test {
 protected:
  Vars() {
    TableSpec keys = Table<v1::RootKey>::spec("root_keys", {},
                                              [](const v1::RootKey& key, RowKeys& out) { out.primary(key.key_id()); });
    root_keys_ = Table<v1::RootKey>(host_.rows().add_table(std::move(keys)));
    nodes_ = Table<v1::Node>(host_.rows().add_table(nodes_table().spec()));
    allocs_ = Table<v1::Allocation>(host_.rows().add_table(allocs_table().spec()));
    jobs_ = Table<v1::Job>(host_.rows().add_table(jobs_table().spec()));
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(node_rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(host_.rows().extend<WorkloadRights>("acl", rights_).ok());
    rpc_.start(host_, keyring_, 2);
    EXPECT_TRUE(node_rpc_.start(host_, keyring_).ok());
    add_key(keyring_.active);
    namespaces_ = Table<v1::Namespace>(host_.rows().add_table(namespaces_table().spec()));  // its plugin may come later
    host_.commit([&](WriteTransaction& rows) {
      v1::Namespace prod;
      prod.set_name("prod");
      EXPECT_TRUE(namespaces_.put(rows, prod).ok());
    });
  }
  void add_key(const std::string& id, v1::RootKeyState state = v1::ROOT_KEY_STATE_ACTIVE) {
    host_.commit([&](WriteTransaction& rows) {
      v1::RootKey key;
      key.set_key_id(id);
      key.set_state(state);
      EXPECT_TRUE(root_keys_.put(rows, key).ok());
    });
  }
  Result<v1::VariableResponse> apply(v1::ApplyVariableRequest request, const std::string& name_space = "default") {
    QueryOptions query;
    query.name_space = name_space;
    return host_.answer<v1::VariableResponse>("/drover.v1.Variables/Apply", request, query);
  }
  Result<v1::VariableResponse> put(const std::string& path, const std::string& items, const std::string& cas = "",
                                   const std::string& lock = "") {
    v1::ApplyVariableRequest request;
    request.set_path(path);
    request.set_cas(cas);
    request.mutable_variable()->set_items(items);
    if (!lock.empty()) request.mutable_variable()->mutable_lock()->set_id(lock);
    return apply(request);
  }
  Result<v1::VariableResponse> get(const std::string& path) {
    v1::VariableRequest request;
    request.set_path(path);
    return host_.answer<v1::VariableResponse>("/drover.v1.Variables/Read", request);
  }
  Result<v1::VariableResponse> erase(const std::string& path, const std::string& cas = "") {
    v1::DeleteVariableRequest request;
    request.set_path(path);
    request.set_cas(cas);
    return host_.answer<v1::VariableResponse>("/drover.v1.Variables/Delete", request);
  }
  std::string paths(QueryOptions query, ReplyMeta* meta = nullptr) {
    const v1::ListVariablesRequest all;
    const auto list = host_.answer<v1::ListVariablesResponse>("/drover.v1.Variables/List", all, query, meta);
    if (!list) return list.status().message();
    std::string text;
    for (const auto& row : list->variables()) text += (text.empty() ? "" : " ") + row.namespace_() + ":" + row.path();
    return text;
  }
  int64_t quota() { return tables_.quota.get(*host_.snapshot(), "default")->size(); }

  testing::FakeHost host_;
  testing::FakeKeyring keyring_;
  FakeRights rights_;
  Tables tables_;
  LockKeeper locks_;
  Rpc rpc_{tables_, locks_};
  NodeRpc node_rpc_{tables_};
  Table<v1::RootKey> root_keys_;
  Table<v1::Node> nodes_;
  Table<v1::Allocation> allocs_;
  Table<v1::Job> jobs_;
  Table<v1::Namespace> namespaces_;
};

TEST_F(Vars, AreInANamespaceThatIsThere) {
  v1::ApplyVariableRequest request;
  request.set_path("app/db");
  request.mutable_variable()->set_items(R"({"k":"v"})");
  EXPECT_TRUE(apply(request, "prod").ok());
  EXPECT_EQ(apply(request, "gone").status().to_string(),
            "invalid_argument: variable \"app/db\" is in nonexistent namespace \"gone\"");
  v1::ApplyVariableRequest lock = request;
  lock.set_lock_acquire(true);
  EXPECT_EQ(apply(lock, "gone").status().message(), "variable \"app/db\" is in nonexistent namespace \"gone\"");
}

// The log decides when a namespace goes while a variable is written.
TEST_F(Vars, AreNotWrittenIntoANamespaceThatWent) {
  v1::VariableWritten command;
  command.mutable_variable()->mutable_metadata()->set_namespace_("prod");
  command.mutable_variable()->mutable_metadata()->set_path("app/db");
  command.mutable_variable()->set_key_id(keyring_.active);
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(namespaces_.erase(rows, namespace_key("prod"))); });
  EXPECT_EQ(host_.propose(command, SteadyTime::max()).status().message(),
            "variable \"app/db\" is in nonexistent namespace \"prod\"");
}

TEST_F(Vars, AreWrittenReadAndDeleted) {
  const auto first = put("app/db", R"({"user":"u"})");
  ASSERT_TRUE(first.ok()) << first.status().message();
  const auto second = put("app/db", R"({"user":"v"})");
  EXPECT_EQ(second->variable().create_index(), first->variable().modify_index());
  EXPECT_GT(second->variable().modify_index(), first->variable().modify_index());
  EXPECT_EQ(get("app/db")->variable().items(), R"({"user":"v"})");
  EXPECT_EQ(get("app").status().message(), "variable not found");
  EXPECT_EQ(erase("app/db")->http_status(), 204u);
  EXPECT_EQ(erase("app/db")->http_status(), 204u);
  EXPECT_EQ(get("app/db").status().code(), Code::not_found);
  EXPECT_EQ(quota(), 0);
}

TEST_F(Vars, StandSealedInTheLogAndInTheState) {
  host_.hold();
  ASSERT_TRUE(put("app", R"({"password":"swordfish"})").ok());
  for (const auto& table : {tables_.variables, tables_.versions}) {
    auto row = host_.snapshot()->scan(table.id(), kPrimary, KeyRange::all());
    for (; row->valid(); row->next()) EXPECT_EQ(row->row().find("swordfish"), std::string::npos);
  }
  const auto row = tables_.variables.list(*host_.snapshot(), kPrimary, KeyRange::all())[0];
  EXPECT_EQ(quota(), static_cast<int64_t>(row.sealed().size()));
}

TEST_F(Vars, CompareTheIndexBeforeTheyChange) {
  EXPECT_EQ(put("a", R"({"k":"1"})", "7")->http_status(), 409u);
  const auto made = put("a", R"({"k":"1"})", "0");
  ASSERT_EQ(made->http_status(), 0u);
  const auto refused = put("a", R"({"k":"2"})", "0");
  EXPECT_EQ(refused->http_status(), 409u);
  EXPECT_EQ(refused->variable().items(), R"({"k":"1"})");
  EXPECT_EQ(refused->variable().modify_index(), made->variable().modify_index());
  EXPECT_EQ(put("a", R"({"k":"2"})", std::to_string(made->variable().modify_index()))->http_status(), 0u);
  EXPECT_EQ(erase("a", std::to_string(made->variable().modify_index()))->http_status(), 409u);
  EXPECT_EQ(get("a")->variable().items(), R"({"k":"2"})");
  EXPECT_EQ(put("a", R"({"k":"2"})", "x").status().code(), Code::invalid_argument);
}

TEST_F(Vars, RefuseWhatIsNone) {
  const struct {
    const char* path;
    const char* items;
    const char* name_space;
    const char* error;
  } cases[] = {{"a", "", "default", "variable missing required Items object"},
               {"a", "{}", "default", "variable missing required Items object"},
               {"", R"({"k":"v"})", "default", "variable requires path"},
               {"nomad/x", R"({"k":"v"})", "default", "only paths at"},
               {"a", R"({"k":"v"})", "*", "can not target wildcard (\"*\")namespace"},
               {"a", R"({"k":7})", "default", "expected a string"}};
  for (const auto& c : cases) {
    v1::ApplyVariableRequest request;
    request.set_path(c.path);
    request.mutable_variable()->set_items(c.items);
    const Status status = apply(request, c.name_space).status();
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find(c.error), std::string::npos) << status.message();
  }
  keyring_.active.clear();
  EXPECT_EQ(put("a", R"({"k":"v"})").status().message(), "keyring has not been initialized yet");
}

TEST_F(Vars, AreListedByPrefixPageAndFilter) {
  for (const char* path : {"app/a", "app/b", "app/c", "other"}) ASSERT_TRUE(put(path, R"({"k":"v"})").ok());
  v1::ApplyVariableRequest elsewhere;
  elsewhere.set_path("app/x");
  elsewhere.mutable_variable()->set_items(R"({"k":"v"})");
  elsewhere.mutable_variable()->set_namespace_("prod");  // the body's wins
  ASSERT_TRUE(apply(elsewhere).ok());
  QueryOptions query;
  query.prefix = "app/";
  EXPECT_EQ(paths(query), "default:app/a default:app/b default:app/c");
  query.per_page = 2;
  ReplyMeta meta;
  EXPECT_EQ(paths(query, &meta), "default:app/a default:app/b");
  EXPECT_EQ(meta.next_token, "default.app/c");
  query.next_token = meta.next_token;
  EXPECT_EQ(paths(query), "default:app/c");
  query = {};
  query.name_space = "*";
  query.filter = "Path matches \"x$\"";
  EXPECT_EQ(paths(query), "prod:app/x");
  query.filter = "Items is empty";
  EXPECT_NE(paths(query).find("failed to read result page"), std::string::npos);
}

TEST_F(Vars, KeepFormerVersionsAndGoBack) {
  std::vector<uint64_t> indexes;
  for (const char* value : {"1", "2", "3", "4"}) {
    indexes.push_back(put("a", std::string(R"({"k":")") + value + "\"}")->variable().modify_index());
  }
  v1::VariableRequest which;
  which.set_path("a");
  const auto history = host_.answer<v1::ListVariablesResponse>("/drover.v1.Variables/History", which);
  ASSERT_EQ(history->variables_size(), 2);  // as many as are to be kept, the newest first
  EXPECT_EQ(history->variables(0).modify_index(), indexes[2]);
  v1::RollbackVariableRequest back;
  back.set_path("a");
  back.set_to(indexes[1]);
  EXPECT_TRUE(host_.answer<v1::VariableResponse>("/drover.v1.Variables/Rollback", back).ok());
  EXPECT_EQ(get("a")->variable().items(), R"({"k":"2"})");
  back.set_to(indexes[0]);
  EXPECT_EQ(host_.answer<v1::VariableResponse>("/drover.v1.Variables/Rollback", back).status().code(), Code::not_found);
  ASSERT_TRUE(erase("a").ok());  // with its versions
  EXPECT_EQ(host_.snapshot()->row_count(tables_.versions.id()), 0u);
}

TEST_F(Vars, AreLockedByOneAndFreedWhenItDies) {
  v1::ApplyVariableRequest request;
  request.set_path("leader");
  request.set_lock_acquire(true);
  request.mutable_variable()->mutable_lock()->set_ttl(10'000'000'000);
  const auto held = apply(request);
  ASSERT_TRUE(held.ok()) << held.status().message();
  const std::string id = held->variable().lock().id();
  ASSERT_FALSE(id.empty());
  EXPECT_EQ(http_status_of(apply(request).status()), 409);
  EXPECT_EQ(put("leader", R"({"k":"v"})").status().message(), "attempting to modify locked variable");
  EXPECT_TRUE(put("leader", R"({"k":"v"})", "", id).ok());

  v1::ApplyVariableRequest renew;
  renew.set_path("leader");
  renew.set_lock_renew(true);
  EXPECT_EQ(apply(renew).status().message(), "missing lock information");
  renew.mutable_variable()->mutable_lock()->set_id(id);
  EXPECT_TRUE(apply(renew).ok());
  renew.set_lock_release(true);
  EXPECT_EQ(apply(renew).status().message(), "multiple lock operations");

  const auto locked = [&] { return tables_.variables.list(*host_.snapshot(), kLocked, KeyRange::all()); };
  const SteadyTime now = host_.clock().steady();
  EXPECT_TRUE(locks_.dead(locked(), now + 34s).empty());  // twice 10 and the delay of 15 seconds
  const auto dead = locks_.dead(locked(), now + 36s);
  ASSERT_EQ(dead.size(), 1u);
  ASSERT_TRUE(host_.propose(dead[0], SteadyTime::max()).ok());
  EXPECT_TRUE(locked().empty());
  EXPECT_EQ(get("leader")->variable().items(), R"({"k":"v"})");

  v1::ApplyVariableRequest release;
  release.set_path("leader");
  release.set_lock_release(true);
  release.mutable_variable()->mutable_lock()->set_id(id);
  EXPECT_EQ(apply(release).status().message(), "variable doesn't hold a lock");
  request.mutable_variable()->clear_lock();
  release.mutable_variable()->mutable_lock()->set_id(apply(request)->variable().lock().id());
  EXPECT_TRUE(apply(release).ok());
  EXPECT_TRUE(put("leader", R"({"k":"w"})").ok());
}

TEST_F(Vars, ANewLeaderGivesHoldersTheirWholeTime) {
  v1::SealedVariable row;
  row.mutable_metadata()->set_path("a");
  row.mutable_metadata()->mutable_lock()->set_id("x");
  row.mutable_metadata()->mutable_lock()->set_ttl(10'000'000'000);
  const SteadyTime now = host_.clock().steady();
  EXPECT_TRUE(locks_.dead({row}, now).empty());
  EXPECT_EQ(locks_.dead({row}, now + 20s).size(), 1u);
  locks_.clear();
  EXPECT_TRUE(locks_.dead({row}, now + 20s).empty());
}

TEST_F(Vars, AreSealedAnewWhenTheirKeyIsEmptied) {
  ASSERT_TRUE(put("a", R"({"k":"1"})").ok());
  const uint64_t index = put("a", R"({"k":"2"})")->variable().modify_index();
  ASSERT_TRUE(put("b", R"({"k":"3"})").ok());
  const std::string old = keyring_.active;
  const Uses uses(tables_);
  EXPECT_EQ(uses.uses(*host_.snapshot(), old, 100), 3u);
  EXPECT_EQ(uses.uses(*host_.snapshot(), old, 2), 2u);
  keyring_.old = {old};
  keyring_.active = std::string(16, 'B');
  add_key(keyring_.active);
  size_t failed = 0, steps = 0;
  while (const auto command = next_resealed(*host_.snapshot(), tables_, keyring_, 2, failed)) {
    ASSERT_LE(++steps, 2u);
    ASSERT_TRUE(host_.propose(*command, SteadyTime::max()).ok());
  }
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(uses.uses(*host_.snapshot(), old, 100), 0u);
  EXPECT_EQ(get("a")->variable().items(), R"({"k":"2"})");
  EXPECT_EQ(get("a")->variable().modify_index(), index);
}

TEST_F(Vars, AreSealedAnewInStepsOfABoundedSize) {
  const std::string large = R"({"k":")" + std::string(60 << 10, 'x') + "\"}";
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(put("large/" + std::to_string(i), large).ok());
  keyring_.old = {keyring_.active};
  keyring_.active = std::string(16, 'B');
  add_key(keyring_.active);
  size_t failed = 0;
  const auto command = next_resealed(*host_.snapshot(), tables_, keyring_, 100, failed);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->variables_size(), 9);  // the one that goes over the limit is still part of it
}

// May do one thing with one path.
class OneRight final : public Permissions {
 public:
  OneRight(std::string path, Access_VariableRight right) : path_(std::move(path)), right_(right) {}
  bool may_variable(std::string_view name_space, std::string_view path, Access_VariableRight right) const override {
    return name_space == "default" && path == path_ && right == right_;
  }

 private:
  const std::string path_;
  const Access_VariableRight right_;
};

TEST_F(Vars, AreForThoseWhoMay) {
  ASSERT_TRUE(put("a", R"({"k":"v"})").ok());
  ASSERT_TRUE(put("b", R"({"k":"v"})").ok());
  const auto as = [&](Access_VariableRight right) {
    host_.call_as({.kind = Identity::Kind::token, .name = "t", .permissions = std::make_shared<OneRight>("a", right)});
  };
  as(Access::VARIABLE_READ);
  EXPECT_TRUE(get("a").ok());
  EXPECT_EQ(get("b").status().code(), Code::permission_denied);
  EXPECT_EQ(put("a", R"({"k":"w"})").status().code(), Code::permission_denied);
  EXPECT_EQ(erase("a").status().code(), Code::permission_denied);
  EXPECT_EQ(paths({}), "");
  as(Access::VARIABLE_LIST);
  EXPECT_EQ(paths({}), "default:a");
  EXPECT_FALSE(get("a").ok());
  as(Access::VARIABLE_WRITE);
  const auto conflict = put("a", R"({"k":"w"})", "0");
  EXPECT_EQ(conflict->http_status(), 409u);
  EXPECT_EQ(conflict->variable().items(), "");  // who may not read hears of it only
  EXPECT_FALSE(put("b", R"({"k":"w"})").ok());
  v1::RollbackVariableRequest back;
  back.set_path("a");
  const auto rolled_back = host_.answer<v1::VariableResponse>("/drover.v1.Variables/Rollback", back);
  EXPECT_EQ(rolled_back.status().code(), Code::permission_denied);
  as(Access::VARIABLE_DESTROY);
  EXPECT_TRUE(erase("a").ok());
}

TEST_F(Vars, AreNotWrittenUnderAKeyThatIsGone) {
  host_.commit([&](WriteTransaction& rows) { root_keys_.erase(rows, keyring_.active); });
  EXPECT_EQ(put("a", R"({"k":"v"})").status().code(), Code::aborted);
}

// The keyring relies on it when it removes a key that nothing uses.
TEST_F(Vars, DoNotTakeAFormerKeyIntoUseAgain) {
  ASSERT_TRUE(put("a", R"({"k":"v"})").ok());
  add_key(keyring_.active, v1::ROOT_KEY_STATE_INACTIVE);
  EXPECT_TRUE(put("b", R"({"k":"v"})").ok());  // was under way when the key was replaced
  ASSERT_TRUE(erase("a").ok());
  ASSERT_TRUE(erase("b").ok());
  EXPECT_EQ(put("a", R"({"k":"v"})").status().code(), Code::aborted);
  EXPECT_EQ(Uses(tables_).uses(*host_.snapshot(), keyring_.active, 1), 0u);
}

TEST_F(Vars, ANodeReadsForItsOwnAllocationsOnly) {
  const std::string node_id(16, 'n'), secret(16, 's'), alloc_id(16, 'a');
  host_.commit([&](WriteTransaction& rows) {
    v1::Node node;
    node.set_id(node_id);
    node.set_secret_id(secret);
    EXPECT_TRUE(nodes_.put(rows, node).ok());
    v1::Allocation alloc;
    alloc.set_id(alloc_id);
    alloc.set_node_id(node_id);
    alloc.set_namespace_("default");
    alloc.set_job_id("web/dispatch-1");
    alloc.set_task_group("g");
    EXPECT_TRUE(allocs_.put(rows, alloc).ok());
    v1::Job job;
    job.set_id("web/dispatch-1");
    job.set_namespace_("default");
    job.set_parent_id("web");
    EXPECT_TRUE(jobs_.put(rows, job).ok());
  });
  for (const char* path : {"nomad/jobs/web", "nomad/jobs/other", "nomad/jobs"})
    ASSERT_TRUE(put(path, R"({"k":"v"})").ok());
  v1::NodeVariableRequest good;
  good.set_node_id(node_id);
  good.set_secret_id(secret);
  good.set_alloc_id(alloc_id);
  good.set_task("t");
  good.set_path("nomad/jobs/web");
  const auto read = [&](const v1::NodeVariableRequest& request) {
    return host_.answer<v1::NodeVariableResponse>("/drover.v1.NodeVariables/Read", request);
  };
  EXPECT_EQ(read(good)->items(), R"({"k":"v"})");
  auto wrong = good;
  wrong.set_path("nomad/jobs/other");
  EXPECT_EQ(read(wrong).status().code(), Code::permission_denied);
  wrong = good;
  wrong.set_secret_id(std::string(16, 'x'));
  EXPECT_EQ(read(wrong).status().code(), Code::permission_denied);
  wrong = good;
  wrong.set_alloc_id(std::string(16, 'b'));
  EXPECT_EQ(read(wrong).status().code(), Code::permission_denied);
  wrong = good;
  wrong.set_namespace_("prod");
  EXPECT_EQ(read(wrong).status().code(), Code::permission_denied);
  auto absent = good;
  absent.set_path("nomad/jobs/web/g");
  EXPECT_FALSE(read(absent)->has_variable());
  auto prefix = good;
  prefix.set_path("nomad/");
  const auto list = host_.answer<v1::NodeVariablesResponse>("/drover.v1.NodeVariables/List", prefix);
  ASSERT_EQ(list->variables_size(), 2);
  EXPECT_EQ(list->variables(0).path(), "nomad/jobs");
  prefix.set_namespace_("prod");
  EXPECT_EQ(host_.answer<v1::NodeVariablesResponse>("/drover.v1.NodeVariables/List", prefix)->variables_size(), 0);
}

}  // namespace
}  // namespace drover::variables
