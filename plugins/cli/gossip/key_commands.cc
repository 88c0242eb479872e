// operator gossip keyring generate, install, use, remove, list.
#include "cli_command.h"
#include "drover/api/members.pb.h"
#include "drover/base64.h"
#include "drover/read_all.h"
#include "drover/secret.h"
#include "drover/trim.h"
#include "gossip/key_text.h"

namespace drover::cli {
namespace {

constexpr size_t kKeyBytes = 32;

int generate(Run& run) {
  run.out << base64_encode(random_secret(kKeyBytes)) << "\n";
  return 0;
}

int list(Run& run) {
  run.out << "Gathering installed encryption keys...\n";
  const auto keys = run.client.call<v1::GossipKeyring::List>({});
  if (!keys) return run.fail("Error listing the keys", keys.status());
  run.out << key_list_text(keys->message);
  run.err << key_messages_text(keys->message);
  return 0;
}

// A step on all servers, with the line that says which.
template <typename Method>
int step(Run& run, const char* progress) {
  const std::string typed = run.arguments.positional()[0];
  v1::GossipKeyRequest request;
  request.set_key(std::string(trim(typed == "-" ? read_all(run.host.in()) : typed)));
  run.out << progress << std::endl;
  const auto done = run.client.call<Method>(request);
  if (!done) return run.fail("Error changing the keys", done.status());
  run.err << key_messages_text(done->message);
  return 0;
}

int install(Run& run) {
  return step<v1::GossipKeyring::Install>(run, "Installing new gossip encryption key...");
}
int use(Run& run) { return step<v1::GossipKeyring::Use>(run, "Changing primary gossip encryption key..."); }
int remove(Run& run) { return step<v1::GossipKeyring::Remove>(run, "Removing gossip encryption key..."); }

}  // namespace

std::vector<Definition> gossip_key_commands() {
  const std::string of_key = "  With - the key is read from standard input, and no list of processes shows it.\n";
  return {
      {"operator gossip keyring generate", "Makes a key for the gossip between servers.", "", "", {}, 0, 0, generate},
      {"operator gossip keyring list", "Lists the keys of the gossip, and how many servers have each.", "",
       "", {}, 0, 0, list},
      {"operator gossip keyring install", "Gives a key to all servers, which then understand it.", "<key>", of_key, {},
       1, 1, install},
      {"operator gossip keyring use", "Makes all servers seal with a key that all have.", "<key>", of_key, {}, 1, 1,
       use},
      {"operator gossip keyring remove", "Takes a key that no server seals with from all of them.", "<key>", of_key, {},
       1, 1, remove}};
}

}  // namespace drover::cli
