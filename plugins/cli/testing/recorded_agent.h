// An agent that says what it was told to say, for tests of commands: it listens on this machine and answers each path
// by a recorded answer.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli_command.h"
#include "testing/test_host.h"

namespace drover::cli::testing {

class RecordedAgent {
 public:
  struct Asked {
    std::string line;  // "PUT /v1/volumes?namespace=prod"
    std::string body, secrets;
  };

  RecordedAgent() : acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::jthread([this] { serve(); });
  }
  ~RecordedAgent() {
    boost::system::error_code ignored;
    is_over_ = true;
    boost::asio::ip::tcp::socket wake(io_);
    wake.connect(acceptor_.local_endpoint(), ignored);  // the thread waits for the next one
    thread_.join();
  }
  RecordedAgent(const RecordedAgent&) = delete;
  RecordedAgent& operator=(const RecordedAgent&) = delete;

  // `line`: as Asked has it. What has no answer is not found.
  void says(const std::string& line, std::string body, unsigned status = 200, std::string next_token = {}) {
    const std::lock_guard lock(mutex_);
    answers_[line] = {status, std::move(body), std::move(next_token)};
  }
  std::vector<Asked> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

 private:
  struct Answer {
    unsigned status = 404;
    std::string body = "not found", next_token = {};
  };
  void serve() {
    namespace http = boost::beast::http;
    while (!is_over_) {
      boost::system::error_code error;
      boost::asio::ip::tcp::socket socket(io_);
      acceptor_.accept(socket, error);
      boost::beast::flat_buffer buffer;
      while (!error && !is_over_) {
        http::request<http::string_body> request;
        http::read(socket, buffer, request, error);
        if (error) break;
        const Answer answer = answer_to(request);
        http::response<http::string_body> response(http::int_to_status(answer.status), 11, answer.body);
        if (!answer.next_token.empty()) response.set("X-Nomad-NextToken", answer.next_token);
        response.keep_alive(false);  // one thread serves one connection after the other
        response.prepare_payload();
        http::write(socket, response, error);
        break;
      }
    }
  }
  template <typename Request>
  Answer answer_to(const Request& request) {
    const std::lock_guard lock(mutex_);
    Asked& asked = asked_.emplace_back();
    asked.line = std::string(request.method_string()) + " " + std::string(request.target());
    asked.body = request.body();
    asked.secrets = std::string(request["X-Nomad-CSI-Secrets"]);
    const auto at = answers_.find(asked.line);
    return at == answers_.end() ? Answer{} : at->second;
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> is_over_ = false;
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<Asked> asked_;
  std::jthread thread_;
};

// The end of a command.
struct Said {
  int code;
  std::string out, err;
};

// Runs the command of that name with these arguments against the agent.
inline Said run_command(std::vector<Definition> definitions, const std::string& name, std::vector<std::string> words,
                        const RecordedAgent& agent, const std::string& input = {}) {
  words.push_back("-address=" + agent.address());
  for (Definition& definition : definitions) {
    if (definition.name != name) continue;
    TestHost host(input);
    const int code = make_command(std::move(definition))->run(words, host);
    return {code, host.printed.str(), host.complained.str()};
  }
  return {-1, "", "no such command: " + name};
}

}  // namespace drover::cli::testing
