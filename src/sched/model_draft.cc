#include "sched/model_draft.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace seedance::sched {
namespace {

// Guesses that are made only to see whether they are right.
constexpr std::uint32_t kTrialGuesses = 4;

// What goes into the purse of all time, until it is as full as it was in the beginning.
constexpr double kPart = 1.0 / 128;
constexpr double kFullNs = 1e8;

// The share of the newest reading in the average,
constexpr double kNewest = 0.25;
// and of the newest guess: whether it pays may depend on a few hundredths.
constexpr double kNewestGuess = 1.0 / 32;

}  // namespace

ModelDraft::ModelDraft(std::uint32_t slots) : held_(slots), filled_(slots), purse_ns_(kFullNs) {}

DraftBudget::Choice ModelDraft::plan(std::span<const Sequence> sequences, const DraftBudget& budget,
                                     std::uint32_t rows_max, double other_speed,
                                     std::uint32_t room) {
  find_left(sequences);
  const DraftBudget::Choice choice = plan_work(sequences, budget, rows_max, other_speed, room);
  if (empties_ && !work_.empty()) {
    for (const Slot slot : left_) work_.push_back({.slot = slot});
  }
  return choice;
}

DraftBudget::Choice ModelDraft::plan_work(std::span<const Sequence> sequences,
                                          const DraftBudget& budget, std::uint32_t rows_max,
                                          double other_speed, std::uint32_t room) {
  work_.clear();
  std::vector<Text> ready;
  std::vector<Text> behind;
  std::vector<double> chances;
  std::vector<double> chances_ready;
  for (const Sequence& sequence : sequences) {
    const Text text = text_of(sequence);
    chances.push_back(sequence.chance);
    if (text.unread() <= kReadAlongMax) chances_ready.push_back(sequence.chance);
    (text.unread() <= kReadAlongMax ? ready : behind).push_back(text);
  }
  const auto count = static_cast<std::uint32_t>(sequences.size());
  const auto choice = [&](std::span<const double> of) {
    const double guess_ns = guess_costs_.of(static_cast<std::uint32_t>(of.size()));
    return budget.choose(count, rows_max, of, guess_ns);
  };
  const DraftBudget::Choice now = choice(chances_ready);
  const double best = std::max(now.speed, other_speed);
  forgone_ = std::max(0.0, 1 - (best / choice(chances).speed));
  if ((forgone_ > 0 || ready.empty()) && read(behind, room)) return {};
  used_ = now.speed > other_speed;
  if (used_) {
    guess(ready, now.rows - 1);
    return now;
  }
  std::erase_if(ready, [](const Text& text) { return text.sequence->open; });
  const double trial_ns = kTrialGuesses * guess_costs_.of(static_cast<std::uint32_t>(ready.size()));
  if (purse_ns_ >= trial_ns) guess(ready, std::min(kTrialGuesses, rows_max - 1));
  return {};
}

void ModelDraft::find_left(std::span<const Sequence> sequences) {
  left_.clear();
  for (std::uint32_t slot = 0; slot < filled_.size(); ++slot) {
    const bool left = std::ranges::find(sequences, Slot{slot}, &Sequence::slot) == sequences.end();
    if (filled_[slot] && left) left_.push_back({slot});
  }
}

ModelDraft::Text ModelDraft::text_of(const Sequence& sequence) const {
  const auto& held = held_[sequence.slot.value];
  const auto differ = std::ranges::mismatch(held, sequence.tokens).in1;
  return {.sequence = &sequence, .read = static_cast<std::uint32_t>(differ - held.begin())};
}

// The shortest first. Whether there is any that the purse can pay.
bool ModelDraft::read(std::vector<Text>& behind, std::uint32_t room) {
  std::ranges::sort(behind, {}, &Text::unread);
  double purse_ns = purse_ns_;
  for (const Text& text : behind) {
    const double price_ns = text.unread() * read_ns_;
    if (price_ns > purse_ns || room == 0) break;
    const std::uint32_t count = std::min(room, text.unread());
    add_work(text, text.read, count, 0);
    purse_ns -= price_ns;
    room -= count;
  }
  return !work_.empty();
}

// From the last token on, even where that is read: what follows it was not kept.
void ModelDraft::guess(std::span<const Text> ready, std::uint32_t guesses) {
  for (const Text& text : ready) {
    const auto known = static_cast<std::uint32_t>(text.sequence->tokens.size());
    const std::uint32_t begin = std::min(text.read, known - 1);
    add_work(text, begin, known - begin, guesses);
  }
}

void ModelDraft::add_work(const Text& text, std::uint32_t begin, std::uint32_t count,
                          std::uint32_t guesses) {
  const auto& [slot, tokens, chance, open] = *text.sequence;
  work_.push_back({.slot = slot, .begin = begin, .count = count, .guesses = guesses});
  const auto added = tokens.subspan(begin, count);
  auto& held = held_[slot.value];
  held.resize(begin);
  held.insert(held.end(), added.begin(), added.end());
  filled_[slot.value] = true;
}

void ModelDraft::on_drafted(std::span<const std::vector<TokenId>> guesses, Duration took) {
  SEEDANCE_CHECK(!work_.empty() && guesses.size() == work_.size(), "all work is done");
  const auto ns = static_cast<double>(took.count());
  const std::uint32_t each = work_.front().guesses;
  if (!used_ || each == 0) purse_ns_ -= ns;
  std::uint32_t read = 0;
  std::uint32_t texts = 0;
  for (std::size_t at = 0; at < work_.size(); ++at) {
    const DraftWork& done = work_[at];
    SEEDANCE_CHECK(guesses[at].size() == done.guesses, "as many as were asked for");
    auto& held = held_[done.slot.value];
    if (done.count == 0) {
      held.clear();
      filled_[done.slot.value] = false;
      continue;
    }
    ++texts;
    read += done.count;
    // It says the last one, and does not read it.
    if (each > 0) held.insert(held.end(), guesses[at].begin(), guesses[at].end() - 1);
  }
  if (each > 0) guess_costs_.on_step(texts, took / each);
  if (each == 0) read_ns_ += (read_ns_ == 0 ? 1 : kNewest) * ((ns / read) - read_ns_);
  work_.clear();
}

void ModelDraft::drop_work() {
  for (const DraftWork& each : work_) held_[each.slot.value].resize(each.begin);
  work_.clear();
}

void ModelDraft::on_failed() {
  for (auto& held : held_) held.clear();
  filled_.assign(filled_.size(), false);
  work_.clear();
  if (!left_.empty() && !std::exchange(empties_, true)) return;
  purse_ns_ = -kFullNs;
}

void ModelDraft::on_computed(Duration took) {
  const auto ns = static_cast<double>(took.count());
  purse_ns_ += ns * std::exchange(forgone_, 0);
  if (purse_ns_ < kFullNs) purse_ns_ += ns * kPart;
}

void ModelDraft::on_judged(bool right) {
  const double newest = std::max(kNewestGuess, 1.0 / static_cast<double>(2 + judged_++));
  chance_ += newest * ((right ? 1 : 0) - chance_);
}

Guess ModelDraft::new_guess() const {
  return Guess{chance_, kNewestGuess};
}

}  // namespace seedance::sched
