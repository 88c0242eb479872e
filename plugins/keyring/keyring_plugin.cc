// Root keys: what encrypts variables at rest and signs the tokens of tasks.
#include <filesystem>

#include "drover/config.h"
#include "drover/key_wrapper.h"
#include "drover/module.h"
#include "file_wrapper.h"
#include "keys.h"
#include "leader.h"
#include "replicator.h"
#include "rpc.h"
#include "tables.h"

namespace drover::keyring {
namespace {

constexpr const char* kOwnWrapper = "aead";

ConfigOption duration(std::string name, std::string fallback, std::string help) {
  return {.name = std::move(name),
          .type = ConfigType::duration,
          .default_text = std::move(fallback),
          .help = std::move(help),
          .min = 0.001,
          .is_api_text = true};
}

class KeyringPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "plugin",
        {.options = {{.name = "wrapper",
                      .default_text = kOwnWrapper,
                      .help = "What encrypts the root keys in this server's files: aead, a key in kek_file, or the "
                              "wrapper of another plugin."},
                     {.name = "kek_file",
                      .help = "The file with the key of the wrapper aead, 32 bytes in base64. It is made where there "
                              "is none. <data_dir>/server/keyring.kek by default."}}}));
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "server", {.options = {duration("root_key_gc_interval", "10m",
                                        "Time between looks for root keys to rotate or forget."),
                               duration("root_key_gc_threshold", "1h", "Age at which an unused root key is forgotten."),
                               duration("root_key_rotation_threshold", "720h",
                                        "Age at which the active root key is replaced by a new one.")}}));
    DROVER_RETURN_IF_ERROR(declare.extend<KeyWrapper>(kOwnWrapper, file_wrapper_));
    DROVER_RETURN_IF_ERROR(declare.extend<Keyring>("keyring", keys_));
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    return rpc_.declare_between_servers(declare);
  }

  Status start(Host& host) override {
    users_.start(host);
    Settings settings;
    if (const ConfigBlock* server = host.configuration("server")) {
      settings.gc_interval = server->duration("root_key_gc_interval", settings.gc_interval);
      settings.gc_threshold = server->duration("root_key_gc_threshold", settings.gc_threshold);
      settings.rotation_threshold = server->duration("root_key_rotation_threshold", settings.rotation_threshold);
    }
    rpc_.start(host);
    leader_.start(host, settings);
    DROVER_RETURN_IF_ERROR(open_files(host));
    replicator_.start(host);
    return ok_status();
  }

  void lead(std::stop_token stop) override { leader_.run(stop); }
  void stop(SteadyTime) override { replicator_.stop(); }

 private:
  Status open_files(Host& host) {
    const ConfigBlock* own = host.configuration("plugin");
    const std::string name = own ? own->string("wrapper", kOwnWrapper) : kOwnWrapper;
    KeyWrapper* wrapper = host.extension<KeyWrapper>(name);
    if (!wrapper) {
      std::string known;
      for (const std::string& each : host.extensions<KeyWrapper>()) known += (known.empty() ? "" : ", ") + each;
      return invalid_argument("plugin \"keyring\": wrapper: there is no \"" + name + "\"; there are: " + known);
    }
    const std::string folder = host.agent().data_dir + "/server/keystore";
    if (name == kOwnWrapper) {
      std::string path = own ? own->string("kek_file") : "";
      if (path.empty()) path = host.agent().data_dir + "/server/keyring.kek";
      std::error_code error;
      const bool is_new = !std::filesystem::exists(folder, error) || std::filesystem::is_empty(folder, error);
      DROVER_RETURN_IF_ERROR(file_wrapper_.start(path, is_new));
    }
    return keys_.start(std::make_unique<KeyFiles>(folder, name, *wrapper));
  }

  Tables tables_;
  Users users_;
  FileWrapper file_wrapper_;
  Keys keys_{tables_};
  Leader leader_{tables_, users_, keys_};
  Replicator replicator_{tables_, keys_};
  Rpc rpc_{tables_, users_, keys_, leader_};
};

}  // namespace
}  // namespace drover::keyring

DROVER_MODULE(drover::keyring::KeyringPlugin, "module", "keyring", "0.1.0");
