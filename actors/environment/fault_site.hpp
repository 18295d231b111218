#pragma once
#include <string_view>
#include <vector>

namespace troupe {

/// A named place in the code where something may fail as it does in reality: a static object beside the code that
/// asks it. When the site fires the code must do the same as after a real failure. Whether it fires is the
/// environment's to say (`Environment::fires`): never, unless a test or a simulation has asked for it.
///
///   const FaultSite kNoSession("machines.store.no-session", 0.02, "the engine has no session to give");
///   ...
///   if (environment().fires(kNoSession)) return Status(...);
///
/// The page docs/contributors/fault-sites.md lists all of them.
class FaultSite {
 public:
  /// `name`: room, part and what happens. `most`: the largest share of passes that may fail without making everything
  /// stand still. `meaning`: one line for people. Texts are static.
  FaultSite(const char* name, double most, const char* meaning) noexcept;
  FaultSite(const FaultSite&) = delete;

  std::string_view name() const { return name_; }
  double most() const { return most_; }
  std::string_view meaning() const { return meaning_; }

  /// All sites of this program, by name.
  static std::vector<const FaultSite*> all();
  /// The site of that name; null: there is none.
  static const FaultSite* find(std::string_view name);

 private:
  const char* const name_;
  const double most_;
  const char* const meaning_;
  const FaultSite* const next_;
};

/// Decides which sites fire: a seed's in the simulator, an operator's in tests of a live server. Any thread.
class FaultPlan {
 public:
  virtual ~FaultPlan() = default;
  /// Asked at each pass of the place.
  virtual bool fires(const FaultSite& site) noexcept = 0;
};

}  // namespace troupe
