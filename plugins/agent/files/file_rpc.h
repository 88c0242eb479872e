// The methods of ClientFiles: what operators see of an allocation's files and logs. Handlers run on threads of their
// own. Owned by the plugin.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "allocations.h"
#include "drover/methods.h"
#include "files/alloc_tree.h"
#include "files/file_watch.h"

namespace drover::v1 {
class CatFileRequest;
class FileBytes;
class FileFrame;
class ListFilesRequest;
class ListFilesResponse;
class LogsRequest;
class ReadFileRequest;
class StatFileRequest;
class StatFileResponse;
class StreamFileRequest;
}  // namespace drover::v1

namespace drover::agent {

class FileRpc {
 public:
  // Before this the handlers answer unavailable. Requires: both outlive every call.
  void attach(const Client& client, Allocations& allocations);
  void stop() { watch_.stop(); }  // idempotent

  Result<v1::ListFilesResponse> list(const v1::ListFilesRequest& request, Call& call);
  Result<v1::StatFileResponse> stat(const v1::StatFileRequest& request, Call& call);
  Status cat(const v1::CatFileRequest& request, Call& call, Replies<v1::FileBytes>& replies);
  Status read_at(const v1::ReadFileRequest& request, Call& call, Replies<v1::FileBytes>& replies);
  Status stream(const v1::StreamFileRequest& request, Call& call, Replies<v1::FileFrame>& replies);
  Status logs(const v1::LogsRequest& request, Call& call, Replies<v1::FileFrame>& replies);

 private:
  Result<std::shared_ptr<AllocRunner>> find(const std::string& id, const Call& call) const;
  Result<AllocTree> tree_of(const std::string& id, const Call& call) const;
  static Result<AllocTree> tree_of(const AllocRunner& runner);
  Status copy(const std::string& id, const std::string& path, uint64_t offset, uint64_t limit, Call& call,
              Replies<v1::FileBytes>& replies) const;

  const Client* client_ = nullptr;  // constant once attached_
  Allocations* allocations_ = nullptr;
  FileWatch watch_;
  std::atomic<bool> attached_{false};
};

}  // namespace drover::agent
