#include "quire/data/detail/bpe.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/error.h"
#include "quire/data/detail/nfc.h"
#include "quire/data/detail/utf8.h"

namespace quire::data {
namespace {

std::vector<Pattern> patterns_of(const BpeParts& parts) {
  std::vector<Pattern> patterns;
  for (const std::string& pattern : parts.patterns)
    patterns.emplace_back(pattern, parts.source);
  return patterns;
}

Letters letters_of(const BpeParts& parts) {
  Letters letters;
  if (parts.metaspace) letters = parts.metaspace->letters;
  for (std::size_t i = 0; i < parts.tokens.size() && !parts.metaspace; ++i) {
    const std::string& token = parts.tokens[i];
    if (token.size() == 1)
      letters.set_byte(static_cast<unsigned char>(token[0]),
                       static_cast<std::int32_t>(i));
  }
  letters.require_bytes(parts.source);
  return letters;
}

// As the added tokens of the normal form want it.
std::string normal_text(const std::string& text, const BpeParts& parts) {
  if (parts.nfc) return std::string(normal_form(text).text());
  if (!parts.metaspace || !parts.metaspace->normalizes) return text;
  return std::string(parts.metaspace->spaced(text, Before::kNothing).text());
}

}  // namespace

class BpeTokenizer::Turn {
 public:
  explicit Turn(const BpeTokenizer& tokenizer) : tokenizer_(tokenizer) {
    const std::lock_guard lock(tokenizer_.mutex_);
    if (tokenizer_.idle_.empty()) return;
    worker_ = std::move(tokenizer_.idle_.back());
    tokenizer_.idle_.pop_back();
  }
  ~Turn() {
    if (!worker_) return;
    const std::lock_guard lock(tokenizer_.mutex_);
    tokenizer_.idle_.push_back(std::move(worker_));
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Worker& worker() {
    if (!worker_) worker_ = std::make_unique<Worker>(tokenizer_);
    return *worker_;
  }

 private:
  const BpeTokenizer& tokenizer_;
  std::unique_ptr<Worker> worker_;
};

// Cuts text into added tokens and pieces. Every function returns the bytes
// whose ids are settled, which is all of a text without more.
class BpeTokenizer::Cutter {
 public:
  using Subject = Pattern::Subject;
  Cutter(const BpeTokenizer& tokenizer, const TextPart& part, Worker& worker,
         std::vector<std::int32_t>& ids)
      : tokenizer_(tokenizer),
        added_(part.specials == Specials::kRecognise ? tokenizer.all_added_
                                                     : tokenizer.plain_added_),
        worker_(worker),
        ids_(ids),
        before_(part.begun ? Before::kText : Before::kNothing) {}

  std::size_t cut(const Subject& subject) {
    return cut_at(added_.in_text, subject,
                  [this](const Subject& part) { return cut_bytes(part); });
  }

 private:
  // Until when a text that may change its form is settled.
  struct Settled {
    const TextForm* form = nullptr;  // null: no such text is being cut
    std::size_t bytes = 0;
    std::size_t ids = 0;
  };

  // At these tokens, and what stands between them by `cut`. A token that begins
  // before `known` is known to its last byte. It is settled with what follows,
  // which may look different behind a token.
  template <class Cut>
  std::size_t cut_at(const AddedTokens& added, const Subject& subject,
                     const Cut& cut) {
    const std::string_view text = subject.text;
    const std::size_t ahead =
        subject.more && added.longest() > 0 ? added.longest() - 1 : 0;
    const std::size_t known = text.size() - std::min(text.size(), ahead);
    std::optional<AddedTokens::Hit> last;
    std::size_t done = 0;
    while (done < known) {
      const auto hit = added.find(text, done, known);
      const std::size_t end = hit ? hit->begin : known;
      done += cut({.text = text.substr(done, end - done),
                   .more = !hit && subject.more});
      if (!hit) break;
      settle(text.data() + hit->begin);
      token(hit->id);
      done = hit->end;
      last = hit;
    }
    if (!subject.more || !last || done > last->end) return done;
    ids_.pop_back();
    return last->begin;
  }

  std::size_t cut_bytes(const Subject& subject) {
    const std::string_view text = subject.text;
    std::size_t done = 0;
    while (done < text.size()) {
      const std::string_view rest = text.substr(done);
      const std::size_t valid = valid_utf8(rest);
      const bool open =
          subject.more &&
          (valid == rest.size() || is_unfinished_utf8(rest.substr(valid)));
      const Subject stretch = {.text = rest.substr(0, valid), .more = open};
      done += cut_stretch(stretch);
      if (open) break;
      if (done < text.size()) piece(text.substr(done++, 1));
    }
    return done;
  }

  // UTF-8, by the normalizer first.
  std::size_t cut_stretch(const Subject& subject) {
    const BpeParts& parts = tokenizer_.parts_;
    const auto cut = [this](const Subject& part) { return cut_form(part); };
    if (parts.metaspace && parts.metaspace->normalizes)
      return cut_as(parts.metaspace->spaced(subject.text, before_), subject,
                    cut);
    if (!parts.nfc) return cut_form(subject);
    const std::size_t settled =
        subject.more ? last_segment(subject.text) : subject.text.size();
    return cut_as(normal_form(subject.text.substr(0, settled)), subject, cut);
  }

  // What of the form is settled may end where no byte of the text answers to
  // it; it is settled up to the last place where one does.
  template <class Cut>
  std::size_t cut_as(const TextForm& form, const Subject& subject,
                     const Cut& cut) {
    if (!subject.more) {
      cut({.text = form.text()});
      return subject.text.size();
    }
    settled_ = {.form = &form, .ids = ids_.size()};
    cut({.text = form.text(), .more = true});
    settled_.form = nullptr;
    ids_.resize(settled_.ids);
    return settled_.bytes;
  }

