// Arrows point at the SDK: who may include what, and which file may know which library.
#include <map>
#include <optional>

#include "gtest/gtest.h"
#include "tests/architecture/source_tree.h"

namespace drover::architecture {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool begins_with_one_of(std::string_view word, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view b) { return word.starts_with(b); });
}

// The headers of the tree, to tell a neighbour from a stranger.
class Tree {
 public:
  explicit Tree(const std::vector<SourceFile>& files) {
    for (const SourceFile& file : files) paths_.push_back(file.path);
    std::ranges::sort(paths_);
  }
  bool has(const std::string& path) const {
    return std::ranges::binary_search(paths_, std::filesystem::path(path).lexically_normal().string());
  }

 private:
  std::vector<std::string> paths_;
};

// Why this include is a broken arrow; nothing when it is a good one.
std::optional<std::string> broken_arrow(const std::string& path, const Include& include, const Tree& tree) {
  const std::vector<std::string> from = split(path, '/');
  const std::string& name = include.name;
  const std::string& house = from[0];
  const bool is_test = path.ends_with("_test.cc") || path.find("/testing/") != std::string::npos;

  if (name.starts_with("kernel/")) {
    if (house == "tests") return std::nullopt;  // of the kernel, with everything around it
    if (house != "kernel") return "only the kernel and its tests include the kernel";
    const std::vector<std::string> to = split(name, '/');
    const std::string from_room = from.size() > 2 ? from[1] : "";
    const std::string to_room = to.size() > 2 ? to[1] : "";
    if (from_room.empty() || from_room == to_room) return std::nullopt;
    if (to_room.empty()) return "a room of the kernel does not include what is composed of the rooms";
    static const std::map<std::string, std::vector<std::string>> kBelow = {
        {"raft", {}}, {"state", {}}, {"rpc", {"state"}}, {"host", {"rpc", "raft", "state"}}};
    const auto below = kBelow.find(from_room);
    if (below == kBelow.end()) return "kernel/" + from_room + " is no room of the kernel";
    if (std::ranges::find(below->second, to_room) == below->second.end())
      return "kernel/" + from_room + " does not include kernel/" + to_room;
    return std::nullopt;
  }
  // The parts of csi/ share a library, which is linked into each of them.
  if (house == "csi" && (name.starts_with("csi/protocol/") || name == "csi/v1/csi.pb.h")) return std::nullopt;
  for (std::string_view other : {"plugins/", "drivers/", "csi/", "devices/", "checks/", "auth/", "examples/"}) {
    if (name.starts_with(other)) {
      if (house == "tests") return std::nullopt;
      return "nothing includes a plugin by its path: plugins meet through methods, tables and extension points";
    }
  }
  if (!include.is_quoted) return std::nullopt;

  if (name.starts_with("drover/") || name.starts_with("nomad/plugins/")) return std::nullopt;  // the SDK
  if (name.starts_with("gtest/") || name.starts_with("gmock/")) return std::nullopt;
  if (name.starts_with("storage/")) {
    if (is_one_of(house, {"storage", "kernel", "tests"}) ||
        begins_with_one_of(path, {"plugins/cli/", "plugins/snapshots/", "plugins/agent/offline/"}))
      return std::nullopt;
    return "formats on disk are for the kernel and for the commands that look at the files of agents";
  }
  if (name.starts_with("sdk/testing/")) {
    if (is_test || house == "tests") return std::nullopt;
    return "the SDK's test kits are for tests";
  }
  if (name.starts_with("sdk/serve/") && house == "tests") return std::nullopt;  // tests make plugins, call by call
  if (name == "sdk/serve/server.h" && path.starts_with("csi/hostpath/")) return std::nullopt;  // a protocol of its own
  if (name.starts_with("tests/support/")) {
    if (house == "tests" || (is_one_of(house, {"kernel", "storage"}) && (is_test || path.ends_with("test_support.h"))))
      return std::nullopt;
    return "what tests share is for tests";
  }
  if (house == "sdk") {
    const std::string beside = std::filesystem::path(path).parent_path() / name;
    if (tree.has(beside) || name.ends_with(".pb.h")) return std::nullopt;
    return "the SDK includes its own headers only";
  }
  if (house == "storage") return "storage includes itself and the SDK only";
  if (house == "kernel") return "the kernel includes \"kernel/…\" and \"drover/…\" only";
  if (house == "tests") {
    if (name.starts_with("tests/") || tree.has(std::filesystem::path(path).parent_path() / name)) return std::nullopt;
    if (!name.starts_with("..") && name.ends_with(".pb.h")) return std::nullopt;
    return "a test includes its own headers, the SDK and what it tests";
  }
  // A plugin: its own folder, by a path from its root or from beside the file, or its own generated messages.
  const std::string root = from.size() > 2 ? from[0] + "/" + from[1] : from[0];
  const std::string from_root = std::filesystem::path(root + "/" + name).lexically_normal();
  const std::string beside = (std::filesystem::path(path).parent_path() / name).lexically_normal();
  if (from_root.starts_with(root + "/") && tree.has(from_root)) return std::nullopt;
  if (beside.starts_with(root + "/") && tree.has(beside)) return std::nullopt;
  if (name.ends_with(".pb.h") && tree.has(root + "/" + name.substr(0, name.size() - 5) + ".proto")) return std::nullopt;
  return "a plugin includes the SDK and its own folder only";
}

