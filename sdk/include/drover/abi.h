/* The stable ABI: how a plugin inside the agent's process and its host meet. Messages cross, nothing else: the bytes of
 * the same methods that a plugin as a program of its own answers over gRPC (docs/plugin-author). C11 and C++; any
 * compiler, any dialect.
 *
 *   host ── drover_plugin_open ──▶ plugin           once; each side now has the other's endpoint
 *   caller ── open(method) ──▶ answerer             gives away a stream for replies, gets one for requests
 *   caller ── push, push, end ──▶  ◀── push, push, close(status) ── answerer
 *   caller ── close ──▶                             always, also after the replies were closed
 *
 * Threads: every function may be called from any thread, also from inside another call. Calls on one stream are made in
 * order and never overlap; nothing is called on a stream after its close, nor on an endpoint after its release. Hold no
 * lock while calling. No function may throw.
 * Memory: bytes are borrowed until the function returns. Nobody frees what another allocated.
 * Blocking: push of replies waits while 64 messages are unread, so more than that are pushed from a thread of the
 * plugin's own. open, push of requests, end and close return soon.
 * Life: the code is never unloaded. After release no thread of the plugin runs and no stream is open.
 * Growth: drover_bytes and drover_stream never change. The other structs begin with their size and are appended to;
 * read a field only when size covers it. A plugin inside the process is trusted: what it breaks, it breaks for
 * everybody. */
#ifndef DROVER_ABI_H
#define DROVER_ABI_H

#include <stdint.h>

#define DROVER_ABI_MAJOR 1
#define DROVER_ABI_MINOR 0

#ifdef __cplusplus
extern "C" {
#endif

typedef struct drover_bytes {
  const void* data;
  uint64_t size;
} drover_bytes;

/* One direction of one call. */
typedef struct drover_stream {
  void* self;
  /* One message, at most 64 MiB. 1: taken; 0: the reader is gone, spare yourself the rest. */
  int32_t (*push)(void* self, drover_bytes message);
  /* No more messages follow; close still does. Of replies: close alone says it. */
  void (*end)(void* self);
  /* Of replies: the call's status, a canonical gRPC code with its text in UTF-8. Of requests: the caller is gone; the
   * call is cancelled unless its replies have been closed. */
  void (*close)(void* self, int32_t code, drover_bytes text);
} drover_stream;

typedef struct drover_request {
  uint64_t size;       /* of this struct */
  drover_bytes method; /* "/package.Service/Method" */
  int64_t deadline_ns; /* of CLOCK_MONOTONIC; 0: none. The caller closes its stream then. */
} drover_request;

/* Something that answers calls: the host is one, each plugin is one. */
typedef struct drover_endpoint {
  uint64_t size; /* of this struct */
  void* self;
  /* A method that is not known: close the replies with code 12 and still return a stream. */
  drover_stream (*open)(void* self, const drover_request* request, drover_stream replies);
  /* The last call: ends what is open, joins, frees. The host's is not for the plugin to call. */
  void (*release)(void* self);
} drover_endpoint;

/* The one exported symbol of a plugin. `host` lives until the plugin is released. 0, or a status code when the plugin
 * cannot serve here; `plugin` is then left alone. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int32_t
drover_plugin_open(const drover_endpoint* host, drover_endpoint* plugin);

/* The ELF note that says what the file is, before any of its code runs; little-endian. */
struct drover_plugin_note {
  uint32_t name_size, description_size, type;
  char owner[8];
  uint16_t note_version, tier, abi_major, abi_minor;
  char kind[32], name[64], version[32], exact_tag[160];
};

/* Once, at file scope: DROVER_STABLE_PLUGIN("task_driver", "hello", "1.0.0"). Name and version are those of the
 * plugin.json beside the file; kind is task_driver or device. */
#define DROVER_STABLE_PLUGIN(KIND, NAME, VERSION)                                                        \
  __attribute__((section(".note.drover.plugin"), used,                                                   \
                 aligned(4))) static const struct drover_plugin_note drover_plugin_note_of_this_file = { \
      7, 296, 1, "drover", 1, 1, DROVER_ABI_MAJOR, DROVER_ABI_MINOR, KIND, NAME, VERSION, ""}

#ifdef __cplusplus
}
#endif

#endif