  void settle(const char* end) {
    if (settled_.form == nullptr) return;
    const char* begin = settled_.form->text().data();
    const auto bytes =
        settled_.form->origin(static_cast<std::size_t>(end - begin));
    if (bytes && *bytes > settled_.bytes)
      settled_ = {settled_.form, *bytes, ids_.size()};
  }

  std::size_t cut_form(const Subject& subject) {
    return cut_at(added_.in_form, subject, [this](const Subject& part) {
      // What is known may end within a character.
      const std::size_t whole =
          part.more ? valid_utf8(part.text) : part.text.size();
      return cut_words({.text = part.text.substr(0, whole), .more = part.more});
    });
  }

  std::size_t cut_words(const Subject& subject) {
    const auto& space = tokenizer_.parts_.metaspace;
    if (!space || space->normalizes) return cut_from(0, subject);
    return cut_as(space->spaced(subject.text, before_), subject,
                  [this](const Subject& part) { return cut_from(0, part); });
  }

  // By the patterns from number `first` on.
  std::size_t cut_from(std::size_t first, const Subject& subject) {
    const std::string_view text = subject.text;
    if (first == tokenizer_.patterns_.size()) {
      if (subject.more) return 0;
      if (!text.empty()) piece(text);
      return text.size();
    }
    std::size_t done = 0;
    while (done < text.size()) {
      const Match match =
          tokenizer_.patterns_[first].find(subject, done, worker_.memory);
      if (match.kind != Match::Kind::kFound) break;
      between(first, text.substr(done, match.begin - done));
      between(first, text.substr(match.begin, match.end - match.begin));
      done = match.end;
      if (subject.more) settle(text.data() + done);
    }
    if (subject.more) return done;
    between(first, text.substr(done));
    return text.size();
  }

  void between(std::size_t pattern, std::string_view text) {
    if (pattern + 1 < tokenizer_.patterns_.size())
      cut_from(pattern + 1, {.text = text});
    else if (!text.empty())
      piece(text);
  }

  void token(std::int32_t id) {
    ids_.push_back(id);
    before_ = Before::kToken;
  }

  void piece(std::string_view text) {
    before_ = Before::kText;
    if (worker_.cache.append(text, ids_)) return;
    const std::size_t before = ids_.size();
    tokenizer_.append_piece(text, worker_, ids_);
    worker_.cache.keep(text, std::span(ids_).subspan(before));
  }

  const BpeTokenizer& tokenizer_;
  const Added& added_;
  Worker& worker_;
  std::vector<std::int32_t>& ids_;
  Settled settled_;
  Before before_;
};

BpeTokenizer::BpeTokenizer(BpeParts parts)
    : parts_(std::move(parts)),
      merges_(parts_.merges, parts_.source),
      letters_(letters_of(parts_)),
      patterns_(patterns_of(parts_)),
      plain_added_(added_tokens(Specials::kAsText)),
      all_added_(added_tokens(Specials::kRecognise)) {
  if (parts_.ignore_merges) find_whole_pieces();
}

BpeTokenizer::~BpeTokenizer() = default;

BpeTokenizer::Added BpeTokenizer::added_tokens(Specials specials) const {
  std::vector<AddedToken> in_text;
  std::vector<AddedToken> in_form;
  for (AddedToken token : parts_.added) {
    if (token.special && specials == Specials::kAsText) continue;
    if (token.normalized) token.text = normal_text(token.text, parts_);
    (token.normalized ? in_form : in_text).push_back(std::move(token));
  }
  return {.in_text = AddedTokens(std::move(in_text)),
          .in_form = AddedTokens(std::move(in_form))};
}

void BpeTokenizer::find_whole_pieces() {
  for (std::size_t i = 0; i < parts_.tokens.size(); ++i)
    whole_pieces_.emplace(parts_.tokens[i], static_cast<std::int32_t>(i));
  for (const AddedToken& token : parts_.added) whole_pieces_.erase(token.text);
}

std::size_t BpeTokenizer::append(const TextPart& part,
                                 std::vector<std::int32_t>& ids) const {
  Turn turn(*this);
  Cutter cutter(*this, part, turn.worker(), ids);
  return cutter.cut({.text = part.text, .more = part.more});
}

void BpeTokenizer::append_piece(std::string_view piece, Worker& worker,
                                std::vector<std::int32_t>& ids) const {
  const auto whole = whole_pieces_.find(piece);
  if (whole != whole_pieces_.end()) return ids.push_back(whole->second);
  const std::size_t from = ids.size();
  letters_.append(piece, ids);
  worker.merger.merge(ids, from);
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    if (ids[i] < 0 || id >= parts_.tokens.size() || parts_.tokens[id].empty()) {
      throw UsageError(fmt::format(
          "token {} has id {}, which the tokenizer \"{}\" does not know; "
          "expected 0 to {}",
          i, ids[i], parts_.name, parts_.tokens.size() - 1));
    }
    text += parts_.tokens[id];
  }
  const bool strips = parts_.metaspace && parts_.metaspace->strips;
  if (strips && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

// By the names that GPT-2 and Qwen, Llama 3, and Llama's relatives give it.
std::optional<std::int32_t> BpeTokenizer::end_of_text() const {
  for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "</s>"}) {
    const auto found = std::ranges::find(parts_.added, name, &AddedToken::text);
    if (found != parts_.added.end()) return found->id;
  }
  return {};
}

}  // namespace quire::data
