#include "client/settings.h"

#include <gtest/gtest.h>

#include <map>

namespace drover::cli {
namespace {

using Variables = std::map<std::string, std::string>;

Result<ClientOptions> options_of(const std::vector<std::string>& words, const Variables& variables = {}) {
  const auto arguments = Arguments::parse(words, client_flags());
  EXPECT_TRUE(arguments.ok()) << arguments.status().message();
  return client_options(*arguments, [&](const std::string& name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  });
}

TEST(ClientSettings, HaveDefaults) {
  const auto options = options_of({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->address, "http://127.0.0.1:4646");
  EXPECT_EQ(options->region + options->name_space + options->token + options->http_auth, "");
  EXPECT_EQ(options->tls.ca_cert + options->tls.ca_path + options->tls.client_cert + options->tls.client_key, "");
  EXPECT_FALSE(options->tls.skip_verify);
  EXPECT_EQ(options->proxies.http + options->proxies.https + options->proxies.none_for, "");
}

TEST(ClientSettings, ComeFromTheEnvironment) {
  const auto options = options_of({}, {{"NOMAD_ADDR", "https://agent:1"},
                                       {"NOMAD_REGION", "eu"},
                                       {"NOMAD_NAMESPACE", "web"},
                                       {"NOMAD_TOKEN", "secret"},
                                       {"NOMAD_CACERT", "ca.pem"},
                                       {"NOMAD_CAPATH", "cas"},
                                       {"NOMAD_CLIENT_CERT", "cert.pem"},
                                       {"NOMAD_CLIENT_KEY", "key.pem"},
                                       {"NOMAD_TLS_SERVER_NAME", "server.global.nomad"},
                                       {"NOMAD_SKIP_VERIFY", "1"},
                                       {"NOMAD_HTTP_AUTH", "me:mine"}});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->address, "https://agent:1");
  EXPECT_EQ(options->region, "eu");
  EXPECT_EQ(options->name_space, "web");
  EXPECT_EQ(options->token, "secret");
  EXPECT_EQ(options->tls.ca_cert, "ca.pem");
  EXPECT_EQ(options->tls.ca_path, "cas");
  EXPECT_EQ(options->tls.client_cert, "cert.pem");
  EXPECT_EQ(options->tls.client_key, "key.pem");
  EXPECT_EQ(options->tls.server_name, "server.global.nomad");
  EXPECT_TRUE(options->tls.skip_verify);
  EXPECT_EQ(options->http_auth, "me:mine");
}

TEST(ClientSettings, OptionsGoBeforeTheEnvironment) {
  const auto options = options_of({"-address=https://given:2", "-ca-cert", "given.pem", "-tls-skip-verify=false"},
                                  {{"NOMAD_ADDR", "https://agent:1"},
                                   {"DROVER_ADDR", "https://agent:3"},
                                   {"NOMAD_CACERT", "ca.pem"},
                                   {"NOMAD_SKIP_VERIFY", "true"}});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->address, "https://given:2");
  EXPECT_EQ(options->tls.ca_cert, "given.pem");
  EXPECT_FALSE(options->tls.skip_verify);
  EXPECT_EQ(options_of({}, {{"NOMAD_ADDR", "a"}, {"DROVER_ADDR", "b"}})->address, "b");
  EXPECT_TRUE(options_of({"-tls-skip-verify"})->tls.skip_verify);
  EXPECT_TRUE(options_of({"-insecure"})->tls.skip_verify);
  EXPECT_FALSE(options_of({"-insecure=false"}, {{"NOMAD_SKIP_VERIFY", "true"}})->tls.skip_verify);
  EXPECT_FALSE(options_of({"-insecure", "-tls-skip-verify=false"})->tls.skip_verify) << "the longer name counts";
}

TEST(ClientSettings, ProxiesAreThoseOfTheEnvironment) {
  const auto options = options_of(
      {},
      {{"HTTP_PROXY", "http://a:1"}, {"http_proxy", "http://b:1"}, {"https_proxy", "http://c:1"}, {"NO_PROXY", "d"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->proxies.http, "http://a:1");
  EXPECT_EQ(options->proxies.https, "http://c:1");
  EXPECT_EQ(options->proxies.none_for, "d");
}

TEST(ClientSettings, ThatCannotBeAreRefused) {
  EXPECT_EQ(options_of({}, {{"NOMAD_SKIP_VERIFY", "perhaps"}}).status().to_string(),
            "invalid_argument: NOMAD_SKIP_VERIFY is \"perhaps\", neither true nor false");
  EXPECT_EQ(options_of({"-client-cert=a.pem"}).status().to_string(),
            "invalid_argument: -client-cert (NOMAD_CLIENT_CERT) and -client-key (NOMAD_CLIENT_KEY) go together");
  EXPECT_FALSE(options_of({}, {{"NOMAD_CLIENT_KEY", "a.key"}}).ok());
}

}  // namespace
}  // namespace drover::cli
