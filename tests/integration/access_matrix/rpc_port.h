// Calls at a server's RPC port, as another agent makes them.
#pragma once

#include <memory>
#include <string>

#include "drover/methods.h"

namespace drover::matrix {

// The files by which an agent proves itself to the other end; empty: no TLS.
struct Certificate {
  std::string authority, certificate, key;  // files
};

class RpcPort {
 public:
  RpcPort(const std::string& address, const Certificate& own);
  ~RpcPort();
  // One call, at most a few seconds. A stream of answers counts as one; who streams requests sends this one only.
  Result<std::string> call(const CallContext& context, const std::string& request);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover::matrix