struct Library {
  std::string_view name;
  std::initializer_list<std::string_view> headers;  // how their names begin
  std::initializer_list<std::string_view> files;    // that may include them: paths, or folders with their '/'
};

// Where third-party headers live. A tree that needs another place for one of them says so here.
const std::initializer_list<Library> kLibraries = {
    {"gRPC",
     {"grpc"},
     {"checks/grpc/health_checks_test.cc", "checks/grpc/health_call.cc", "plugins/grpc/credentials.h", "plugins/grpc/queues.h", "plugins/grpc/server.cc", "plugins/grpc/stream.cc", "plugins/grpc/stream.h",
      "sdk/plugin_programs/callback_threads.cc", "sdk/plugin_programs/callback_threads_test.cc",
      "sdk/plugin_programs/channel.cc", "sdk/serve/grpc_server.cc", "tests/bench/raft_write/load.cc",
      "tests/bench/raft_write/load.h", "tests/integration/access_matrix/rpc_port.cc"}},
    {"Boost.Multiprecision", {"boost/multiprecision/"}, {"sdk/hcl/big_number.h"}},
    {"Boost.DLL", {"boost/dll"}, {"kernel/host/loader.cc"}},
    {"LevelDB", {"leveldb/"}, {"storage/local_store.cc", "tests/bench/"}},
    {"Abseil", {"absl/"}, {"plugins/grpc/stream.cc", "sdk/model/periodic/time_zone.cc"}},
    {"spdlog", {"spdlog/"}, {"kernel/log_sink.cc"}},
    {"cxxopts", {"cxxopts"}, {"csi/hostpath/options.cc", "plugins/cli/"}},
    {"zlib", {"zlib.h"}, {"plugins/http/gzip.cc", "plugins/http/http_test.cc", "plugins/http/gzip_test.cc"}},
    {"libarchive",
     {"archive.h", "archive_entry.h"},
     {"plugins/agent/disk/disk_archive_test.cc", "plugins/agent/disk/pack_data.cc", "plugins/agent/disk/unpack_data.cc",
      "plugins/artifacts/fetcher/fetch_test.cc", "plugins/artifacts/fetcher/unpack.cc",
      "plugins/artifacts/fetcher/unpack_test.cc", "plugins/cli/debug/bundle.cc", "storage/snapshot_archive.cc", "tests/support/gzip_text.h"}},
    {"utf8proc", {"utf8proc"}, {"sdk/hcl/unicode.cc"}},
    {"yaml-cpp", {"yaml-cpp/"}, {"sdk/hcl/functions_yaml.cc"}},
    {"RE2",
     {"re2/"},
     {"plugins/templates/functions/regex.cc", "sdk/hcl/functions_regex.cc", "sdk/model/constraint.cc",
      "sdk/model/filter/filter.cc", "sdk/module/machine_addresses.cc"}},
    {"OpenSSL",
     {"openssl/"},
     {"auth/oidc/signing.cc", "checks/http/http_checks_test.cc", "kernel/host/loader.cc",
      "plugins/artifacts/fetcher/digest.cc",
      "plugins/cli/tls/certificates.cc", "plugins/cli/tls/certificates_test.cc", "plugins/gossip/seal.cc",
      "plugins/http/testing/server_fixture.h", "plugins/http/transport/tls_settings.cc",
      "plugins/http/transport/tls_settings_test.cc", "plugins/keyring/crypto/cipher.cc",
      "plugins/keyring/crypto/signer.cc",
      "sdk/hcl/functions_crypto.cc", "sdk/hcl/functions_crypto_test.cc", "sdk/encoding/sha256.cc",
      "sdk/config/tls_identity.cc", "sdk/jose/auth_config.cc", "sdk/jose/key.cc", "sdk/jose/pem.h",
      "sdk/testing/identity_provider/signing_key.cc"}},
    {"libcrypt", {"crypt.h"}, {"sdk/hcl/functions_crypto.cc", "sdk/hcl/functions_crypto_test.cc"}},
    {"Boost.Asio and Beast",
     {"boost/asio", "boost/beast"},
     {"plugins/http/conversation.cc", "plugins/http/conversation.h", "plugins/http/server.cc",
      "plugins/http/session.cc", "plugins/http/session.h", "plugins/http/transport/patience.cc",
      "plugins/http/transport/patience.h", "plugins/http/transport/refusal.cc", "plugins/http/transport/stream.h",
      "plugins/http/transport/tls_settings.cc", "plugins/cli/client/curl_stream.h",
      "plugins/cli/client/exec_client.cc", "plugins/cli/client/https_test.cc", "plugins/gossip/network.cc",
      "drivers/docker/engine/exchange.cc", "plugins/cli/login/login_test.cc",
      "plugins/cli/testing/recorded_agent.h", "plugins/dns/server.cc", "plugins/dns/server_test.cc",
      "sdk/testing/identity_provider/web_server.cc"}},
    {"libcurl",
     {"curl/"},
     {"checks/http/exchange.cc", "plugins/artifacts/fetcher/http.cc", "plugins/cli/client/connection.h", "plugins/cli/client/curl_stream.h",
      "sdk/http_client/http_client.cc", "tests/integration/access_matrix/access_matrix.cc"}},
};

