#include "mortal_channel.h"

#include <functional>
#include <utility>

namespace drover::plugin_programs {
namespace {

Status gone() { return unavailable("the plugin has gone"); }

// Messages or a Dialogue.
template <typename Stream>
class Mortal : public Stream {
 public:
  Mortal(std::shared_ptr<Stream> inner, const std::stop_token& ended)
      : inner_(std::move(inner)), ended_(ended), cancel_(ended, [this] { inner_->cancel(); }) {}

  std::optional<std::string> next() override { return inner_->next(); }
  std::optional<std::string> newest(SteadyTime deadline) override { return inner_->newest(deadline); }
  Status status() const override {
    const Status status = inner_->status();
    return status.code() == Code::cancelled && ended_.stop_requested() ? gone() : status;
  }
  void cancel() override { inner_->cancel(); }

 protected:
  const std::shared_ptr<Stream> inner_;

 private:
  const std::stop_token ended_;
  const std::stop_callback<std::function<void()>> cancel_;
};

class MortalDialogue final : public Mortal<Dialogue> {
 public:
  using Mortal::Mortal;
  bool say(std::string message) override { return inner_->say(std::move(message)); }
  void finish() override { inner_->finish(); }
};

}  // namespace

Result<std::string> MortalChannel::call(const std::string& method, std::string request,
                                        std::optional<SteadyTime> deadline, std::stop_token stop) {
  std::stop_source either;
  const std::stop_callback by_end(ended_.get_token(), [&either] { either.request_stop(); });
  const std::stop_callback by_caller(stop, [&either] { either.request_stop(); });
  auto answer = inner_->call(method, std::move(request), deadline, either.get_token());
  const bool was_cut = answer.status().code() == Code::cancelled && !stop.stop_requested();
  if (was_cut && ended_.stop_requested()) return gone();
  return answer;
}

std::shared_ptr<Messages> MortalChannel::open(const std::string& method, std::string request, Messages::Keep keep) {
  return std::make_shared<Mortal<Messages>>(inner_->open(method, std::move(request), keep), ended_.get_token());
}

std::shared_ptr<Dialogue> MortalChannel::talk(const std::string& method) {
  return std::make_shared<MortalDialogue>(inner_->talk(method), ended_.get_token());
}

}  // namespace drover::plugin_programs
