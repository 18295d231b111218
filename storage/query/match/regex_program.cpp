#define PCRE2_CODE_UNIT_WIDTH 8
#include "storage/query/match/regex_program.hpp"

#include <pcre2.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace troupe::query {

namespace {

/// Compiling takes tens of microseconds, and an operation may have any number of patterns.
constexpr int64_t kStepsOfCompiling = 64;
/// The other forms are made only when they are needed, but have to be paid for before: one takes as much as the plain
/// form, the other about three times as much.
constexpr size_t kAllForms = 5;
constexpr size_t kCompiledToSize = 4;  ///< about
/// Memory that a thread keeps from match to match.
constexpr int64_t kKeptMemory = 64 << 10;
constexpr size_t kJitStack = 1 << 20;
constexpr uint32_t kHeapLimit = 64 << 10;  ///< KiB, of the interpreter
constexpr uint32_t kDepthLimit = 1'000'000;

/// The plain form matches texts of up to so many bytes ...
constexpr size_t kShortText = 4096;
/// ... within a limit that keeps places, backtracks from each, and bytes compared after each below some 2^30 together.
uint32_t limitForShort(size_t size) {
  return static_cast<uint32_t>(std::clamp<size_t>((size_t{1} << 27) / (size * size + 1), 64, 10'000));
}

/// The form that calls back at each place: a limit that keeps backtracks at one place, and bytes compared after each,
/// below some 2^29 together: some tenths of a second.
uint32_t limitAtPlace(size_t size) {
  return static_cast<uint32_t>(std::clamp<size_t>((size_t{1} << 29) / (size + 1), 100, 1'000'000));
}
constexpr int kBytesPerPlaceStep = 12;  ///< as a power of two: a place may read the rest of the text

/// The watched form: an item of a pattern takes as long as comparing so many bytes; a step is that of kBytesPerStep.
constexpr size_t kBytesPerItem = 16;
constexpr size_t kBytesPerStep = 512;
constexpr size_t kBytesPerLook = 128 * kBytesPerStep;
/// Some ten seconds.
constexpr int64_t kMostSteps = 20'000'000;
constexpr uint32_t kMostBacktracks = 10'000'000;

/// A class of characters beyond Latin-1 is a list of ranges that is walked for each character. Such a class is watched
/// where its bytes times those of the text pass this: some tenth of a second.
constexpr size_t kLargeClass = 256;
constexpr size_t kMostClassWork = size_t{1} << 28;
constexpr size_t kClassBytesPerByte = 4;  ///< of a class that is walked while a byte of text is compared

/// The end of the class that begins at `at` with '[', behind its ']'; npos when it does not end.
size_t endOfClass(std::string_view pattern, size_t at) {
  size_t i = at + 1;
  if (i < pattern.size() && pattern[i] == '^') ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;  // at the beginning it stands for itself
  for (; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern.substr(i).starts_with("[:")) {
      const size_t end = pattern.find(":]", i + 2);
      if (end != std::string_view::npos) i = end + 1;
    } else if (pattern[i] == ']') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// Calls `visit` with the beginning and end of each class; text that only looks like one may be taken for one.
template <class Visit>
void visitClasses(std::string_view pattern, const Visit& visit) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '[') {
      const size_t end = endOfClass(pattern, i);
      if (end == std::string_view::npos) return;
      visit(i, end);
      i = end - 1;
    }
  }
}

/// Bytes of the largest class, if that is a large one, else 0.
size_t largestClass(std::string_view pattern) {
  if (pattern.size() <= kLargeClass) return 0;
  size_t largest = 0;
  visitClasses(pattern, [&](size_t from, size_t to) { largest = std::max(largest, to - from); });
  return largest > kLargeClass ? largest : 0;
}

/// The pattern with a callout behind each character that a large class takes: `(?:[...](?C))*` for `[...]*`.
std::string withWatchedClasses(const std::string& pattern) {
  std::string out;
  size_t copied = 0;
  visitClasses(pattern, [&](size_t from, size_t to) {
    if (to - from <= kLargeClass) return;
    out.append(pattern, copied, from - copied).append("(?:").append(pattern, from, to - from).append("(?C))");
    copied = to;
  });
  return out.append(pattern, copied);
}

/// Whether brackets may stand for themselves outside of classes: in quotes and comments.
bool mayHideBrackets(std::string_view pattern, uint32_t flags) {
  const auto has = [&](std::string_view part) { return pattern.find(part) != std::string_view::npos; };
  return has("\\Q") || (has("#") && (has("(?") || (flags & PCRE2_EXTENDED) != 0));
}

Status tooExpensive() {
  return {ErrorCode(51156),
          "the regular expression takes too much time or memory to match: make it simpler, without repetitions within "
          "repetitions such as (a+)+, or search shorter texts"};
}

/// Limits and stack of a thread's matches.
struct Machine {
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 << 10, kJitStack, nullptr);
  Machine() {
    pcre2_jit_stack_assign(context, nullptr, stack);
    pcre2_set_heap_limit(context, kHeapLimit);
    pcre2_set_depth_limit(context, kDepthLimit);
  }
  ~Machine() {
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  static Machine& ofThread() {
    thread_local Machine machine;
    return machine;
  }
};

/// Counts the work of a watched match as it goes on.
struct Watch {
  QueryWork* work;
  bool refersBack;  ///< an item may compare all that a group has taken, without showing it by its position
  size_t bytesPerItem = kBytesPerItem;
  size_t position = 0;
  size_t start = 0;     ///< of the match that is tried
  size_t farthest = 0;  ///< position reached from there
  size_t bytes = 0;     ///< compared since the last look
  int64_t steps = 0;
  Status stopped;