std::optional<std::string> misplaced_library(const std::string& path, const Include& include) {
  for (const Library& library : kLibraries) {
    if (!begins_with_one_of(include.name, library.headers)) continue;
    const bool is_named =
        is_one_of(path, library.files) || std::ranges::any_of(library.files, [&](std::string_view place) {
          return place.ends_with('/') && path.starts_with(place) && path.ends_with(".cc");
        });
    if (!is_named) return std::string(library.name) + " stays behind its named files";
  }
  if (include.name == "nlohmann/json.hpp" && !path.ends_with(".cc"))
    return "nlohmann/json.hpp costs a second of every includer: a header includes json_fwd.hpp";
  return std::nullopt;
}

template <typename Rule>
std::vector<std::string> violations(const std::vector<SourceFile>& files, Rule rule) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    for (const Include& include : includes_of(file.text)) {
      if (auto why = rule(file.path, include))
        found.push_back(file.path + ":" + std::to_string(include.line) + ": includes " + include.name + ": " + *why);
    }
  }
  return found;
}

std::vector<std::string> broken_arrows(const std::vector<SourceFile>& files, const std::vector<SourceFile>& known) {
  const Tree tree(known);
  return violations(files, [&](const std::string& path, const Include& i) { return broken_arrow(path, i, tree); });
}

std::vector<SourceFile> with_protos() {
  std::vector<SourceFile> known = sources();
  for (const char* folder : {"plugins", "drivers", "csi", "devices", "checks", "auth", "examples"}) {
    for (SourceFile& file : files_below(folder, {".proto"})) known.push_back(std::move(file));
  }
  return known;
}

TEST(IncludeGraph, EveryArrowPointsAtTheSdk) {
  const std::vector<SourceFile> all = sources();
  ASSERT_GT(all.size(), 100u) << "the source tree was not found at " << DROVER_SOURCE_ROOT;

  EXPECT_EQ(lines(broken_arrows(all, with_protos())), "");
}

TEST(IncludeGraph, ThirdPartyHeadersStayInTheirNamedFiles) {
  EXPECT_EQ(lines(violations(sources(), misplaced_library)), "");
}

// The verdict of the rules on a tree that breaks them.
struct Arrow {
  const char* name;
  const char* path;
  const char* text;
  bool is_good;
};

const std::vector<SourceFile> kSmallTree = {{"plugins/jobs/rpc.h", ""},        {"plugins/jobs/jobs.proto", ""},
                                            {"plugins/nodes/tables.h", ""},    {"plugins/agent/testing/fakes.h", ""},
                                            {"plugins/nodes/nodes.proto", ""}, {"sdk/hcl/ast.h", ""}};

