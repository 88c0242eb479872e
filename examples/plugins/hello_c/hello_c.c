/* A task driver in plain C over the stable ABI (drover/abi.h): no SDK library, no protobuf library, no thread. A task
 * says hello on its standard output and lasts until it is stopped. Its tasks live in this process, so after a restart
 * of the agent none of them is found again, and RecoverTask says so. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drover/abi.h"

DROVER_STABLE_PLUGIN("task_driver", "hello_c", "1.0.0");

enum {
  OK = 0,
  CANCELLED = 1,
  UNKNOWN = 2,
  INVALID_ARGUMENT = 3,
  ALREADY_EXISTS = 6,
  FAILED_PRECONDITION = 9,
  UNIMPLEMENTED = 12
};

/* ---- protobuf, as much as a driver needs ---- */

typedef struct {
  unsigned char data[16384];
  size_t size;
} message;

static void put_number(message* m, uint64_t value) {
  do {
    if (m->size == sizeof m->data) return;
    m->data[m->size++] = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
    value >>= 7;
  } while (value != 0);
}
static void put_varint(message* m, unsigned field, uint64_t value) {
  put_number(m, field << 3);
  put_number(m, value);
}
static void put_bytes(message* m, unsigned field, const void* data, size_t size) {
  put_number(m, field << 3 | 2);
  put_number(m, size);
  if (size > sizeof m->data - m->size) size = sizeof m->data - m->size;
  memcpy(m->data + m->size, data, size);
  m->size += size;
}
static void put_text(message* m, unsigned field, const char* text) { put_bytes(m, field, text, strlen(text)); }
static void put_message(message* m, unsigned field, const message* inner) {
  put_bytes(m, field, inner->data, inner->size);
}
/* What hosts in Go take for no time: the beginning of the year 1. */
static const time_t NO_TIME = -62135596800;
static void put_time(message* m, unsigned field, time_t seconds) {
  message time = {.size = 0};
  put_varint(&time, 1, (uint64_t)seconds);
  put_message(m, field, &time);
}

static int take_number(drover_bytes* in, uint64_t* value) {
  const unsigned char* at = in->data;
  *value = 0;
  for (unsigned i = 0; i < in->size && i < 10; ++i) {
    *value |= (uint64_t)(at[i] & 127) << (7 * i);
    if (at[i] < 128) {
      in->data = at + i + 1;
      in->size -= i + 1;
      return 1;
    }
  }
  return 0;
}
/* The bytes of the last field of this number; empty when there is none. 0 when the message is damaged. */
static int find(drover_bytes in, unsigned field, drover_bytes* found, uint64_t* number) {
  static const unsigned fixed[] = {0, 8, 0, 0, 0, 4, 0, 0};
  found->data = "";
  found->size = 0;
  while (in.size != 0) {
    uint64_t key = 0, size = 0;
    if (!take_number(&in, &key)) return 0;
    if ((key & 7) == 0) {
      if (!take_number(&in, &size)) return 0;
      if (key >> 3 == field && number) *number = size;
      continue;
    }
    size = fixed[key & 7];
    if ((key & 7) == 2 && !take_number(&in, &size)) return 0;
    if (((key & 7) != 2 && size == 0) || size > in.size) return 0;
    if (key >> 3 == field && (key & 7) == 2) {
      found->data = in.data;
      found->size = size;
    }
    in.data = (const char*)in.data + size;
    in.size -= size;
  }
  return 1;
}
static int find_text(drover_bytes in, unsigned field, char* text, size_t room) {
  drover_bytes found;
  if (!find(in, field, &found, NULL) || found.size >= room) return 0;
  memcpy(text, found.data, found.size);
  text[found.size] = 0;
  return 1;
}

/* ---- tasks and calls ---- */

typedef struct task {
  struct task* next;
  char id[256], name[128];
  time_t started, completed; /* completed 0: it runs */
} task;

typedef struct call {
  struct call* next; /* of those that wait */
  drover_stream replies;
  int (*answer)(struct call* call, drover_bytes request); /* NULL: the method is not known */
  char waits_for[256];                                    /* a task's exit; empty: until the caller goes */
  int is_waiting, is_over;
} call;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; never held while calling out */
static task* tasks;
static call* waiting;
static const drover_endpoint* agent;

static task* find_task(const char* id) {
  task* one = tasks;
  while (one && strcmp(one->id, id) != 0) one = one->next;
  return one;
}

