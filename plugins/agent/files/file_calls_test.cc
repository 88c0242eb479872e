// The methods of ClientFiles, called as the kernel calls them.
#include <filesystem>
#include <fstream>

#include "sdk/testing/permissions.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

// Keeps the bytes that are sent.
template <typename Response>
class Taker final : public MessageStream {
 public:
  bool send(std::string message) override {
    data += parse_message<Response>(message)->data();
    return true;
  }
  std::optional<std::string> receive(SteadyTime) override { return std::nullopt; }
  std::string data;
};

class FileCalls : public AgentTest {
 protected:
  void SetUp() override {
    start();
    id_ = place({task("web")});
    until_status(id_, v1::CLIENT_STATUS_RUNNING);
    put("web/local/app.json", "{\"a\": 1}");
  }
  void put(const std::string& path, const std::string& text) { std::ofstream(alloc_path(id_) + "/" + path) << text; }

  // The text that a stream sends, or its error.
  template <typename Response = v1::FileFrame, typename Request>
  std::string streamed(const std::string& method, Request request) {
    FakeCall call;
    Taker<Response> taker;
    request.set_alloc_id(id_);
    const Status status = declarations_.bindings.at(method).stream(request.SerializeAsString(), call, taker);
    return status.ok() ? taker.data : status.to_string();
  }
  template <typename Request>
  static Request path(const std::string& path) {
    Request request;
    request.set_path(path);
    return request;
  }

  std::string id_;
};

TEST_F(FileCalls, ListAndDescribe) {
  auto list = path<v1::ListFilesRequest>("web/local");
  list.set_alloc_id(id_);
  const auto listed = ask<v1::ListFilesResponse>("List", list);
  ASSERT_TRUE(listed.ok()) << listed.status().to_string();
  ASSERT_EQ(listed->files_size(), 1);
  EXPECT_EQ(listed->files(0).name(), "app.json");
  EXPECT_EQ(listed->files(0).content_type(), "application/json");

  auto stat = path<v1::StatFileRequest>("web");
  stat.set_alloc_id(id_);
  const auto found = ask<v1::StatFileResponse>("Stat", stat);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->info().name(), "web");
  EXPECT_TRUE(found->info().is_dir());

  stat.set_path("");
  EXPECT_EQ(ask<v1::StatFileResponse>("Stat", stat).status(), invalid_argument("must provide a file name"));
  list.set_alloc_id("short");
  EXPECT_EQ(ask<v1::ListFilesResponse>("List", list).status(), invalid_argument("must provide a valid alloc id"));
  list.set_alloc_id(std::string(16, 'x'));
  EXPECT_EQ(ask<v1::ListFilesResponse>("List", list).status().code(), Code::not_found);
}

TEST_F(FileCalls, AreForCallersOfTheAllocationsNamespace) {
  Access rule;
  rule.set_namespace_(Access::READ_FS);
  auto request = path<v1::CatFileRequest>("web/local/app.json");
  request.set_alloc_id(id_);
  for (const auto& [name_space, expected] : {std::pair("default", Code::ok), {"other", Code::permission_denied}}) {
    FakeCall call;
    call.context_.access = &rule;
    call.context_.identity.permissions = std::make_shared<testing::OnlyIn>(name_space);
    Taker<v1::FileBytes> taker;
    const Status status = declarations_.bindings.at("Cat").stream(request.SerializeAsString(), call, taker);
    EXPECT_EQ(status.code(), expected) << name_space << status.message();
    EXPECT_EQ(taker.data.empty(), !status.ok()) << name_space;
  }
}

TEST_F(FileCalls, ReadAllOrAPartOrInFrames) {
  EXPECT_EQ(streamed<v1::FileBytes>("Cat", path<v1::CatFileRequest>("web/local/app.json")), "{\"a\": 1}");
  auto part = path<v1::ReadFileRequest>("web/local/app.json");
  EXPECT_EQ(streamed<v1::FileBytes>("ReadAt", part), "invalid_argument: error parsing offset: it is missing");
  part.set_offset(1);
  EXPECT_EQ(streamed<v1::FileBytes>("ReadAt", part), "\"a\": 1}");
  part.set_limit(3);
  EXPECT_EQ(streamed<v1::FileBytes>("ReadAt", part), "\"a\"");
  part.set_limit(-1);
  part.set_offset(99);
  EXPECT_EQ(streamed<v1::FileBytes>("ReadAt", part), "");
  part.set_offset(-1);
  EXPECT_EQ(streamed<v1::FileBytes>("ReadAt", part), "invalid_argument: offset must not be negative");
  auto frames = path<v1::StreamFileRequest>("web/local/app.json");
  frames.set_follow(false);
  frames.set_origin("end");
  frames.set_offset(2);
  EXPECT_EQ(streamed("Stream", frames), "1}");
  frames.set_origin("middle");
  EXPECT_EQ(streamed("Stream", frames), "invalid_argument: origin must be start or end");
}

TEST_F(FileCalls, SayWhyTheyReadNothing) {
  EXPECT_EQ(streamed<v1::FileBytes>("Cat", path<v1::CatFileRequest>("")), "invalid_argument: must provide a file name");
  EXPECT_EQ(streamed<v1::FileBytes>("Cat", path<v1::CatFileRequest>("none")),
            "not_found: stat none: no such file or directory");
  EXPECT_EQ(streamed<v1::FileBytes>("Cat", path<v1::CatFileRequest>("web")),
            "invalid_argument: file \"web\" is a directory");
  EXPECT_EQ(streamed<v1::FileBytes>("Cat", path<v1::CatFileRequest>("../x")),
            "failed_precondition: Path escapes the alloc directory");
  EXPECT_EQ(streamed("Stream", path<v1::StreamFileRequest>("web/secrets/x")),
            "failed_precondition: Reading secret file prohibited: web/secrets/x");
}

TEST_F(FileCalls, LogsSayWhatTheyNeed) {
  v1::LogsRequest request;
  EXPECT_EQ(streamed("Logs", request), "invalid_argument: must provide task name");
  request.set_task("web");
  EXPECT_EQ(streamed("Logs", request), "invalid_argument: must provide log type (stdout/stderr)");
  request.set_type("stdout");
  request.set_origin("middle");
  EXPECT_EQ(streamed("Logs", request), "invalid_argument: origin must be start or end");
  request.clear_origin();
  request.set_offset(-1);
  EXPECT_EQ(streamed("Logs", request), "invalid_argument: offset must not be negative");
  request.clear_offset();
  request.set_task("db");
  EXPECT_EQ(streamed("Logs", request), "not_found: unknown task name \"db\"");
  request.set_task("web");
  for (const auto& entry : std::filesystem::directory_iterator(alloc_path(id_) + "/alloc/logs"))
    std::filesystem::remove(entry.path());
  EXPECT_EQ(streamed("Logs", request), "not_found: log entry for task \"web\" and log type \"stdout\" not found");
  // A folder of logs that leads elsewhere is none.
  std::filesystem::remove(alloc_path(id_) + "/alloc/logs");
  std::filesystem::create_directory_symlink(folder_, alloc_path(id_) + "/alloc/logs");
  EXPECT_EQ(streamed("Logs", request), "failed_precondition: Path escapes the alloc directory");
}

}  // namespace
}  // namespace drover::agent