TEST(IncludeGraph, TellsABrokenArrowFromAGoodOne) {
  const Arrow cases[] = {
      {"a plugin includes the SDK", "plugins/jobs/rpc.cc", "#include \"drover/plugin.h\"", true},
      {"a plugin includes its own folder", "plugins/jobs/rpc.cc", "#include \"rpc.h\"", true},
      {"a plugin includes its own messages", "plugins/jobs/rpc.cc", "#include \"jobs.pb.h\"", true},
      {"a plugin includes a library", "plugins/jobs/rpc.cc", "#include <fmt/core.h>", true},
      {"a plugin's folder inside it", "plugins/agent/a_test.cc", "#include \"testing/fakes.h\"", true},
      {"a plugin includes the kernel", "plugins/jobs/rpc.cc", "#include \"kernel/state/store.h\"", false},
      {"with angle brackets", "plugins/jobs/rpc.cc", "#include <kernel/state/store.h>", false},
      {"with blanks", "plugins/jobs/rpc.cc", "  #  include   \"kernel/state/store.h\"", false},
      {"a plugin's test includes the kernel", "plugins/jobs/rpc_test.cc", "#include \"kernel/rpc/router.h\"", false},
      {"a plugin includes another by its path", "plugins/jobs/rpc.cc", "#include \"plugins/nodes/tables.h\"", false},
      {"a plugin includes another beside it", "plugins/jobs/rpc.cc", "#include \"../nodes/tables.h\"", false},
      {"a plugin includes another's header", "plugins/jobs/rpc.cc", "#include \"tables.h\"", false},
      {"a plugin includes another's messages", "plugins/jobs/rpc.cc", "#include \"nodes.pb.h\"", false},
      {"a plugin includes formats on disk", "plugins/jobs/rpc.cc", "#include \"storage/peers_file.h\"", false},
      {"the command line includes them", "plugins/cli/raft.cc", "#include \"storage/peers_file.h\"", true},
      {"the look at a stopped node", "plugins/agent/offline/x.cc", "#include \"storage/local_store.h\"", true},
      {"the node agent includes them", "plugins/agent/rpc.cc", "#include \"storage/local_store.h\"", false},
      {"the SDK includes them", "sdk/model/schema.cc", "#include \"storage/peers_file.h\"", false},
      {"they include the kernel", "storage/log.cc", "#include \"kernel/raft/log.h\"", false},
      {"a test of them includes what tests share", "storage/log_test.cc", "#include \"tests/support/disk.h\"", true},
      {"the kernel includes what tests share", "kernel/raft/log.cc", "#include \"tests/support/disk.h\"", false},
      {"they include themselves", "storage/log.cc", "#include \"storage/peers_file.h\"", true},
      {"a driver includes the kernel", "drivers/mock/task.cc", "#include \"kernel/host/loader.h\"", false},
      {"an example includes the kernel", "examples/plugins/x/x.cc", "#include \"kernel/host/loader.h\"", false},
      {"a plugin includes a test kit", "plugins/jobs/rpc.cc", "#include \"sdk/testing/kit.h\"", false},
      {"a test's plugin answers each call itself", "tests/faulty/a.cc", "#include \"sdk/serve/server.h\"", true},
      {"a plugin answers each call itself", "plugins/jobs/rpc.cc", "#include \"sdk/serve/server.h\"", false},
      {"the storage plugin answers each call itself", "csi/hostpath/service.cc", "#include \"sdk/serve/server.h\"", true},
      {"another part of CSI does", "csi/mounts/mounts.cc", "#include \"sdk/serve/server.h\"", false},
      {"the parts of CSI include what they share", "csi/mounts/m.cc", "#include \"csi/protocol/client.h\"", true},
      {"others include it", "plugins/jobs/rpc.cc", "#include \"csi/protocol/client.h\"", false},
      {"a part of CSI includes another", "csi/mounts/mounts.cc", "#include \"csi/hostpath/plugin.h\"", false},
      {"a driver's test includes the kit", "drivers/mock/m_test.cc", "#include \"sdk/testing/kit.h\"", true},
      {"a room includes the SDK", "kernel/raft/log.cc", "#include \"drover/result.h\"", true},
      {"raft includes state", "kernel/raft/log.cc", "#include \"kernel/state/store.h\"", false},
      {"state includes raft", "kernel/state/store.cc", "#include \"kernel/raft/log.h\"", false},
      {"state includes rpc", "kernel/state/store.cc", "#include \"kernel/rpc/router.h\"", false},
      {"raft includes host", "kernel/raft/log.cc", "#include \"kernel/host/loader.h\"", false},
      {"rpc includes raft", "kernel/rpc/router.cc", "#include \"kernel/raft/raft.h\"", false},
      {"rpc includes host", "kernel/rpc/router.cc", "#include \"kernel/host/loader.h\"", false},
      {"rpc includes state", "kernel/rpc/router.cc", "#include \"kernel/state/store.h\"", true},
      {"host includes rpc", "kernel/host/plugin_host.cc", "#include \"kernel/rpc/router.h\"", true},
      {"the kernel includes the wire's messages", "kernel/rpc/router.cc", "#include \"call.pb.h\"", false},
      {"host includes raft", "kernel/host/plugin_host.cc", "#include \"kernel/raft/raft.h\"", true},
      {"a room includes the composition", "kernel/host/loader.cc", "#include \"kernel/agent.h\"", false},
      {"the composition includes a room", "kernel/agent.cc", "#include \"kernel/host/loader.h\"", true},
      {"an unknown room", "kernel/attic/x.cc", "#include \"kernel/host/loader.h\"", false},
      {"the kernel includes a plugin", "kernel/agent.cc", "#include \"plugins/jobs/rpc.h\"", false},
      {"the kernel includes a neighbour without its path", "kernel/host/loader.cc", "#include \"passport.h\"", false},
      {"the SDK includes the kernel", "sdk/base/log.cc", "#include \"kernel/log_sink.h\"", false},
      {"the SDK includes a plugin", "sdk/base/log.cc", "#include \"plugins/jobs/rpc.h\"", false},
      {"the SDK includes its own", "sdk/config/config.cc", "#include \"../hcl/ast.h\"", true},
      {"a benchmark includes the kernel", "tests/bench/state/b.cc", "#include \"kernel/state/store.h\"", true},
  };
  for (const Arrow& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(broken_arrows({{c.path, c.text}}, kSmallTree).empty(), c.is_good);
  }
}