static drover_bytes text_of(const char* text) { return (drover_bytes){text, strlen(text)}; }
static void finish(drover_stream replies, const message* reply, int code, const char* text) {
  if (reply) replies.push(replies.self, (drover_bytes){reply->data, reply->size});
  replies.close(replies.self, code, text_of(text));
}
static int say(call* call, const message* reply) {
  call->is_over = 1;
  finish(call->replies, reply, OK, "");
  return 1;
}
static int refuse(call* call, int code, const char* text) {
  call->is_over = 1;
  finish(call->replies, NULL, code, text);
  return 1;
}
static int not_found(call* call) { return refuse(call, UNKNOWN, "task not found for given id"); }
static int damaged(call* call) { return refuse(call, INVALID_ARGUMENT, "the request cannot be read"); }

/* Keeps the call open. Requires: mutex. */
static void wait_for(call* call, const char* id) {
  snprintf(call->waits_for, sizeof call->waits_for, "%s", id);
  call->is_waiting = 1;
  call->next = waiting;
  waiting = call;
}
/* Takes one call that waits for this task; 0 when none does. Requires: mutex. */
static int take_waiting(const char* id, drover_stream* replies) {
  for (call** at = &waiting; *at; at = &(*at)->next) {
    if (strcmp((*at)->waits_for, id) != 0) continue;
    *replies = (*at)->replies;
    (*at)->is_waiting = 0;
    (*at)->is_over = 1;
    *at = (*at)->next;
    return 1;
  }
  return 0;
}

static message exited(void) {
  message response = {.size = 0};
  put_bytes(&response, 1, "", 0); /* result: exit code 0 */
  return response;
}
static void end_task(const char* id) {
  const message response = exited();
  drover_stream replies;
  pthread_mutex_lock(&mutex);
  task* one = find_task(id);
  if (one && one->completed == 0) one->completed = time(NULL);
  while (one && take_waiting(id, &replies)) {
    pthread_mutex_unlock(&mutex);
    finish(replies, &response, OK, "");
    pthread_mutex_lock(&mutex);
  }
  pthread_mutex_unlock(&mutex);
}

/* ---- methods ---- */

