/* The stable ABI as version 1.0 laid it out. What fails here breaks every plugin that was ever built. */
#include <stddef.h>

#include "drover/abi.h"

#ifdef __cplusplus
#define HOLDS(CONDITION) static_assert(CONDITION, #CONDITION)
#else
#define HOLDS(CONDITION) _Static_assert(CONDITION, #CONDITION)
#endif

HOLDS(DROVER_ABI_MAJOR == 1);
HOLDS(sizeof(drover_bytes) == 16);
HOLDS(offsetof(drover_bytes, data) == 0 && offsetof(drover_bytes, size) == 8);
HOLDS(sizeof(drover_stream) == 32);
HOLDS(offsetof(drover_stream, self) == 0 && offsetof(drover_stream, push) == 8);
HOLDS(offsetof(drover_stream, end) == 16 && offsetof(drover_stream, close) == 24);
HOLDS(sizeof(drover_request) >= 32);
HOLDS(offsetof(drover_request, size) == 0 && offsetof(drover_request, method) == 8);
HOLDS(offsetof(drover_request, deadline_ns) == 24);
HOLDS(sizeof(drover_endpoint) >= 32);
HOLDS(offsetof(drover_endpoint, size) == 0 && offsetof(drover_endpoint, self) == 8);
HOLDS(offsetof(drover_endpoint, open) == 16 && offsetof(drover_endpoint, release) == 24);
HOLDS(sizeof(struct drover_plugin_note) == 316);
HOLDS(offsetof(struct drover_plugin_note, owner) == 12 && offsetof(struct drover_plugin_note, note_version) == 20);
HOLDS(offsetof(struct drover_plugin_note, kind) == 28 && offsetof(struct drover_plugin_note, exact_tag) == 156);

DROVER_STABLE_PLUGIN("task_driver", "layout", "1.0.0");

static int32_t pushed(void* self, drover_bytes message) {
  (void)self;
  return message.size != 0;
}
static void ended(void* self) { (void)self; }
static void closed(void* self, int32_t code, drover_bytes text) {
  (void)self;
  (void)code;
  (void)text;
}
static drover_stream opened(void* self, const drover_request* request, drover_stream replies) {
  const drover_stream requests = {self, pushed, ended, closed};
  replies.close(replies.self, request->size != 0 ? 12 : 0, request->method);
  return requests;
}
static void released(void* self) { (void)self; }

int32_t drover_plugin_open(const drover_endpoint* host, drover_endpoint* plugin) {
  const drover_endpoint mine = {sizeof(drover_endpoint), host->self, opened, released};
  *plugin = mine;
  return 0;
}
