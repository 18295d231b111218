#pragma once

namespace troupe {

/// For ThreadSanitizer. CAF's library counts references with atomics of its own, which the sanitizer cannot see, for
/// that library is not built with it. These say what order they make: what a thread did before `orderBefore(place)`
/// comes before what another does after `orderAfter(place)`. Otherwise they are nothing.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* place);
extern "C" void __tsan_release(void* place);
inline void orderBefore(void* place) { __tsan_release(place); }
inline void orderAfter(void* place) { __tsan_acquire(place); }
#else
inline void orderBefore(void*) {}
inline void orderAfter(void*) {}
#endif

}  // namespace troupe