static int empty(call* call, drover_bytes request) {
  const message nothing = {.size = 0};
  (void)request;
  return say(call, &nothing);
}
static int plugin_info(call* call, drover_bytes request) {
  message info = {.size = 0};
  (void)request;
  put_varint(&info, 1, 2); /* a driver */
  put_text(&info, 2, "v0.1.0");
  put_text(&info, 3, "1.0.0");
  put_text(&info, 4, "hello_c");
  return say(call, &info);
}
static int set_config(call* call, drover_bytes request) {
  drover_bytes ignored;
  return find(request, 1, &ignored, NULL) ? empty(call, request) : damaged(call);
}
static int capabilities(call* call, drover_bytes request) {
  message response = {.size = 0}, inner = {.size = 0};
  (void)request;
  put_varint(&inner, 6, 1); /* no mounts */
  put_message(&response, 1, &inner);
  return say(call, &response);
}
/* There is nothing to tell; the stream is open until the caller goes. */
static int task_events(call* call, drover_bytes request) {
  (void)request;
  pthread_mutex_lock(&mutex);
  wait_for(call, "");
  pthread_mutex_unlock(&mutex);
  return 1;
}
static int fingerprint(call* call, drover_bytes request) {
  message print = {.size = 0}, entry = {.size = 0}, attribute = {.size = 0};
  put_varint(&attribute, 4, 1); /* bool_val */
  put_text(&entry, 1, "driver.hello_c");
  put_message(&entry, 2, &attribute);
  put_message(&print, 1, &entry);
  put_varint(&print, 2, 2); /* healthy */
  put_text(&print, 3, "Healthy");
  call->replies.push(call->replies.self, (drover_bytes){print.data, print.size});
  return task_events(call, request);
}
/* As msgpack has it; no bytes at all are no options, too. */
static int is_empty_map(drover_bytes bytes) {
  return bytes.size == 0 || (bytes.size == 1 && *(const unsigned char*)bytes.data == 0x80);
}
static int start_task(call* call, drover_bytes request) {
  drover_bytes config, options;
  char stdout_path[1024], id[256];
  if (!find(request, 1, &config, NULL) || !find_text(config, 1, id, sizeof id) || !find(config, 3, &options, NULL) ||
      !find_text(config, 11, stdout_path, sizeof stdout_path))
    return damaged(call);
  if (id[0] == 0) return refuse(call, INVALID_ARGUMENT, "a task without an identifier");
  if (!is_empty_map(options)) return refuse(call, INVALID_ARGUMENT, "the task's config: there are no options");
  pthread_mutex_lock(&mutex);
  const int is_known = find_task(id) != NULL;
  task* one = is_known ? NULL : calloc(1, sizeof *one);
  if (one) {
    memcpy(one->id, id, sizeof id);
    find_text(config, 2, one->name, sizeof one->name);
    one->started = time(NULL);
    one->next = tasks;
    tasks = one;
  }
  pthread_mutex_unlock(&mutex);
  if (is_known) return refuse(call, ALREADY_EXISTS, "this task runs already");
  const int out = stdout_path[0] ? open(stdout_path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
  if (out >= 0) {
    if (dprintf(out, "hello from C\n") < 0) perror("hello_c");
    close(out);
  }
  message response = {.size = 0}, handle = {.size = 0};
  put_varint(&handle, 1, 1);
  put_bytes(&handle, 2, config.data, config.size);
  put_varint(&handle, 3, 1); /* running */
  put_text(&handle, 4, "1"); /* nothing to find it again by: tasks end with this process */
  put_message(&response, 3, &handle);
  return say(call, &response);
}
static int wait_task(call* call, drover_bytes request) {
  char id[256];
  const message response = exited();
  if (!find_text(request, 1, id, sizeof id)) return damaged(call);
  pthread_mutex_lock(&mutex);
  const task* one = find_task(id);
  const int is_known = one != NULL, has_ended = one && one->completed != 0;
  if (is_known && !has_ended) wait_for(call, id);
  pthread_mutex_unlock(&mutex);
  if (!is_known) return not_found(call);
  return has_ended ? say(call, &response) : 1;
}
/* "SIGTERM"; nothing is the driver's own choice. */
static int is_signal(const char* name) {
  if (name[0] == 0) return 1;
  for (int number = 1; number < NSIG; ++number) {
    const char* known = sigabbrev_np(number);
    if (known && strncmp(name, "SIG", 3) == 0 && strcmp(name + 3, known) == 0) return 1;
  }
  return 0;
}
static int stop_task(call* call, drover_bytes request) {
  char id[256], signal_name[32];
  if (!find_text(request, 1, id, sizeof id) || !find_text(request, 3, signal_name, sizeof signal_name))
    return damaged(call);
  pthread_mutex_lock(&mutex);
  const int is_known = find_task(id) != NULL;
  pthread_mutex_unlock(&mutex);
  if (!is_known) return not_found(call);
  if (!is_signal(signal_name)) return refuse(call, INVALID_ARGUMENT, "there is no such signal");
  end_task(id);
  return empty(call, request);
}
static int destroy_task(call* call, drover_bytes request) {
  char id[256];
  drover_bytes ignored;
  uint64_t force = 0;
  if (!find_text(request, 1, id, sizeof id) || !find(request, 2, &ignored, &force)) return damaged(call);
  pthread_mutex_lock(&mutex);
  const task* known = find_task(id);
  const int is_known = known != NULL, runs = known && known->completed == 0;
  pthread_mutex_unlock(&mutex);
  if (!is_known) return not_found(call);
  if (runs && !force) return refuse(call, FAILED_PRECONDITION, "the task still runs");
  end_task(id);
  pthread_mutex_lock(&mutex);
  for (task** at = &tasks; *at; at = &(*at)->next) {
    if (strcmp((*at)->id, id) != 0) continue;
    task* gone = *at;
    *at = gone->next;
    free(gone);
    break;
  }
  pthread_mutex_unlock(&mutex);
  return empty(call, request);
}
static int inspect_task(call* call, drover_bytes request) {
  char id[256];
  if (!find_text(request, 1, id, sizeof id)) return damaged(call);
  pthread_mutex_lock(&mutex);
  const task* known = find_task(id);
  const task one = known ? *known : (task){.next = NULL};
  pthread_mutex_unlock(&mutex);
  if (!known) return not_found(call);
  message response = {.size = 0}, status = {.size = 0};
  put_text(&status, 1, one.id);
  put_text(&status, 2, one.name);
  put_varint(&status, 3, one.completed ? 2 : 1); /* exited, running */
  put_time(&status, 4, one.started);
  put_time(&status, 5, one.completed ? one.completed : NO_TIME);
  put_bytes(&status, 6, "", 0); /* result: exit code 0 */
  put_message(&response, 1, &status);
  put_bytes(&response, 2, "", 0);
  return say(call, &response);
}
static int recover_task(call* call, drover_bytes request) {
  drover_bytes handle, config;
  char id[256];
  if (!find(request, 2, &handle, NULL) || !find(handle, 2, &config, NULL) || !find_text(config, 1, id, sizeof id))
    return damaged(call);
  pthread_mutex_lock(&mutex);
  const int is_known = find_task(id) != NULL;
  pthread_mutex_unlock(&mutex);
  return is_known ? empty(call, request) : not_found(call);
}

static const struct {
  const char* name;
  int (*answer)(call* call, drover_bytes request);
} methods[] = {
    {"/hashicorp.nomad.plugins.base.proto.BasePlugin/PluginInfo", plugin_info},
    {"/hashicorp.nomad.plugins.base.proto.BasePlugin/ConfigSchema", empty}, /* no schema: nothing to configure */
    {"/hashicorp.nomad.plugins.base.proto.BasePlugin/SetConfig", set_config},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/TaskConfigSchema", empty},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/Capabilities", capabilities},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/Fingerprint", fingerprint},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/TaskEvents", task_events},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/RecoverTask", recover_task},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/StartTask", start_task},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/WaitTask", wait_task},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/StopTask", stop_task},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/DestroyTask", destroy_task},
    {"/hashicorp.nomad.plugins.drivers.proto.Driver/InspectTask", inspect_task},
};

