// Linked into every program of a sanitizer build, so that it behaves the same by hand as in `./dev test --full`.
// Reports are suppressed for libraries of the distribution only, which are not instrumented; the reason stands beside
// each. ASAN_OPTIONS, LSAN_OPTIONS, UBSAN_OPTIONS and TSAN_OPTIONS come on top of these.

#if defined(__SANITIZE_ADDRESS__)

extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1:detect_leaks=1";
}

extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }

extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }

extern "C" const char* __lsan_default_suppressions() {
  return
      // WiredTiger lets go of its memory without freeing it when it panics, or refuses damaged metadata.
      "leak:libwiredtiger\n";
}

#elif defined(__SANITIZE_THREAD__)

extern "C" const char* __tsan_default_options() {
  return "history_size=4:second_deadlock_stack=1:print_suppressions=0";
}

extern "C" const char* __tsan_default_suppressions() {
  return
      // Their own locks and atomics are invisible: what they copy into and out of our buffers looks unordered.
      "called_from_lib:libwiredtiger.so\n"
      "called_from_lib:libsnappy\n"
      "called_from_lib:libcaf_core\n"
      // CAF locks in its own library, which the line above hides, and unlocks by a jump that looks like our call.
      "mutex:runAlone\n";
}

#endif
