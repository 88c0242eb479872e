// drover-csi-hostpath: a storage plugin of our own. README.md says what it shows.
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "drover/printable.h"
#include "options.h"
#include "plugin.h"
#include "service.h"

namespace {

using namespace drover;
using namespace drover::hostpath;

constexpr int kFailed = 1, kWrongUse = 2;

int fail(const Status& why, int code) {
  std::fprintf(stderr, "drover-csi-hostpath: %s\n", printable(why.message()).c_str());
  return code;
}

// Before any thread begins: all of them inherit it.
void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  (void)pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

int main(int count, char** arguments) {
  const auto settings = parse_options(count, arguments, std::getenv("CSI_ENDPOINT"));
  if (!settings) return fail(settings.status(), kWrongUse);
  if (!*settings) return 0;
  ::umask(077);
  block_signals();
  Plugin plugin(**settings);
  if (const Status opened = plugin.open(); !opened.ok()) return fail(opened, kFailed);
  if (const Status served = hostpath::serve(plugin); !served.ok()) return fail(served, kFailed);
  return 0;
}
