// Services, their checks, and the service mesh.
#include "grammar_parts.h"

namespace drover::jobspec {
namespace {

using enum Form;

BlockRule check_restart() {
  return object(
      "check_restart", "CheckRestart",
      {{"limit", "Limit", integer}, {"grace", "Grace", duration}, {"ignore_warnings", "IgnoreWarnings", boolean}});
}

BlockRule check() {
  return list("check", "Checks",
              {{"name", "Name", text},
               {"type", "Type", text},
               {"interval", "Interval", duration},
               {"timeout", "Timeout", duration},
               {"path", "Path", text},
               {"protocol", "Protocol", text},
               {"method", "Method", text},
               {"body", "Body", text},
               {"port", "PortLabel", text},
               {"address_mode", "AddressMode", text},
               {"advertise", "Advertise", text},
               {"command", "Command", text},
               {"args", "Args", text_list},
               {"task", "TaskName", text},
               {"initial_status", "InitialStatus", text},
               {"tls_skip_verify", "TLSSkipVerify", boolean},
               {"tls_server_name", "TLSServerName", text},
               {"grpc_service", "GRPCService", text},
               {"grpc_use_tls", "GRPCUseTLS", boolean},
               {"expose", "Expose", boolean},
               {"success_before_passing", "SuccessBeforePassing", integer},
               {"failures_before_critical", "FailuresBeforeCritical", integer},
               {"failures_before_warning", "FailuresBeforeWarning", integer},
               {"on_update", "OnUpdate", text},
               {"notes", "Notes", text}},
              {check_restart(), {"header", "Header", Shape::list_map, "", {}, {}}, free_block("config", "Config")});
}

BlockRule upstreams() {
  return list("upstreams", "Upstreams",
              {{"destination_name", "DestinationName", text},
               {"destination_namespace", "DestinationNamespace", text},
               {"destination_peer", "DestinationPeer", text},
               {"destination_partition", "DestinationPartition", text},
               {"destination_type", "DestinationType", text},
               {"local_bind_port", "LocalBindPort", integer},
               {"local_bind_address", "LocalBindAddress", text},
               {"local_bind_socket_path", "LocalBindSocketPath", text},
               {"local_bind_socket_mode", "LocalBindSocketMode", text},
               {"datacenter", "Datacenter", text}},
              {object("mesh_gateway", "MeshGateway", {{"mode", "Mode", text}}), free_block("config", "Config")});
}

BlockRule proxy() {
  return object(
      "proxy", "Proxy",
      {{"local_service_address", "LocalServiceAddress", text}, {"local_service_port", "LocalServicePort", integer}},
      {upstreams(),
       object("expose", "Expose", {},
              {list("path", "Paths",
                    {{"path", "Path", text},
                     {"protocol", "Protocol", text},
                     {"local_path_port", "LocalPathPort", integer},
                     {"listener_port", "ListenerPort", text}})}),
       object("transparent_proxy", "TransparentProxy",
              {{"uid", "UID", text},
               {"outbound_port", "OutboundPort", integer},
               {"exclude_inbound_ports", "ExcludeInboundPorts", text_list},
               {"exclude_outbound_ports", "ExcludeOutboundPorts", integer_list},
               {"exclude_outbound_cidrs", "ExcludeOutboundCIDRs", text_list},
               {"exclude_uids", "ExcludeUIDs", text_list},
               {"no_dns", "NoDNS", boolean}}),
       free_block("config", "Config")});
}

BlockRule sidecar_task() {
  return object("sidecar_task", "SidecarTask",
                {{"name", "Name", text},
                 {"driver", "Driver", text},
                 {"user", "User", text},
                 {"kill_timeout", "KillTimeout", duration},
                 {"shutdown_delay", "ShutdownDelay", duration},
                 {"kill_signal", "KillSignal", text}},
                {free_block("config", "Config"), map_block("env", "Env"), map_block("meta", "Meta"), resources(),
                 logs(), volume_mount(), identity("Identities")});
}

BlockRule tls() {
  return object(
      "tls", "TLS",
      {{"enabled", "Enabled", boolean},
       {"tls_min_version", "TLSMinVersion", text},
       {"tls_max_version", "TLSMaxVersion", text},
       {"cipher_suites", "CipherSuites", text_list}},
      {object("sds", "SDS", {{"cluster_name", "ClusterName", text}, {"cert_resource", "CertResource", text}})});
}

BlockRule header_modifiers(std::string_view name, std::string_view json) {
  return object(name, json, {{"remove", "Remove", text_list}}, {map_block("add", "Add"), map_block("set", "Set")});
}

BlockRule gateway() {
  BlockRule bind_addresses = {"envoy_gateway_bind_addresses",
                              "EnvoyGatewayBindAddresses",
                              Shape::by_label,
                              "Name",
                              {{"address", "Address", text}, {"port", "Port", integer}},
                              {}};
  BlockRule listener = list("listener", "Listeners", {{"port", "Port", integer}, {"protocol", "Protocol", text}},
                            {list("service", "Services",
                                  {{"name", "Name", text},
                                   {"hosts", "Hosts", text_list},
                                   {"max_connections", "MaxConnections", integer},
                                   {"max_pending_requests", "MaxPendingRequests", integer},
                                   {"max_concurrent_requests", "MaxConcurrentRequests", integer}},
                                  {tls(), header_modifiers("request_headers", "RequestHeaders"),
                                   header_modifiers("response_headers", "ResponseHeaders")})});
  return object("gateway", "Gateway", {},
                {object("proxy", "Proxy",
                        {{"connect_timeout", "ConnectTimeout", duration},
                         {"envoy_gateway_bind_tagged_addresses", "EnvoyGatewayBindTaggedAddresses", boolean},
                         {"envoy_gateway_no_default_bind", "EnvoyGatewayNoDefaultBind", boolean},
                         {"envoy_dns_discovery_type", "EnvoyDNSDiscoveryType", text}},
                        {bind_addresses, free_block("config", "Config")}),
                 object("ingress", "Ingress", {}, {tls(), listener}),
                 object("terminating", "Terminating", {},
                        {list("service", "Services",
                              {{"name", "Name", text},
                               {"ca_file", "CAFile", text},
                               {"cert_file", "CertFile", text},
                               {"key_file", "KeyFile", text},
                               {"sni", "SNI", text}})}),
                 object("mesh", "Mesh", {})});
}

BlockRule connect() {
  return object("connect", "Connect", {{"native", "Native", boolean}},
                {object("sidecar_service", "SidecarService",
                        {{"tags", "Tags", text_list},
                         {"port", "Port", text},
                         {"disable_default_tcp_check", "DisableDefaultTCPCheck", boolean}},
                        {proxy(), map_block("meta", "Meta")}),
                 sidecar_task(), gateway()});
}

}  // namespace

BlockRule service() {
  return list("service", "Services",
              {{"name", "Name", text},
               {"port", "PortLabel", text},
               {"provider", "Provider", text},
               {"tags", "Tags", text_list},
               {"canary_tags", "CanaryTags", text_list},
               {"address_mode", "AddressMode", text},
               {"address", "Address", text},
               {"enable_tag_override", "EnableTagOverride", boolean},
               {"task", "TaskName", text},
               {"on_update", "OnUpdate", text},
               {"cluster", "Cluster", text},
               {"kind", "Kind", text}},
              {map_block("meta", "Meta"), map_block("canary_meta", "CanaryMeta"),
               map_block("tagged_addresses", "TaggedAddresses"), check(), check_restart(), connect(),
               object("weights", "Weights", {{"passing", "Passing", integer}, {"warning", "Warning", integer}}),
               object("identity", "Identity",
                      {{"name", "Name", text},
                       {"aud", "Audience", text_list},
                       {"env", "Env", boolean},
                       {"file", "File", boolean},
                       {"filepath", "Filepath", text},
                       {"service_name", "ServiceName", text},
                       {"change_mode", "ChangeMode", text},
                       {"change_signal", "ChangeSignal", text},
                       {"ttl", "TTL", duration},
                       {"extra_claims", "ExtraClaims", text_list}})});
}

}  // namespace drover::jobspec
