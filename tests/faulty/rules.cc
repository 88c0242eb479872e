#include "rules.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "drover/duration.h"
#include "drover/messages.h"
#include "fields.h"
#include "sdk/serve/base_service.h"
#include "specials.h"

namespace drover::faulty {
namespace {

using google::protobuf::Message;
using serve::Call;
using serve::Handler;
using serve::Methods;
using MessagePtr = std::unique_ptr<Message>;

std::string short_name(const std::string& method) { return method.substr(method.rfind('/') + 1); }

// The whole name of a method that a table calls by its last word: one that the plugin has, or else a driver's.
std::string whole_name(const Methods& methods, const std::string& name) {
  if (name.starts_with('/')) return name;
  for (const auto& [method, handler] : methods) {
    if (short_name(method) == name) return method;
  }
  return "/hashicorp.nomad.plugins.drivers.proto.Driver/" + name;
}

// An empty request or answer of a method; of those that no .proto here has, a message without fields.
MessagePtr new_message(std::string method, bool is_answer) {
  const auto& pool = *google::protobuf::DescriptorPool::generated_pool();
  method.erase(0, 1).replace(method.find('/'), 1, ".");
  const auto* found = pool.FindMethodByName(method);
  const auto* type = !found      ? google::protobuf::Empty::descriptor()
                     : is_answer ? found->output_type()
                                 : found->input_type();
  return MessagePtr(google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
}

// The identifier of the task that a request is about.
std::string task_id(Message& request) {
  for (const std::string path : {"handle.config.id", "task.id", "setup.task_id", "task_id"}) {
    const std::string first = path.substr(0, path.find('.'));
    const auto* field = request.GetDescriptor()->FindFieldByName(first);
    const bool fits = field && (first == path || field->message_type());
    if (fits && has_field(request, first)) return field_text(request, path).value_or("");
  }
  return "";
}

bool compares(const std::string& found, const std::string& op, const std::string& wanted) {
  if (op == "=") return found == wanted;
  if (op == "has") return found.find(wanted) != std::string::npos;
  if (op == "begins") return found.starts_with(wanted);
  if (op == "ends") return found.ends_with(wanted);
  return op == "<" ? std::stoll(found) < std::stoll(wanted) : std::stoll(found) > std::stoll(wanted);
}

// One moment at which a rule may hold.
class Moment {
 public:
  Moment(const Rule& rule, const std::string& method, const WorldPtr& world, Call* call)
      : rule_(rule), world_(world), call_(call), method_(method) {
    if (!call) return;
    request_ = new_message(method, false);
    is_garbage_ = !request_->ParseFromString(call->request());
    id_ = task_id(*request_);
  }

  // Takes the status or the answer that the conditions also ask about.
  void see(const Status& said) { said_ = said; }
  void see(const std::string& answer) {
    answer_ = new_message(method_, true);
    (void)answer_->ParseFromString(answer);
  }

  bool holds() {
    for (const Condition& each : rule_.conditions) {
      if (holds(each) == each.is_negated) return false;
    }
    return true;
  }
  void act(const Handler& inner) {
    for (const Action& each : rule_.actions) act(each, inner);
  }

  // Afterwards.
  std::optional<Status> status;  // the call's, which is over
  bool is_changed = false, is_dropped = false, is_last = false;
  std::string bytes() { return serialize(message()); }

 private:
  Message& message() { return answer_ ? *answer_ : *request_; }

  bool holds(const Condition& c) {
    if (c.what == "ok") return said_.ok();
    if (c.what == "fails") return to_string(said_.code()) == c.name;
    if (c.what == "says")
      return !said_.ok() && said_.code() != Code::cancelled && compares(said_.message(), "has", text(c.name));
    if (c.what == "cancelled") return call_->stop().stop_requested();
    if (c.what == "garbage") return is_garbage_;
    if (c.what == "env") return std::getenv(c.name.c_str()) != nullptr;
    if (c.what == "has") return has_field(message(), c.name);
    if (c.what == "field") {
      const auto found = field_text(message(), c.name);
      return found && compares(*found, c.op, text(c.value));
    }
    if (c.what == "task") return task_is(c.name);
    if (c.what == "crashed") {
      const std::lock_guard lock(world_->mutex);
      return world_->instances > 1 && world_->crashed_in.contains(c.name);
    }
    return compares(std::to_string(number(c)), c.op, c.value);
  }

  size_t number(const Condition& c) {
    if (c.what == "calls") return calls();
    if (c.what == "size") return c.name == "request" ? call_->request().size() : field_size(message(), c.name);
    const std::string mark = text(c.name);
    const std::lock_guard lock(world_->mutex);
    if (c.what == "instance") return static_cast<size_t>(world_->instances);
    if (c.what == "open") return world_->in_flight.count(mark);
    if (c.what == "marked") return world_->counts.contains(mark) ? world_->counts.at(mark) : 0;
    size_t running = 0;
    for (const auto& [id, task] : world_->tasks) running += task->result ? 0 : 1;
    return running;
  }

  size_t calls() {
    if (calls_ == 0) {
      const std::lock_guard lock(world_->mutex);
      calls_ = ++world_->counts["calls " + std::to_string(reinterpret_cast<uintptr_t>(&rule_))];
    }
    return calls_;
  }

  bool task_is(const std::string& wanted) const {
    const std::lock_guard lock(world_->mutex);
    const auto task = world_->tasks.find(id_);
    if (task == world_->tasks.end()) return false;
    if (wanted == "ended") return task->second->result.has_value();
    return wanted == "known" || task->second->kind == wanted;
  }

  std::string value_of(const std::string& name) {
    if (name == "calls") return std::to_string(calls());
    if (name == "id") return id_;
    if (name == "error") return said_.message();
    if (name.starts_with("x*")) return std::string(std::stoul(name.substr(2)), 'x');
    if (name == "instance") {
      const std::lock_guard lock(world_->mutex);
      return std::to_string(world_->instances);
    }
    const size_t colon = name.find(':');
    const std::string whole = field_text(message(), name.substr(0, colon)).value_or("");
    return colon == std::string::npos ? whole : whole.substr(std::stoul(name.substr(colon + 1)));
  }
  std::string text(const std::string& form) {
    std::string out;
    for (size_t i = 0; i < form.size(); ++i) {
      const size_t end = form[i] == '<' ? form.find('>', i) : std::string::npos;
      if (end == std::string::npos) {
        out += form[i];
      } else {
        out += value_of(form.substr(i + 1, end - i - 1));
        i = end;
      }
    }
    return out;
  }

  void act(const Action& a, const Handler& inner) {
    if (a.what == "set" || a.what == "clear") {
      is_changed = !is_garbage_;
      if (a.what == "set") return set_field(message(), a.name, text(a.value));
      return clear_field(message(), a.name);
    }
    if (a.what == "answer") {
      const MessagePtr answer = new_message(method_, true);
      DROVER_CHECK(google::protobuf::TextFormat::ParseFromString(text(a.name), answer.get()));
      (void)call_->send(serialize(*answer));
      status = ok_status();
    }
    if (a.what == "refuse") status = Status(Code::unknown, text(a.name));
    if (a.what == "say") status = Status(said_.code(), text(a.name));
    if (a.what == "do" && call_) status = special(a.name)(inner, *call_, world_);
    if (a.what == "do" && !call_) process_special(a.name);
    if (a.what == "delay") (void)serve::wait(*call_, *parse_duration(a.name));
    if (a.what == "hang") call_ ? serve::wait_end(*call_) : (void)::pause();
    if (a.what == "drop") is_dropped = true;
    if (a.what == "last") is_last = true;
    if (a.what == "log") (void)std::fprintf(stderr, "%s\n", text(a.name).c_str());
    if (a.what == "print") (void)!::write(STDOUT_FILENO, a.name.data(), a.name.size());
    if (a.what == "setenv") (void)::setenv(a.name.c_str(), a.value.c_str(), 1);
    if (a.what == "unsetenv") (void)::unsetenv(a.name.c_str());
    if (a.what == "exit") std::_Exit(3);
    if (world_) act_on_world(a.what, text(a.name));
  }

  void act_on_world(const std::string& what, const std::string& name) {
    std::vector<std::stop_source> broken;  // stopped without the mutex, which those that wait need
    {
      const std::lock_guard lock(world_->mutex);
      if (what == "mark") ++world_->counts[name];
      for (const auto& [id, task] : world_->tasks) {
        if (what == "end-all" || (what == "end-task" && id == id_)) world_->end(*task, 0, 9);
        if (what == "fall-silent" && id == id_) task->writer.request_stop();
      }
      for (const auto& [method, call] : world_->in_flight) {
        if (what == "break" && method == name && call.task_id == id_) broken.push_back(call.end);
      }
    }
    for (std::stop_source& each : broken) each.request_stop();
  }

  const Rule& rule_;
  const WorldPtr world_;
  Call* const call_;  // null before a program serves
  const std::string method_;
  MessagePtr request_, answer_;
  bool is_garbage_ = false;
  std::string id_;
  Status said_;
  size_t calls_ = 0;
};

// A call with a request, answers and an end of its own.
class Altered final : public Call {
 public:
  using Send = std::function<bool(std::string&, Altered&)>;  // no: the answer is swallowed
  Altered(Call& inner, std::string request, Send send = {})
      : inner_(inner),
        request_(std::move(request)),
        send_(std::move(send)),
        gone_(inner.stop(), [this] { end.request_stop(); }) {}
  const std::string& request() const override { return request_; }
  std::optional<std::string> receive(std::stop_token stop) override { return inner_.receive(std::move(stop)); }
  bool send(std::string message) override {
    if (is_over) return false;
    return send_ && !send_(message, *this) ? true : inner_.send(std::move(message));
  }
  std::stop_token stop() const override { return end.get_token(); }

  std::stop_source end;
  bool is_over = false;  // for the plugin

 private:
  Call& inner_;
  const std::string request_;
  const Send send_;
  const std::stop_callback<std::function<void()>> gone_;
};

Handler with_rule(const Rule& rule, const std::string& method, const WorldPtr& world, Handler inner) {
  if (rule.phase == "on") {
    return [=, &rule](Call& call) -> Status {
      Moment moment(rule, method, world, &call);
      if (!moment.holds()) return inner(call);
      moment.act(inner);
      if (moment.status) return *moment.status;
      if (!moment.is_changed) return inner(call);
      Altered altered(call, moment.bytes());
      return inner(altered);
    };
  }
  if (rule.phase == "after") {
    return [=, &rule](Call& call) -> Status {
      const Status status = inner(call);
      Moment moment(rule, method, world, &call);
      moment.see(status);
      if (moment.holds()) moment.act(inner);
      return moment.status.value_or(status);
    };
  }
  return [=, &rule](Call& call) -> Status {
    Altered altered(call, call.request(), [&](std::string& bytes, Altered& own) {
      Moment moment(rule, method, world, &call);
      moment.see(bytes);
      if (!moment.holds()) return true;
      moment.act(inner);
      if (moment.is_changed) bytes = moment.bytes();
      if (moment.is_last) {
        own.is_over = true;
        own.end.request_stop();
      }
      return !moment.is_dropped;
    });
    const Status status = inner(altered);
    return altered.is_over ? ok_status() : status;
  };
}

// Keeps the world's record of a method.
Handler tracked(const std::string& method, const WorldPtr& world, Handler inner) {
  return [=](Call& call) {
    Altered own(call, call.request());
    const MessagePtr request = new_message(method, false);
    (void)request->ParseFromString(call.request());
    {
      const std::lock_guard lock(world->mutex);
      world->in_flight.insert({short_name(method), {task_id(*request), own.end}});
    }
    const Status status = inner(own);
    const std::lock_guard lock(world->mutex);
    std::erase_if(world->in_flight, [&](const auto& each) { return each.second.end == own.end; });
    return status;
  };
}

}  // namespace

void apply(const Fault* fault, Methods& methods, const WorldPtr& world) {
  for (const Rule& rule : fault ? std::span(fault->rules) : std::span<const Rule>()) {
    for (const std::string& name : rule.phase == "at" ? std::span<const std::string>() : std::span(rule.methods)) {
      const std::string method = whole_name(methods, name);
      methods[method] = with_rule(rule, method, world, methods[method]);
    }
  }
  for (auto& [method, handler] : methods) handler = tracked(method, world, handler);
}

void apply_at(std::string_view point, const Fault& fault) {
  for (const Rule& rule : fault.rules) {
    Moment moment(rule, "", nullptr, nullptr);
    if (rule.phase == "at" && rule.methods[0] == point && moment.holds()) moment.act({});
  }
}

}  // namespace drover::faulty
