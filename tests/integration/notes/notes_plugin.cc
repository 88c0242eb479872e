// One table, one command, one method that writes: what every write of a real plugin goes through, and nothing else.
#include "drover/plugin.h"
#include "notes.pb.h"

namespace drover::notes {
namespace {

constexpr auto kWriteTime = std::chrono::seconds(10);

class NotesPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    const auto name_of = [](std::string_view row) {
      Note note;
      note.ParseFromArray(row.data(), static_cast<int>(row.size()));
      return note.name();
    };
    DROVER_TRY(const TableId table, declare.table({.name = "notes", .message = "drover.notes.Note", .key = name_of}));
    const auto write = [table](const NoteWritten& command, ApplyContext& context) -> Result<std::string> {
      DROVER_RETURN_IF_ERROR(context.rows().put(table, serialize(command.note())));
      return std::string();
    };
    DROVER_RETURN_IF_ERROR(declare.command<NoteWritten>(write));
    return declare.service("drover.notes.Notes",
                           {method<&NotesPlugin::put>("Put", this), method<&NotesPlugin::ping>("Ping", this)});
  }

  Status start(Host& host) override {
    host_ = &host;
    return ok_status();
  }
  void stop(SteadyTime) override {}

 private:
  Result<PutResponse> put(const Note& note, Call& call) {
    NoteWritten command;
    *command.mutable_note() = note;
    DROVER_TRY(const Applied applied, host_->propose(command, host_->clock().steady() + kWriteTime));
    call.set_index(applied.index);
    PutResponse response;
    response.set_index(applied.index);
    return response;
  }

  Result<PutResponse> ping(const Note&, Call&) { return PutResponse(); }

  Host* host_ = nullptr;
};

}  // namespace
}  // namespace drover::notes

DROVER_MODULE(drover::notes::NotesPlugin, "module", "notes", "0.1.0");
