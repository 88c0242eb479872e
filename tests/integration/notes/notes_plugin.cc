// One table, one command, one method that writes: the path of every write of a real plugin, and nothing else.
#include <condition_variable>
#include <mutex>

#include "drover/module.h"
#include "notes.pb.h"

namespace drover::notes {
namespace {

constexpr auto kWriteTime = std::chrono::seconds(10);
constexpr uint32_t kMaxWriters = 4096;
constexpr uint32_t kMaxMilliseconds = 60'000;

// Writers that propose again when they are answered. The calls under way keep it alive.
class Burst : public std::enable_shared_from_this<Burst> {
 public:
  Burst(Host& host, const BurstRequest& request)
      : host_(host),
        request_(request),
        until_(host.clock().steady() + std::chrono::milliseconds(request.milliseconds())) {}

  BurstResponse run() {
    open_ = request_.writers();
    for (uint32_t i = 0; i < request_.writers(); ++i) write("burst-" + std::to_string(i));
    std::unique_lock lock(mutex_);
    over_.wait(lock, [this] { return open_ == 0; });
    return std::move(response_);
  }

 private:
  void write(const std::string& name) {
    NoteWritten command;
    command.mutable_note()->set_name(name);
    command.mutable_note()->set_text(std::string(request_.text_bytes(), 't'));
    const SteadyTime begun = host_.clock().steady();
    host_.propose(NoteWritten::descriptor()->full_name(), serialize(command), begun + kWriteTime, 0,
                  [self = shared_from_this(), name, begun](const Result<Applied>& applied) {
                    self->written(name, begun, applied.ok());
                  });
  }

  void written(const std::string& name, SteadyTime begun, bool is_ok) {
    const SteadyTime now = host_.clock().steady();
    const bool goes_on = is_ok && now < until_;  // a server that no longer leads would refuse without end
    {
      const std::lock_guard lock(mutex_);
      if (is_ok) {
        response_.add_microseconds(std::chrono::duration<float, std::micro>(now - begun).count());
      } else {
        response_.set_failed(response_.failed() + 1);
      }
      if (!goes_on && --open_ == 0) over_.notify_one();
    }
    if (goes_on) write(name);
  }

  Host& host_;
  const BurstRequest request_;
  const SteadyTime until_;
  std::mutex mutex_;
  std::condition_variable over_;
  uint32_t open_ = 0;  // guarded by mutex_, like the following
  BurstResponse response_;
};

struct Commands {
  Table<Note> notes;

  Result<std::string> written(const NoteWritten& command, ApplyContext& context) const {
    DROVER_RETURN_IF_ERROR(notes.put(context.rows(), command.note()));
    return std::string();
  }
};

class NotesPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_TRY(Table<Note> notes,
               declare.table<Note>("notes", {}, [](const Note& note, RowKeys& keys) { keys.primary(note.name()); }));
    DROVER_RETURN_IF_ERROR(declare.command<&Commands::written>(std::make_shared<Commands>(Commands{notes})));
    DROVER_RETURN_IF_ERROR(declare.service("drover.notes.Bursts", {method<&NotesPlugin::burst>("Run", this)}));
    return declare.service("drover.notes.Notes",
                           {method<&NotesPlugin::put>("Put", this), method<&NotesPlugin::ping>("Ping", this)});
  }

  Status start(Host& host) override {
    host_ = &host;
    return ok_status();
  }
  void stop(SteadyTime) override {}

 private:
  Result<Write<PutResponse>> put(const Note& note, Call&) {
    NoteWritten command;
    *command.mutable_note() = note;
    return Write<PutResponse>(command, [](const Applied& applied) {
      PutResponse response;
      response.set_index(applied.index);
      return response;
    });
  }

  Result<PutResponse> ping(const Note&, Call&) { return PutResponse(); }

  Result<BurstResponse> burst(const BurstRequest& request, Call&) {
    if (request.writers() == 0 || request.writers() > kMaxWriters) {
      return invalid_argument("writers: between 1 and " + std::to_string(kMaxWriters));
    }
    if (request.milliseconds() > kMaxMilliseconds) {
      return invalid_argument("milliseconds: at most " + std::to_string(kMaxMilliseconds));
    }
    return std::make_shared<Burst>(*host_, request)->run();
  }

  Host* host_ = nullptr;
};

}  // namespace
}  // namespace drover::notes

DROVER_MODULE(drover::notes::NotesPlugin, "module", "notes", "0.1.0");