  static int beforeItem(pcre2_callout_block* block, void* data) {
    auto& watch = *static_cast<Watch*>(data);
    const size_t at = block->current_position;
    if (watch.start != block->start_match) watch.farthest = watch.start = block->start_match;
    watch.farthest = std::max(watch.farthest, at);
    const size_t unseen = watch.refersBack ? watch.farthest - watch.start : 0;
    watch.bytes += watch.bytesPerItem + unseen + (std::max(at, watch.position) - std::min(at, watch.position));
    watch.position = at;
    return watch.bytes < kBytesPerLook ? 0 : watch.look();
  }

 private:
  int look() {
    const auto taken = static_cast<int64_t>(bytes / kBytesPerStep);
    bytes = 0;
    steps += taken;
    if (work) stopped = work->step(taken);
    if (stopped.isOK() && steps > kMostSteps) stopped = tooExpensive();
    return stopped.isOK() ? 0 : PCRE2_ERROR_CALLOUT;
  }
};

/// Looks at the operation at each place where a match is tried.
struct PlaceWatch {
  QueryWork* work;
  Status stopped;

  static int beforePlace(pcre2_callout_block* block, void* data) {
    auto& watch = *static_cast<PlaceWatch*>(data);
    const size_t rest = block->subject_length - block->start_match;
    if (watch.work) watch.stopped = watch.work->step(static_cast<int64_t>(1 + (rest >> kBytesPerPlaceStep)));
    return watch.stopped.isOK() ? 0 : PCRE2_ERROR_CALLOUT;
  }
};

}  // namespace

RegexMatch::RegexMatch(uint32_t groups) : groups_(groups) {
  memory_ = pcre2_general_context_create(&allocate, &release, this);  // which asks for memory of this object
}

RegexMatch::~RegexMatch() {
  pcre2_match_data_free(data_);
  pcre2_general_context_free(memory_);
}

void* RegexMatch::allocate(size_t size, void* match) {
  auto& self = *static_cast<RegexMatch*>(match);
  const size_t whole = size + alignof(std::max_align_t);  // its size comes first
  const int64_t held = self.held_ + static_cast<int64_t>(whole);
  if (self.work_ && held > kKeptMemory) {
    self.refused_ = self.charge_.resize(self.work_->memory(), held);
    if (!self.refused_.isOK()) return nullptr;
  }
  auto* const block = static_cast<std::byte*>(std::malloc(whole));
  if (!block) return nullptr;
  *reinterpret_cast<size_t*>(block) = whole;
  self.held_ = held;
  return block + alignof(std::max_align_t);
}

void RegexMatch::release(void* memory, void* match) {
  if (!memory) return;
  auto* const block = static_cast<std::byte*>(memory) - alignof(std::max_align_t);
  static_cast<RegexMatch*>(match)->held_ -= static_cast<int64_t>(*reinterpret_cast<size_t*>(block));
  std::free(block);
}