/* ---- the ABI ---- */

static int32_t push(void* self, drover_bytes request) {
  call* one = self;
  if (!one->answer) return 0;
  int (*const answer)(call*, drover_bytes) = one->answer;
  one->answer = NULL; /* every method here has one request */
  return answer(one, request);
}
static void end(void* self) { (void)self; }
static void close_requests(void* self, int32_t code, drover_bytes text) {
  call* one = self;
  (void)code;
  (void)text;
  pthread_mutex_lock(&mutex);
  for (call** at = &waiting; one->is_waiting && *at; at = &(*at)->next) {
    if (*at != one) continue;
    *at = one->next;
    break;
  }
  const int is_over = one->is_over;
  pthread_mutex_unlock(&mutex);
  if (!is_over) finish(one->replies, NULL, CANCELLED, "the caller has gone");
  free(one);
}
static drover_stream open_call(void* self, const drover_request* request, drover_stream replies) {
  call* one = calloc(1, sizeof *one);
  (void)self;
  if (!one) abort();
  one->replies = replies;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
    const size_t size = strlen(methods[i].name);
    if (size == request->method.size && memcmp(methods[i].name, request->method.data, size) == 0)
      one->answer = methods[i].answer;
  }
  if (!one->answer) refuse(one, UNIMPLEMENTED, "this driver has no such method");
  return (drover_stream){one, push, end, close_requests};
}
static void release(void* self) {
  (void)self;
  pthread_mutex_lock(&mutex);
  while (tasks) {
    task* gone = tasks;
    tasks = gone->next;
    free(gone);
  }
  pthread_mutex_unlock(&mutex);
}

/* One line in the agent's log: the host is an endpoint, too. */
static int32_t heard(void* self, drover_bytes reply) {
  (void)self;
  (void)reply;
  return 1;
}
static void logged(void* self, int32_t code, drover_bytes text) {
  (void)self;
  (void)code;
  (void)text;
}
static void log_line(const char* text) {
  message line = {.size = 0};
  const drover_request request = {sizeof request, text_of("/drover.v1.PluginHost/Log"), 0};
  put_varint(&line, 1, 3); /* info */
  put_text(&line, 2, text);
  const drover_stream requests = agent->open(agent->self, &request, (drover_stream){NULL, heard, end, logged});
  requests.push(requests.self, (drover_bytes){line.data, line.size});
  requests.end(requests.self);
  requests.close(requests.self, OK, text_of(""));
}

int32_t drover_plugin_open(const drover_endpoint* host, drover_endpoint* plugin) {
  agent = host;
  *plugin = (drover_endpoint){sizeof *plugin, NULL, open_call, release};
  log_line("the driver in C is here");
  return OK;
}
