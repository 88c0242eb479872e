// tls ca, tls cert: an authority of one's own, and certificates for agents and people.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "cli_command.h"
#include "drover/fd.h"
#include "input.h"
#include "output.h"
#include "tls/certificates.h"

namespace drover::cli {
namespace {

constexpr int kMaxDays = 36500;

// Requires: nothing of that name; a link of that name counts.
Status write_new(const std::string& path, std::string_view text, mode_t mode) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file) return errno_status(errno, path);
  while (!text.empty()) {
    const ssize_t size = ::write(file.get(), text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return errno_status(errno, path);
    text.remove_prefix(static_cast<size_t>(size));
  }
  return ok_status();
}

struct Files {
  std::string cert, key;
};

Status check_new(const Files& files, const std::string& what) {
  std::error_code ignored;
  for (const auto& [kind, path] : {std::pair("", files.cert), std::pair(" key", files.key)}) {
    if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored)))
      return already_exists(what + kind + " file '" + path + "' already exists");
  }
  return ok_status();
}

// The key first: a certificate without its key is of no use, a key without a certificate does no harm.
Status write_pair(const Files& files, const TlsIdentity& identity) {
  DROVER_RETURN_IF_ERROR(write_new(files.key, identity.key, 0600));
  return write_new(files.cert, identity.cert, 0666);
}

Result<int> days_of(const Run& run) {
  const std::string text = run.arguments.value("days");
  int days = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), days);
  if (error != std::errc() || end != text.data() + text.size() || days < 1 || days > kMaxDays)
    return invalid_argument("-days is \"" + text + "\", which is no number from 1 to " + std::to_string(kMaxDays));
  return days;
}

bool is_domain(const std::string& name) { return is_certificate_name(name) && !name.starts_with("*"); }

Result<std::string> domain_of(const Run& run) {
  std::string domain = run.arguments.value("domain");
  if (!is_domain(domain))
    return invalid_argument("-domain is \"" + domain + "\", which is no DNS name");
  return domain;
}

int refuse(const Run& run, const Status& status) {
  run.err << status.message() << "\n";
  return 1;
}

// --- authorities

Result<AuthorityRequest> authority_request(const Run& run, const std::string& domain) {
  const Arguments& given = run.arguments;
  AuthorityRequest request{.common_name = given.value("common-name")};
  DROVER_TRY(request.days, days_of(run));
  for (const auto& [flag, name] :
       {std::pair("country", "C"), std::pair("postal-code", "postalCode"), std::pair("province", "ST"),
        std::pair("locality", "L"), std::pair("street-address", "street"), std::pair("organization", "O"),
        std::pair("organizational-unit", "OU")}) {
    if (const std::string value = given.value(flag); !value.empty()) request.further.emplace_back(name, value);
  }
  const std::vector<std::string> further = given.values("additional-domain");
  if (!given.on("name-constraint")) {
    if (!further.empty())
      return invalid_argument("-additional-domain needs -name-constraint: without it every name may be signed");
    return request;
  }
  // Agents know each other by names below "nomad", whatever the domain is.
  request.permitted = {"localhost", "nomad"};
  if (domain != "nomad") request.permitted.push_back(domain);
  request.permitted.insert(request.permitted.end(), further.begin(), further.end());
  return request;
}

int ca_create(Run& run) {
  const auto domain = domain_of(run);
  if (!domain) return refuse(run, domain.status());
  const auto request = authority_request(run, *domain);
  if (!request) return refuse(run, request.status());
  const Files files{.cert = *domain + "-agent-ca.pem", .key = *domain + "-agent-ca-key.pem"};
  if (const Status is_new = check_new(files, "CA certificate"); !is_new.ok()) return refuse(run, is_new);
  const auto made = make_authority(*request);
  if (!made) return run.fail("Error generating CA", made.status());
  if (const Status written = write_pair(files, *made); !written.ok()) return run.fail("Error saving CA", written);
  run.out << "==> CA certificate saved to: " << files.cert << "\n==> CA certificate key saved to: " << files.key
          << "\n";
  return 0;
}

// --- certificates

struct Kind {
  const char* flag;
  const char* title;
  bool is_agent;
};
constexpr Kind kKinds[] = {{"server", "Server", true}, {"client", "Client", true}, {"cli", "CLI", false}};

Result<Kind> kind_of(const Run& run) {
  const auto is_given = [&run](const Kind& kind) { return run.arguments.on(kind.flag); };
  if (std::ranges::count_if(kKinds, is_given) != 1)
    return invalid_argument("Please provide either -server, -client, or -cli");
  return *std::ranges::find_if(kKinds, is_given);
}

Result<std::string> region_of(const Run& run) {
  std::string region = run.arguments.value("cluster-region");
  if (region.empty()) region = run.client.options().region;
  if (region.empty()) region = "global";
  if (!is_domain(region))
    return invalid_argument("the region \"" + region + "\" cannot stand in a DNS name");
  return region;
}

Result<TlsIdentity> authority_of(const Run& run, const std::string& domain) {
  const auto file = [&](const char* flag, const char* ending) {
    const std::string given = run.arguments.value(flag);
    return given.empty() ? domain + ending : given;
  };
  TlsIdentity authority;
  DROVER_TRY(authority.cert, read_file(file("ca", "-agent-ca.pem")));
  DROVER_TRY(authority.key, read_file(file("key", "-agent-ca-key.pem")));
  return authority;
}