/// One search: the operation pays for the memory of its match until it ends.
class RegexMatch::Run {
 public:
  Run(RegexMatch& match, QueryWork* work) : match_(match) {
    match_.work_ = work;
    match_.refused_ = Status::OK();
    if (!match_.data_) match_.data_ = pcre2_match_data_create(match_.groups_ + 1, match_.memory_);
  }
  Run(const Run&) = delete;
  ~Run() {
    if (match_.held_ > kKeptMemory) pcre2_match_data_free(std::exchange(match_.data_, nullptr));
    match_.charge_ = storage::MemoryCharge();
    match_.work_ = nullptr;
  }
  void keepOffsets(int count) {
    const size_t* const at = pcre2_get_ovector_pointer(match_.data_);
    match_.offsets_.assign(at, at + 2 * static_cast<size_t>(count));
  }

 private:
  RegexMatch& match_;
};

/// What pcre2_match is called with.
struct RegexProgram::Attempt {
  const pcre2_code* code;
  std::string_view text;
  size_t from;
  pcre2_match_data* data;
  uint32_t limit;
};

RegexProgram::~RegexProgram() {
  pcre2_code_free(plain_);
  pcre2_code_free(places_);
  pcre2_code_free(watched_);
}

pcre2_code* RegexProgram::compileForm(const std::string& pattern, uint32_t extraFlags, int& error) const {
  size_t offset = 0;
  pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                         flags_ | extraFlags, &error, &offset, nullptr);
  // What needs another form takes so long that compiling pays. Where the compiler is not available the interpreter
  // serves.
  const bool isPlain = extraFlags == 0 && &pattern == &pattern_;
  if (code && (engine_ == Engine::kJustInTime || !isPlain)) pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return code;
}

StatusWith<std::shared_ptr<const RegexProgram>> RegexProgram::compile(std::string_view pattern, uint32_t flags,
                                                                      Engine engine, QueryWork* work) {
  if (work) TROUPE_TRY(work->step(kStepsOfCompiling + stepsFor(pattern.size())));
  std::shared_ptr<RegexProgram> program(new RegexProgram(pattern, flags, engine));
  int error = 0;
  program->plain_ = program->compileForm(program->pattern_, 0, error);
  if (!program->plain_) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(error, text, sizeof text);
    return {ErrorCode::kInvalidRegex, reinterpret_cast<const char*>(text)};
  }
  size_t size = 0, compiled = 0;
  uint32_t backReferences = 0;
  pcre2_pattern_info(program->plain_, PCRE2_INFO_SIZE, &size);
  pcre2_pattern_info(program->plain_, PCRE2_INFO_JITSIZE, &compiled);
  pcre2_pattern_info(program->plain_, PCRE2_INFO_CAPTURECOUNT, &program->groups_);
  pcre2_pattern_info(program->plain_, PCRE2_INFO_BACKREFMAX, &backReferences);
  program->refersBack_ = backReferences > 0;
  program->bytes_ = static_cast<int64_t>(sizeof(RegexProgram) + pattern.size() +
                                         kAllForms * (size + std::max(compiled, kCompiledToSize * size)));
  if (work) TROUPE_TRY(work->step(static_cast<int64_t>(compiled >> 6)));
  return std::shared_ptr<const RegexProgram>(std::move(program));
}

const pcre2_code* RegexProgram::watchedForm() const {
  std::call_once(watchedMade_, [this] {
    int error = 0;
    const bool rewrites = largestClass(pattern_) > 0 && !mayHideBrackets(pattern_, flags_);
    watched_ = compileForm(rewrites ? withWatchedClasses(pattern_) : pattern_, PCRE2_AUTO_CALLOUT, error);
  });
  return watched_;
}

const pcre2_code* RegexProgram::placesForm() const {
  std::call_once(placesMade_, [this] {
    int error = 0;
    // Settings of the whole pattern, (*...), have to come first. Of alternatives the first is tried at each place.
    if (!pattern_.starts_with("(*")) places_ = compileForm("(?C)" + pattern_, 0, error);
  });
  return places_;
}

