// drover-csi-hostpath that misbehaves as the files in $FAULTS say (faults.h).
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "options.h"
#include "plugin.h"
#include "testing/faults.h"

using namespace drover;
using namespace drover::hostpath;

int main(int count, char** arguments) {
  const char* const folder = std::getenv("FAULTS");
  const auto settings = parse_options(count, arguments, std::getenv("CSI_ENDPOINT"));
  if (!folder || !settings || !*settings) return 2;
  ::umask(077);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  (void)pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Plugin plugin(**settings);
  Faults faults(folder);
  Status status = plugin.open();
  if (status.ok()) {
    status = hostpath::serve(plugin, [&](const std::string& method, serve::Call& call, const Answerer& answerer) {
      return faults.pass(method, call, answerer);
    });
  }
  if (!status.ok()) std::fprintf(stderr, "faulty_storage: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