CertificateRequest certificate_request(const Run& run, const Kind& kind, const std::string& region,
                                       const std::string& domain) {
  const std::string host = std::string(kind.flag) + "." + region + ".";
  CertificateRequest request{.dns_names = {host + domain}, .ip_addresses = {"127.0.0.1"}, .is_agent = kind.is_agent};
  if (domain != "nomad") request.dns_names.push_back(host + "nomad");  // by which agents know each other
  request.dns_names.emplace_back("localhost");
  for (std::string& name : run.arguments.values("additional-dnsname")) request.dns_names.push_back(std::move(name));
  for (std::string& ip : run.arguments.values("additional-ipaddress")) request.ip_addresses.push_back(std::move(ip));
  return request;
}

int cert_create(Run& run) {
  const auto kind = kind_of(run);
  if (!kind) return refuse(run, kind.status());
  const auto domain = domain_of(run);
  if (!domain) return refuse(run, domain.status());
  const auto region = region_of(run);
  if (!region) return refuse(run, region.status());
  const auto days = days_of(run);
  if (!days) return refuse(run, days.status());
  const std::string name = *region + "-" + kind->flag + "-" + *domain;
  const Files files{.cert = name + ".pem", .key = name + "-key.pem"};
  if (const Status is_new = check_new(files, "Certificate"); !is_new.ok()) return refuse(run, is_new);
  const auto authority = authority_of(run, *domain);
  if (!authority) return run.fail("Error reading CA", authority.status());
  CertificateRequest request = certificate_request(run, *kind, *region, *domain);
  request.days = *days;
  const auto made = make_certificate(request, *authority);
  if (!made) return run.fail("Error generating certificate", made.status());
  if (const Status written = write_pair(files, *made); !written.ok())
    return run.fail("Error saving certificate", written);
  if (kind->flag == std::string_view("server"))
    run.err << "==> WARNING: whoever has this certificate can join the cluster as a server. Keep its key on servers "
               "only.\n";
  run.out << "==> " << kind->title << " Certificate saved to: " << files.cert << "\n==> " << kind->title
          << " Certificate key saved to: " << files.key << "\n";
  return 0;
}

// --- both

int show_certificate(Run& run, bool of_authority) {
  const std::string& path = run.arguments.positional()[0];
  const auto text = read_file(path);
  if (!text) return run.fail("Error reading certificate", text.status());
  const auto found = read_certificate(*text);
  if (!found) return run.fail("Error parsing " + path, found.status());
  if (of_authority && !found->is_authority)
    return run.usage(path + " is no authority's certificate; see tls cert info");
  std::vector<std::pair<std::string, std::string>> pairs = {{"Serial Number", found->serial},
                                                            {"Issuer CN", found->issuer},
                                                            {"Common Name", found->common_name},
                                                            {"Expiry Date", found->expiry}};
  if (of_authority) {
    pairs.emplace_back("Permitted DNS Domains", joined(found->permitted, " "));
  } else {
    pairs.emplace_back("DNS Names", joined(found->dns_names, " "));
    pairs.emplace_back("IP Addresses", joined(found->ip_addresses, " "));
  }
  run.out << format_pairs(pairs);
  return 0;
}

int show_ca(Run& run) { return show_certificate(run, true); }
int show_cert(Run& run) { return show_certificate(run, false); }

}  // namespace

std::vector<Definition> tls_commands() {
  const std::vector<Flag> authority_flags = {
      with_value("days", "1825", "For how many days it holds"),
      with_value("domain", "nomad", "The domain of the names that it shall sign"),
      with_value("common-name", "", "Its name; Nomad Agent CA and its serial number by default"),
      on_off("name-constraint", "It may sign names below localhost, nomad and -domain only"),
      with_value("additional-domain", "", "A further domain for -name-constraint; may be given several times"),
      with_value("country", "", "The country in its subject, two letters"),
      with_value("postal-code", "", "The postal code in its subject"),
      with_value("province", "", "The province in its subject"),
      with_value("locality", "", "The locality in its subject"),
      with_value("street-address", "", "The street in its subject"),
      with_value("organization", "", "The organization in its subject"),
      with_value("organizational-unit", "", "The organizational unit in its subject")};
  const std::vector<Flag> certificate_flags = {
      on_off("server", "For a server"),
      on_off("client", "For a node"),
      on_off("cli", "For a person, or a program that calls the HTTP API"),
      with_value("ca", "", "The authority's certificate; DOMAIN-agent-ca.pem by default"),
      with_value("key", "", "The authority's key; DOMAIN-agent-ca-key.pem by default"),
      with_value("days", "365", "For how many days it holds"),
      with_value("domain", "nomad", "The domain of its name"),
      with_value("cluster-region", "", "The region in its name; -region does the same"),
      with_value("additional-dnsname", "", "A further DNS name; may be given several times"),
      with_value("additional-ipaddress", "", "A further IP address; may be given several times")};
  return {
      {"tls ca create", "Makes an authority of one's own.", "",
       "It writes DOMAIN-agent-ca.pem, for all agents and clients, and DOMAIN-agent-ca-key.pem, which signs\n"
       "certificates and belongs on no agent.\n",
       authority_flags, 0, 0, ca_create},
      {"tls ca info", "Shows an authority's certificate.", "<CA file>", "", {}, 1, 1, show_ca},
      {"tls cert create", "Makes a certificate for an agent or a client.", "",
       "It writes REGION-KIND-DOMAIN.pem and REGION-KIND-DOMAIN-key.pem, KIND being server, client or cli.\n",
       certificate_flags, 0, 0, cert_create},
      {"tls cert info", "Shows a certificate.", "<certificate file>", "", {}, 1, 1, show_cert},
  };
}

}  // namespace drover::cli
