// A good plugin with one fault: a relay between the kit and drover-csi-hostpath, which spoils calls or answers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "../answers.h"
#include "../subject.h"
#include "csi/protocol/method_path.h"
#include "drover/mutex.h"

namespace drover::csi_kit {

// One call on its way through the relay.
struct Passing {
  const std::string& method;
  std::string request;    // bytes
  int times = 1;          // this method was called with the fault, this call included
  bool is_again = false;  // with the same bytes as a call before
  std::string socket_folder{};
  std::function<Result<std::string>(std::string request)> forward{};
  bool was_met = false;  // said by the fault: this call was spoiled
};

// One thing that is wrong with the plugin. A default one is none.
struct Fault {
  // The answer to a call that passes; nothing of it: forwards.
  std::function<Result<std::string>(Passing&)> relay{};
  std::function<void()> when_killed{};
  bool is_deaf = false;  // to SIGTERM
};

// The fault that is planted, if any, and whether it was met. [any]
class Soil {
 public:
  void plant(Fault fault);
  bool was_met() const;
  Result<std::string> pass(const std::string& method, std::string request, const std::string& socket_folder,
                           const std::function<Result<std::string>(std::string)>& forward);
  void killed();
  bool is_deaf();

 private:
  mutable Mutex mutex_;  // a leaf: the fault is copied out
  Fault fault_ DROVER_GUARDED_BY(mutex_);
  bool is_planted_ DROVER_GUARDED_BY(mutex_) = false, was_met_ DROVER_GUARDED_BY(mutex_) = false;
  std::multimap<std::string, std::string> seen_ DROVER_GUARDED_BY(mutex_);  // requests by method
};

std::unique_ptr<Subject> with_faults(Subject& good, Soil& soil);

// ---- faults of answers, by the type of the request

template <typename Request>
using AnswerOf = decltype(answer_of(std::declval<const Request&>()));

template <typename Request>
bool is_for(const Passing& passing) {
  return passing.method == csi::method_path(*Request::descriptor());
}

template <typename Request>
Request request_of(const Passing& passing) {
  Request request;
  (void)request.ParseFromString(passing.request);
  return request;
}

template <typename Request>
using Where = std::function<bool(const Passing&, const Request&)>;
template <typename Request>
bool everywhere(const Passing&, const Request&) {
  return true;
}

// For calls of that request, where it holds; all others are forwarded.
template <typename Request>
Fault on(Where<Request> where, std::function<Result<std::string>(Passing&)> answer) {
  return {.relay = [where, answer](Passing& passing) {
    passing.was_met = is_for<Request>(passing) && where(passing, request_of<Request>(passing));
    return passing.was_met ? answer(passing) : passing.forward(passing.request);
  }};
}

template <typename Request>
Fault fails(Code code, Where<Request> where = everywhere<Request>) {
  return on<Request>(where, [code](Passing&) -> Result<std::string> { return Status(code, "planted"); });
}
// From the second call on; from one with the same bytes on.
template <typename Request>
Fault fails_later(Code code, int from = 2) {
  return fails<Request>(code, [from](const Passing& passing, const Request&) { return passing.times >= from; });
}
template <typename Request>
Fault fails_again(Code code) {
  return fails<Request>(code, [](const Passing& passing, const Request&) { return passing.is_again; });
}
// Says OK and does nothing.
template <typename Request>
Fault pretends(Where<Request> where = everywhere<Request>) {
  return on<Request>(where, [](Passing&) -> Result<std::string> { return std::string(); });
}
// An error of the one code becomes the other; ok: an empty answer.
template <typename Request>
Fault says(Code right, Code wrong) {
  return on<Request>(everywhere<Request>, [=](Passing& passing) -> Result<std::string> {
    auto answer = passing.forward(passing.request);
    passing.was_met = answer.status().code() == right;
    if (!passing.was_met) return answer;
    if (wrong == Code::ok) return std::string();
    return Status(wrong, "planted");
  });
}
template <typename Request>
Fault edits(std::function<void(const Request&, AnswerOf<Request>&)> edit, Where<Request> where = everywhere<Request>) {
  return on<Request>(where, [edit](Passing& passing) -> Result<std::string> {
    DROVER_TRY(const std::string bytes, passing.forward(passing.request));
    AnswerOf<Request> answer;
    (void)answer.ParseFromString(bytes);
    edit(request_of<Request>(passing), answer);
    return answer.SerializeAsString();
  });
}
template <typename Request>
Fault edits_later(std::function<void(const Request&, AnswerOf<Request>&)> edit) {
  return edits<Request>(edit, [](const Passing& passing, const Request&) { return passing.times >= 2; });
}
// Takes another request for the one that came.
template <typename Request>
Fault hears(std::function<void(Request&)> change, Where<Request> where = everywhere<Request>) {
  return on<Request>(where, [change](Passing& passing) {
    Request request = request_of<Request>(passing);
    change(request);
    return passing.forward(request.SerializeAsString());
  });
}
// Does something more, after it has done what it was asked.
template <typename Request>
Fault also(std::function<void(const Passing&, const Request&)> deed) {
  return on<Request>(everywhere<Request>, [deed](Passing& passing) {
    auto answer = passing.forward(passing.request);
    if (answer.ok()) deed(passing, request_of<Request>(passing));
    return answer;
  });
}
Fault both(Fault first, Fault second);

}  // namespace drover::csi_kit
