// Class files and jars for tests, byte by byte, so that no compiler of Java is needed.
#pragma once

#include <cstdint>
#include <string>

namespace drover::java {

// A public class with `main`, which prints its first argument and then, with `sleep_ms`, sleeps.
std::string printing_class(const std::string& name, uint32_t sleep_ms = 0);

// A jar with this class as its main one, not compressed.
std::string jar_of(const std::string& name, const std::string& class_file);

}  // namespace drover::java