int RegexProgram::run(const Attempt& attempt) {
  pcre2_match_context* const context = Machine::ofThread().context;
  pcre2_set_match_limit(context, attempt.limit);
  const auto match = [&](uint32_t options) {
    return pcre2_match(attempt.code, reinterpret_cast<PCRE2_SPTR>(attempt.text.data()), attempt.text.size(),
                       attempt.from, options, attempt.data, context);
  };
  // Checking the whole text again for each of many matches would take quadratic time.
  const uint32_t options = attempt.from > 0 ? PCRE2_NO_UTF_CHECK : 0;
  const int outcome = match(options);
  return outcome == PCRE2_ERROR_JIT_STACKLIMIT ? match(options | PCRE2_NO_JIT) : outcome;
}

int RegexProgram::runByPlaces(const Attempt& attempt, QueryWork* work, Status& stopped) const {
  pcre2_match_context* const context = Machine::ofThread().context;
  PlaceWatch watch{work, Status::OK()};
  pcre2_set_callout(context, &PlaceWatch::beforePlace, &watch);
  const int outcome = run(attempt);
  pcre2_set_callout(context, nullptr, nullptr);
  stopped = std::move(watch.stopped);
  return outcome;
}

int RegexProgram::runWatched(const Attempt& attempt, QueryWork* work, Status& stopped) const {
  pcre2_match_context* const context = Machine::ofThread().context;
  Watch watch{work, refersBack_, kBytesPerItem + largestClass(pattern_) / kClassBytesPerByte, attempt.from};
  pcre2_set_callout(context, &Watch::beforeItem, &watch);
  const int outcome = run(attempt);
  pcre2_set_callout(context, nullptr, nullptr);
  stopped = std::move(watch.stopped);
  return outcome;
}

/// For patterns too large to be watched: with a limit that doubles, so that an interrupt ends the match after as much
/// time again as it has taken.
int RegexProgram::runRepeatedly(const Attempt& first, QueryWork* work, Status& stopped) const {
  Attempt attempt = first;
  while (true) {
    const int outcome = run(attempt);
    if (outcome != PCRE2_ERROR_MATCHLIMIT || attempt.limit >= kMostBacktracks) return outcome;
    attempt.limit *= 2;
    if (work) stopped = work->step(attempt.limit);
    if (!stopped.isOK()) return outcome;
  }
}

StatusWith<int> RegexProgram::search(std::string_view text, size_t from, RegexMatch& match, QueryWork* work) const {
  if (work) TROUPE_TRY(work->step(static_cast<int64_t>(1 + ((text.size() - from) >> 7))));
  RegexMatch::Run running(match, work);
  if (!match.data_) return tooExpensive();
  Attempt attempt{plain_, text, from, match.data_, limitForShort(text.size())};
  int outcome = PCRE2_ERROR_MATCHLIMIT;
  Status stopped;
  const bool walksClass = text.size() > kShortText && largestClass(pattern_) > kMostClassWork / text.size();
  if (walksClass && (mayHideBrackets(pattern_, flags_) || !watchedForm())) return tooExpensive();
  if (text.size() <= kShortText) outcome = run(attempt);
  if (outcome == PCRE2_ERROR_MATCHLIMIT && !walksClass && placesForm())
    outcome = runByPlaces({placesForm(), text, from, match.data_, limitAtPlace(text.size())}, work, stopped);
  if (outcome == PCRE2_ERROR_MATCHLIMIT) {
    if (const pcre2_code* const watched = watchedForm()) {
      attempt.code = watched;
      attempt.limit = kMostBacktracks;
      outcome = runWatched(attempt, work, stopped);
    } else {
      outcome = runRepeatedly(attempt, work, stopped);
    }
  }
  TROUPE_TRY(stopped);
  TROUPE_TRY(match.refused_);
  switch (outcome) {
    case PCRE2_ERROR_NOMATCH: return 0;
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_NOMEMORY:
    case PCRE2_ERROR_JIT_STACKLIMIT: return tooExpensive();
    default: break;
  }
  if (outcome < 0) {
    PCRE2_UCHAR reason[256];
    pcre2_get_error_message(outcome, reason, sizeof reason);
    return {ErrorCode(51156),
            std::string("the regular expression cannot be matched: ") + reinterpret_cast<const char*>(reason)};
  }
  running.keepOffsets(std::max(outcome, 1));
  return std::max(outcome, 1);  // 0: matched, with more groups than are kept
}

}  // namespace troupe::query
