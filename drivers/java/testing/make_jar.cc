// Writes a jar, whose main prints its first argument, to the path that is the only argument.
#include <fstream>

#include "testing/java_files.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  std::ofstream file(words[1]);
  file << drover::java::jar_of("Hello", drover::java::printing_class("Hello"));
  return file.flush() ? 0 : 1;
}
