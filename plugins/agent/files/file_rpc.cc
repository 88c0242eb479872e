#include "files/file_rpc.h"

#include "drover/api/client.pb.h"
#include "drover/held_right.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "files/file_forms.h"
#include "files/file_reader.h"
#include "files/path_rules.h"
#include "logs/log_reader.h"

namespace drover::agent {
namespace {

Status check_path(const std::string& path) {
  return path.empty() ? invalid_argument("must provide a file name") : ok_status();
}

Status check_place(int64_t offset, const std::string& origin) {
  if (!origin.empty() && origin != "start" && origin != "end") return invalid_argument("origin must be start or end");
  return offset < 0 ? invalid_argument("offset must not be negative") : ok_status();
}

uint64_t limit_of(int64_t said) { return said > 0 ? static_cast<uint64_t>(said) : UINT64_MAX; }

}  // namespace

void FileRpc::attach(const Client& client, Allocations& allocations) {
  client_ = &client;
  allocations_ = &allocations;
  attached_.store(true, std::memory_order_release);
}

Result<std::shared_ptr<AllocRunner>> FileRpc::find(const std::string& id, const Call& call) const {
  if (!attached_.load(std::memory_order_acquire)) return unavailable("the agent is starting");
  if (id.size() != 16) return invalid_argument("must provide a valid alloc id");
  if (auto runner = allocations_->find(id)) {
    DROVER_RETURN_IF_ERROR(call.require(runner->spec()->allocation->namespace_()));
    return runner;
  }
  return not_found("Unknown allocation \"" + Uuid::from_bytes(id).to_string() + "\"");
}

Result<AllocTree> FileRpc::tree_of(const std::string& id, const Call& call) const {
  DROVER_TRY(const auto runner, find(id, call));
  return tree_of(*runner);
}

Result<AllocTree> FileRpc::tree_of(const AllocRunner& runner) { return AllocTree::open(runner.folders().root); }

Result<v1::ListFilesResponse> FileRpc::list(const v1::ListFilesRequest& request, Call& call) {
  DROVER_TRY(const AllocTree tree, tree_of(request.alloc_id(), call));
  DROVER_TRY(const AllocTree::Place place, tree.find(request.path()));
  v1::ListFilesResponse response;
  DROVER_RETURN_IF_ERROR(tree.list(place, response));
  return response;
}

Result<v1::StatFileResponse> FileRpc::stat(const v1::StatFileRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(check_path(request.path()));
  DROVER_TRY(const AllocTree tree, tree_of(request.alloc_id(), call));
  DROVER_TRY(const AllocTree::Place place, tree.find(request.path()));
  v1::StatFileResponse response;
  tree.describe(place, *response.mutable_info());
  return response;
}

Status FileRpc::cat(const v1::CatFileRequest& request, Call& call, Replies<v1::FileBytes>& replies) {
  return copy(request.alloc_id(), request.path(), 0, UINT64_MAX, call, replies);
}

Status FileRpc::read_at(const v1::ReadFileRequest& request, Call& call, Replies<v1::FileBytes>& replies) {
  DROVER_RETURN_IF_ERROR(check_path(request.path()));
  if (!request.has_offset()) return invalid_argument("error parsing offset: it is missing");
  DROVER_RETURN_IF_ERROR(check_place(request.offset(), {}));
  return copy(request.alloc_id(), request.path(), static_cast<uint64_t>(request.offset()), limit_of(request.limit()),
              call, replies);
}

Status FileRpc::copy(const std::string& id, const std::string& path, uint64_t offset, uint64_t limit, Call& call,
                     Replies<v1::FileBytes>& replies) const {
  DROVER_RETURN_IF_ERROR(check_path(path));
  DROVER_TRY(const auto runner, find(id, call));
  DROVER_TRY(const AllocTree tree, tree_of(*runner));
  DROVER_TRY(const AllocTree::Place place, tree.find(path));
  DROVER_RETURN_IF_ERROR(tree.open_file(place).status());  // before the first answer: a refusal has a status of its own
  v1::AllocFileInfo info;
  tree.describe(place, info);
  v1::FileBytes first;
  first.set_content_type(harmless_type(info.content_type()));
  if (!replies.send(first)) return ok_status();
  const HeldRight right(client_->host, call, runner->spec()->allocation->namespace_());
  return right.end(copy_file(tree, place, offset, limit, right.stop(), [&](std::string_view bytes) {
    v1::FileBytes piece;
    piece.set_data(bytes.data(), bytes.size());
    return replies.send(piece);
  }));
}

Status FileRpc::stream(const v1::StreamFileRequest& request, Call& call, Replies<v1::FileFrame>& replies) {
  DROVER_RETURN_IF_ERROR(check_path(request.path()));
  DROVER_RETURN_IF_ERROR(check_place(request.offset(), request.origin()));
  DROVER_TRY(const auto runner, find(request.alloc_id(), call));
  DROVER_TRY(const AllocTree tree, tree_of(*runner));
  const FileReadOptions options{.path = request.path(),
                                .from_end = request.origin() == "end",
                                .offset = static_cast<uint64_t>(request.offset()),
                                .limit = limit_of(request.limit()),
                                .follow = !request.has_follow() || request.follow()};
  const HeldRight right(client_->host, call, runner->spec()->allocation->namespace_());
  return right.end(read_file(options, tree, watch_, client_->host.clock(), right.stop(),
                             [&](const v1::FileFrame& frame) { return replies.send(frame); }));
}

Status FileRpc::logs(const v1::LogsRequest& request, Call& call, Replies<v1::FileFrame>& replies) {
  DROVER_TRY(const auto runner, find(request.alloc_id(), call));
  if (request.task().empty()) return invalid_argument("must provide task name");
  if (request.type() != "stdout" && request.type() != "stderr")
    return invalid_argument("must provide log type (stdout/stderr)");
  DROVER_RETURN_IF_ERROR(check_place(request.offset(), request.origin()));
  const TaskRunner* task = runner->task(request.task());
  if (!task) return not_found("unknown task name " + in_quotes(request.task()));
  if (!task->has_started()) return not_found("task \"" + request.task() + "\" not started yet. No logs available");
  const std::string base = request.task() + "." + request.type();
  DROVER_TRY(const AllocTree tree, tree_of(*runner));
  DROVER_TRY(const AllocTree::Place folder, tree.find("alloc/logs"));
  const LogReadOptions options{.folder = AllocTree::handle(folder),
                               .base = base,
                               .from_end = request.origin() == "end",
                               .offset = static_cast<uint64_t>(request.offset()),
                               .follow = request.follow()};
  const auto growth = client_->logs.growth(runner->folders().logs + "/" + base);
  const HeldRight right(client_->host, call, runner->spec()->allocation->namespace_());
  const Status status = right.end(read_logs(options, *growth, client_->host.clock(), right.stop(),
                                            [&](const v1::FileFrame& frame) { return replies.send(frame); }));
  if (status.code() != Code::not_found) return status;
  return not_found("log entry for task \"" + request.task() + "\" and log type \"" + request.type() + "\" not found");
}

}  // namespace drover::agent
