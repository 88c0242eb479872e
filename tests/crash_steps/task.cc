// The program of a life's tasks: NAME FILE…. It says what its files hold, then counts lines, in its output and in a
// file.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

namespace {

volatile sig_atomic_t is_told_to_end = 0;

int open_data(const char* name, const char* what, int flags) {
  char path[1000];
  snprintf(path, sizeof path, "%s/data/%s.%s", getenv("NOMAD_ALLOC_DIR"), name, what);
  return open(path, flags | O_CREAT | O_CLOEXEC, 0666);
}

void say(const char* text) {
  if (write(1, text, strlen(text)) < 0) _exit(4);
}

}  // namespace

int main(int count, char** words) {
  signal(SIGINT, [](int) { is_told_to_end = 1; });
  signal(SIGTERM, [](int) { is_told_to_end = 1; });
  const char* name = words[1];
  const int starts = open_data(name, "starts", O_WRONLY | O_APPEND);
  if (starts < 0 || write(starts, "s", 1) != 1) return 2;
  if (flock(open_data(name, "lock", O_RDWR), LOCK_EX | LOCK_NB) != 0) {  // another one lives
    const int twice = open_data(name, "twice", O_WRONLY);
    if (twice >= 0) close(twice);
  }
  char line[500] = "found";
  for (int i = 2; i < count; ++i) {
    char text[100] = " ";
    const int file = open(words[i], O_RDONLY);
    const ssize_t got = file < 0 ? -1 : read(file, text + 1, 90);
    if (got < 0) {
      snprintf(text, sizeof text, " missing:%s", words[i]);
    } else {
      text[got + 1] = 0;
      text[strcspn(text, "\n")] = 0;
    }
    strncat(line, text, sizeof line - strlen(line) - 2);
  }
  say(strcat(line, "\n"));
  const int lines = open_data(name, "lines", O_RDWR);
  for (int i = 1; !is_told_to_end; ++i) {
    snprintf(line, sizeof line, "line %d\n", i);
    say(line);
    snprintf(line, sizeof line, "%08d", i);
    if (pwrite(lines, line, 8, 0) != 8) return 3;
    const timespec pause{0, 3'000'000};
    nanosleep(&pause, nullptr);
  }
  say("bye\n");
}
