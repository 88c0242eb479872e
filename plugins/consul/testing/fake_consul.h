// A Consul agent on this machine, for tests: services, checks, keys, blocking questions, logins. It runs no checks; a
// test says how they do. Misbehaves on request. By /control, with a JSON object:
//
//   {"lose": true}                                        forgets services, checks and tokens
//   {"check": NAME, "status": "passing", "output": TEXT}  says how all checks of that name do
//   {"edit": SERVICE ID, "tags": [...]}                   changes a service by hand
//   {"trouble": {"METHOD /path": "500"}}                  by the beginning of a call: "500", "403", "silence", "slow"
//   {"expire": true}                                      the time of every check that is told of is over
//   {"namespaces": ["team"]}                              is Consul Enterprise, with these beside "default"
//   {"tokens": true}                                      calls without a token that a login gave are refused
//
// /control/calls says the calls so far, a line each: "GET /v1/agent/self", "PUT /v1/agent/service/register NAME".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::consul::testing {

class FakeConsul {
 public:
  FakeConsul();
  ~FakeConsul();
  FakeConsul(const FakeConsul&) = delete;
  FakeConsul& operator=(const FakeConsul&) = delete;

  std::string url() const;  // "http://127.0.0.1:PORT"
  void control(const std::string& json);
  std::vector<std::string> calls() const;  // since the last clear_calls()
  void clear_calls();
  // The body of the answer of a call to it. Errors: it does not say 200.
  Result<std::string> call(const std::string& method, const std::string& path, const std::string& body = "") const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Result<std::string> call(const std::string& url, const std::string& method, const std::string& path,
                         const std::string& body);

}  // namespace drover::consul::testing