TEST(IncludeGraph, NamesTheFileTheLineAndTheRule) {
  const SourceFile file{"plugins/jobs/rpc.cc", "// Jobs.\n\n#include \"kernel/state/store.h\"\n"};

  EXPECT_EQ(lines(broken_arrows({file}, kSmallTree)),
            "plugins/jobs/rpc.cc:3: includes kernel/state/store.h: only the kernel and its tests include the kernel\n");
}

TEST(IncludeGraph, TellsAMisplacedLibrary) {
  const Arrow cases[] = {
      {"gRPC in the wire's server", "plugins/grpc/server.cc", "#include <grpcpp/grpcpp.h>", true},
      {"gRPC elsewhere in the wire", "plugins/grpc/call_codec.h", "#include <grpcpp/grpcpp.h>", false},
      {"gRPC in the router", "kernel/rpc/router.cc", "#include <grpcpp/grpcpp.h>", false},
      {"Boost.DLL in the loader", "kernel/host/loader.cc", "#include <boost/dll/shared_library.hpp>", true},
      {"Boost.DLL elsewhere", "kernel/host/passport.cc", "#include <boost/dll/shared_library.hpp>", false},
      {"LevelDB in the store", "storage/local_store.cc", "#include <leveldb/db.h>", true},
      {"LevelDB in a header", "storage/local_store.h", "#include <leveldb/db.h>", false},
      {"LevelDB in a benchmark", "tests/bench/state/b.cc", "#include <leveldb/db.h>", true},
      {"spdlog in a plugin", "plugins/jobs/rpc.cc", "#include <spdlog/spdlog.h>", false},
      {"cxxopts in a source of the command line", "plugins/cli/flags.cc", "#include <cxxopts.hpp>", true},
      {"cxxopts in a header", "plugins/cli/flags.h", "#include <cxxopts.hpp>", false},
      {"JSON in a source", "plugins/jobs/rpc.cc", "#include <nlohmann/json.hpp>", true},
      {"JSON in a header", "plugins/jobs/rpc.h", "#include <nlohmann/json.hpp>", false},
      {"JSON's forward declarations in a header", "plugins/jobs/rpc.h", "#include <nlohmann/json_fwd.hpp>", true},
      {"Asio in a session", "plugins/http/session.h", "#include <boost/asio/ip/tcp.hpp>", true},
      {"Beast in a route table", "plugins/http/routes.cc", "#include <boost/beast/http.hpp>", false},
      {"in quotes", "plugins/http/routes.cc", "#include \"boost/beast/http.hpp\"", false},
  };
  for (const Arrow& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(violations({{c.path, c.text}}, misplaced_library).empty(), c.is_good);
  }
}

}  // namespace
}  // namespace drover::architecture
