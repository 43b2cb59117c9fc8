/* SPDX-License-Identifier: MIT */

/* Stepping over JSON text at the speed of memory.
 *
 * A block of 64 bytes becomes bit masks. Unescaped quotes turn "string" on and
 * off, so a running XOR over their bits marks the bytes inside strings.
 * Brackets outside strings are counted with popcount. If a block has too few
 * closing brackets to end the value, and too few opening ones to pass the depth
 * limit, the counts are enough. Only other blocks are walked bit by bit. A
 * depth is a number: text of any nesting takes no memory and is skipped to its
 * end.
 *
 * Each instruction set brings `classify`, a 64-bit prefix XOR, and a search for
 * the end of a plain run of a string. The rest is shared code, inlined into a
 * function that is compiled for that set. No compiler flags are needed.
 *
 * Every 64-bit ARM processor has NEON, so that set needs no question to the
 * processor. 32-bit ARM runs the portable set, eight bytes a step.
 *
 * Invariant: a scanner never reads outside [bytes, bytes + length). */
#include "base/scan.h"

#include <string.h>

#include "base/cpu.h"
#include "base/word.h"

#if defined(__x86_64__) || defined(__i386__)
#define HAVE_X86 1
#include <immintrin.h>
#else
#define HAVE_X86 0
#endif

/* The masks below put the first byte lowest, as little-endian registers do. */
#if defined(__aarch64__) && defined(__ARM_NEON) &&                             \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HAVE_NEON 1
#include <arm_neon.h>
#else
#define HAVE_NEON 0
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The primitives of an instruction set. Always a constant where used, so that
 * the calls are inlined. */
typedef struct primitives {
  void (*classify)(kin__block_masks *masks, const char *block);
  uint64_t (*prefix_xor)(uint64_t bits);
  unsigned (*popcount)(uint64_t bits);
} primitives;

/* The bytes of a block that a backslash before them escapes. Backslashes are
 * rare, so one step for each is fast enough. */
ALWAYS_INLINE uint64_t escaped_bytes(uint64_t backslash, uint64_t *carry) {
  uint64_t escaped = *carry;
  uint64_t left = backslash & ~escaped;
  *carry = 0;
  while (left != 0) {
    unsigned at = (unsigned)__builtin_ctzll(left);
    if (at == KIN__BLOCK - 1) {
      *carry = 1;
      break;
    }
    escaped |= UINT64_C(2) << at;
    left &= ~(UINT64_C(3) << at);
  }
  return escaped;
}

/* Counts the brackets one by one. `usable` are the bits up to the first control
 * character inside a string. */
static kin__skip_result walk_block(kin__skip *skip, uint64_t open,
                                   uint64_t close, uint64_t usable,
                                   size_t *used) {
  uint64_t brackets = (open | close) & usable;
  while (brackets != 0) {
    uint64_t bit = brackets & -brackets;
    brackets ^= bit;
    if ((open & bit) != 0) {
      if (skip->depth++ == skip->max_depth) {
        skip->is_deep = true;
        skip->max_depth = UINT64_MAX;
      }
    } else if (--skip->depth == 0) {
      *used = (size_t)__builtin_ctzll(bit) + 1;
      return KIN__SKIP_DONE;
    }
  }
  return usable == UINT64_MAX ? KIN__SKIP_MORE : KIN__SKIP_CONTROL;
}

/* `*used` is set only for KIN__SKIP_DONE. */
ALWAYS_INLINE kin__skip_result skip_block(kin__skip *skip, const char *block,
                                          size_t *used, const primitives *p) {
  kin__block_masks masks;
  p->classify(&masks, block);
  uint64_t escaped = escaped_bytes(masks.backslash, &skip->escaped);
  /* From each opening quote to the byte before the closing one. */
  uint64_t string = p->prefix_xor(masks.quote & ~escaped) ^ skip->in_string;
  skip->in_string = 0 - (string >> 63);
  uint64_t open = masks.open & ~string;
  uint64_t close = masks.close & ~string;
  uint64_t control = masks.control & string;
  unsigned opens = p->popcount(open);
  unsigned closes = p->popcount(close);
  if (__builtin_expect(closes < skip->depth &&
                           skip->depth + opens <= skip->max_depth &&
                           control == 0,
                       1)) {
    skip->depth += opens;
    skip->depth -= closes;
    return KIN__SKIP_MORE;
  }
  uint64_t usable = control == 0 ? UINT64_MAX : (control & -control) - 1;
  kin__skip walked = *skip; /* so that *skip needs no address */
  kin__skip_result result = walk_block(&walked, open, close, usable, used);
  *skip = walked;
  return result;
}

/* Whether a backslash at the end of the bytes escapes the byte behind them;
 * `escaped`: 1 if the first of them is escaped. */
static uint64_t escapes_next(const char *bytes, size_t length,
                             uint64_t escaped) {
  size_t run = 0;
  while (run < length && bytes[length - 1 - run] == '\\') {
    run++;
  }
  return (run - (run == length ? escaped : 0)) & 1;
}

/* The state is a copy in registers: in memory it would be read and written for
 * each block. */
ALWAYS_INLINE kin__skip_result skip_span(kin__skip *skip, const char *bytes,
                                         size_t length, size_t *used,
                                         const primitives *p) {
  kin__skip state = *skip;
  kin__skip_result result;
  size_t in_block = 0;
  size_t at = 0;
  while ((result = skip_block(&state, bytes + at, &in_block, p)) ==
             KIN__SKIP_MORE &&
         (at += KIN__BLOCK) < length) {
  }
  *skip = state;
  *used = at + in_block;
  return result;
}

/* The bytes behind the last whole block are padded with spaces. These change
 * one thing only: whether the next byte is escaped must be told from the bytes
 * before them. */
static kin__skip_result skip_rest(const kin__scanner *scanner, kin__skip *skip,
                                  const char *bytes, size_t length,
                                  size_t *used) {
  char block[KIN__BLOCK];
  uint64_t escaped = escapes_next(bytes, length, skip->escaped);
  memset(block, ' ', sizeof block);
  memcpy(block, bytes, length);
  kin__skip_result result =
      scanner->skip_blocks(skip, block, sizeof block, used);
  if (result == KIN__SKIP_MORE) {
    skip->escaped = escaped;
  }
  return result;
}

kin__skip_result kin__scanner_skip(const kin__scanner *scanner, kin__skip *skip,
                                   const char *bytes, size_t length,
                                   size_t *used) {
  size_t rest = length % KIN__BLOCK;
  size_t whole = length - rest;
  kin__skip_result result = KIN__SKIP_MORE;
  *used = length;
  if (whole > 0) {
    result = scanner->skip_blocks(skip, bytes, whole, used);
  }
  if (rest > 0 && result == KIN__SKIP_MORE) {
    result = skip_rest(scanner, skip, bytes + whole, rest, used);
    *used += whole;
  }
  if (result != KIN__SKIP_DONE) {
    *used = length;
  }
  return result;
}

static int is_special(unsigned char c) {
  return c == '"' || c == '\\' || c < 0x20;
}

/* The portable set: eight bytes in one word. */

static const uint64_t ones = UINT64_C(0x0101010101010101);
static const uint64_t tops = UINT64_C(0x8080808080808080);

/* The top bit of each byte that is `value`; of each byte below `limit` (at most
 * 0x80). No carry passes between bytes, so both are exact. */
ALWAYS_INLINE uint64_t bytes_equal(uint64_t word, unsigned char value) {
  uint64_t x = word ^ (ones * value);
  return ~(((x & ~tops) + ~tops) | x) & tops;
}

ALWAYS_INLINE uint64_t bytes_below(uint64_t word, unsigned char limit) {
  return ~((word & ~tops) + ones * (0x80u - limit)) & ~word & tops;
}

/* Gathers the top bits into the low eight. */
ALWAYS_INLINE uint64_t gather(uint64_t top_bits) {
  return (top_bits >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

ALWAYS_INLINE void classify_portable(kin__block_masks *masks,
                                     const char *block) {
  *masks = (kin__block_masks){0};
  for (unsigned i = 0; i < KIN__BLOCK; i += 8) {
    uint64_t word = kin__word_load(block + i);
    uint64_t folded = word | ones * 0x20; /* [ and { differ in this bit only */
    masks->quote |= gather(bytes_equal(word, '"')) << i;
    masks->backslash |= gather(bytes_equal(word, '\\')) << i;
    masks->open |= gather(bytes_equal(folded, '{')) << i;
    masks->close |= gather(bytes_equal(folded, '}')) << i;
    masks->control |= gather(bytes_below(word, 0x20)) << i;
  }
}

ALWAYS_INLINE uint64_t prefix_xor_shifts(uint64_t bits) {
  bits ^= bits << 1;
  bits ^= bits << 2;
  bits ^= bits << 4;
  bits ^= bits << 8;
  bits ^= bits << 16;
  bits ^= bits << 32;
  return bits;
}

ALWAYS_INLINE unsigned popcount_word(uint64_t bits) {
  bits -= bits >> 1 & UINT64_C(0x5555555555555555);
  bits = (bits & UINT64_C(0x3333333333333333)) +
         (bits >> 2 & UINT64_C(0x3333333333333333));
  bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (unsigned)(bits * ones >> 56);
}

static const primitives portable_primitives = {
    classify_portable, prefix_xor_shifts, popcount_word};

static void portable_classify(kin__block_masks *masks, const char *block) {
  classify_portable(masks, block);
}

static kin__skip_result portable_skip(kin__skip *skip, const char *bytes,
                                      size_t length, size_t *used) {
  return skip_span(skip, bytes, length, used, &portable_primitives);
}

static size_t find_special_bytewise(const char *bytes, size_t length,
                                    size_t at) {
  while (at < length && !is_special((unsigned char)bytes[at])) {
    at++;
  }
  return at;
}

static size_t portable_find_special(const char *bytes, size_t length) {
  size_t at = 0;
  for (; length - at >= 8; at += 8) {
    uint64_t word = kin__word_load(bytes + at);
    uint64_t found = bytes_equal(word, '"') | bytes_equal(word, '\\') |
                     bytes_below(word, 0x20);
    if (found != 0) {
      return at + (size_t)__builtin_ctzll(found) / 8;
    }
  }
  return find_special_bytewise(bytes, length, at);
}

static const kin__scanner portable = {"portable", portable_classify,
                                      portable_skip, portable_find_special};

#if HAVE_X86

#define SSE2 __attribute__((target("sse2")))

SSE2 ALWAYS_INLINE uint64_t sse2_equal(const __m128i v[4], char value) {
  __m128i x = _mm_set1_epi8(value);
  uint64_t mask = 0;
  for (unsigned i = 0; i < 4; i++) {
    unsigned bits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], x));
    mask |= (uint64_t)bits << (16 * i);
  }
  return mask;
}

SSE2 ALWAYS_INLINE void classify_sse2(kin__block_masks *masks,
                                      const char *block) {
  __m128i raw[4];
  __m128i folded[4];
  __m128i low[4]; /* 0x1f iff the byte is at most 0x1f */
  for (unsigned i = 0; i < 4; i++) {
    raw[i] = _mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i));
    folded[i] = _mm_or_si128(raw[i], _mm_set1_epi8(0x20));
    low[i] = _mm_max_epu8(raw[i], _mm_set1_epi8(0x1f));
  }
  masks->quote = sse2_equal(raw, '"');
  masks->backslash = sse2_equal(raw, '\\');
  masks->open = sse2_equal(folded, '{');
  masks->close = sse2_equal(folded, '}');
  masks->control = sse2_equal(low, 0x1f);
}

static const primitives sse2_primitives = {classify_sse2, prefix_xor_shifts,
                                           popcount_word};

SSE2 static void sse2_classify(kin__block_masks *masks, const char *block) {
  classify_sse2(masks, block);
}

SSE2 static kin__skip_result sse2_skip(kin__skip *skip, const char *bytes,
                                       size_t length, size_t *used) {
  return skip_span(skip, bytes, length, used, &sse2_primitives);
}

SSE2 static size_t sse2_find_special(const char *bytes, size_t length) {
  size_t at = 0;
  for (; length - at >= 16; at += 16) {
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    __m128i x1f = _mm_set1_epi8(0x1f);
    __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(v, x1f), x1f);
    unsigned found = (unsigned)_mm_movemask_epi8(
        _mm_or_si128(_mm_or_si128(quote, backslash), control));
    if (found != 0) {
      return at + (size_t)__builtin_ctz(found);
    }
  }
  return find_special_bytewise(bytes, length, at);
}

static const kin__scanner sse2 = {"sse2", sse2_classify, sse2_skip,
                                  sse2_find_special};

#define AVX2 __attribute__((target("avx2,popcnt,pclmul")))

AVX2 ALWAYS_INLINE uint64_t avx2_equal(__m256i a, __m256i b, char value) {
  __m256i x = _mm256_set1_epi8(value);
  uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, x));
  uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, x));
  return low | (uint64_t)high << 32;
}

/* Of 0x1f and below. */
AVX2 ALWAYS_INLINE __m256i avx2_control(__m256i v) {
  __m256i x1f = _mm256_set1_epi8(0x1f);
  return _mm256_cmpeq_epi8(_mm256_max_epu8(v, x1f), x1f);
}

/* Whether any byte of the two is a backslash or a control character. Only
 * bytes below 0x20 are left of a saturated 0x20 - byte. */
AVX2 ALWAYS_INLINE bool avx2_has_rare(__m256i a, __m256i b, __m256i x20) {
  __m256i backslash = _mm256_set1_epi8('\\');
  __m256i rare =
      _mm256_or_si256(_mm256_subs_epu8(x20, _mm256_min_epu8(a, b)),
                      _mm256_or_si256(_mm256_cmpeq_epi8(a, backslash),
                                      _mm256_cmpeq_epi8(b, backslash)));
  return !_mm256_testz_si256(rare, rare);
}

/* Most blocks have neither a backslash nor a control character. One question
 * for both takes a quarter of the instructions of their masks. */
AVX2 ALWAYS_INLINE void classify_avx2(kin__block_masks *masks,
                                      const char *block) {
  const __m256i *from = (const __m256i *)(const void *)block;
  __m256i a = _mm256_loadu_si256(from);
  __m256i b = _mm256_loadu_si256(from + 1);
  __m256i fold = _mm256_set1_epi8(0x20);
  __m256i folded_a = _mm256_or_si256(a, fold);
  __m256i folded_b = _mm256_or_si256(b, fold);
  masks->quote = avx2_equal(a, b, '"');
  masks->open = avx2_equal(folded_a, folded_b, '{');
  masks->close = avx2_equal(folded_a, folded_b, '}');
  masks->backslash = 0;
  masks->control = 0;
  if (__builtin_expect(avx2_has_rare(a, b, fold), 0)) {
    masks->backslash = avx2_equal(a, b, '\\');
    masks->control = avx2_equal(avx2_control(a), avx2_control(b), (char)0xff);
  }
}

/* Multiplying without carries by all ones is the running XOR. */
AVX2 ALWAYS_INLINE uint64_t prefix_xor_clmul(uint64_t bits) {
  __m128i v = _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)bits),
                                   _mm_set1_epi8((char)0xff), 0);
#if defined(__x86_64__)
  return (uint64_t)_mm_cvtsi128_si64(v);
#else
  uint64_t product[2];
  _mm_storeu_si128((__m128i *)(void *)product, v);
  return product[0];
#endif
}

AVX2 ALWAYS_INLINE unsigned popcount_instruction(uint64_t bits) {
  return (unsigned)__builtin_popcountll(bits);
}

static const primitives avx2_primitives = {classify_avx2, prefix_xor_clmul,
                                           popcount_instruction};

AVX2 static void avx2_classify(kin__block_masks *masks, const char *block) {
  classify_avx2(masks, block);
}

AVX2 static kin__skip_result avx2_skip(kin__skip *skip, const char *bytes,
                                       size_t length, size_t *used) {
  return skip_span(skip, bytes, length, used, &avx2_primitives);
}

AVX2 static size_t avx2_find_special(const char *bytes, size_t length) {
  size_t at = 0;
  for (; length - at >= 32; at += 32) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(bytes + at));
    __m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
    __m256i backslash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
    uint32_t found = (uint32_t)_mm256_movemask_epi8(
        _mm256_or_si256(_mm256_or_si256(quote, backslash), avx2_control(v)));
    if (found != 0) {
      return at + (size_t)__builtin_ctz(found);
    }
  }
  return find_special_bytewise(bytes, length, at);
}

static const kin__scanner avx2 = {"avx2", avx2_classify, avx2_skip,
                                  avx2_find_special};

/* A whole block in one register, and comparisons that are masks already: a
 * third of the instructions of AVX2. */
#define AVX512 __attribute__((target("avx512f,avx512bw,avx2,popcnt,pclmul")))

AVX512 ALWAYS_INLINE void classify_avx512(kin__block_masks *masks,
                                          const char *block) {
  __m512i v = _mm512_loadu_si512(block);
  __m512i folded = _mm512_or_si512(v, _mm512_set1_epi8(0x20));
  masks->quote = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"'));
  masks->backslash = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\'));
  masks->open = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{'));
  masks->close = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}'));
  masks->control = _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(0x20));
}

static const primitives avx512_primitives = {classify_avx512, prefix_xor_clmul,
                                             popcount_instruction};

AVX512 static void avx512_classify(kin__block_masks *masks, const char *block) {
  classify_avx512(masks, block);
}

AVX512 static kin__skip_result avx512_skip(kin__skip *skip, const char *bytes,
                                           size_t length, size_t *used) {
  return skip_span(skip, bytes, length, used, &avx512_primitives);
}

/* Most strings are short, so their ends are found as with AVX2. */
static const kin__scanner avx512 = {"avx512", avx512_classify, avx512_skip,
                                    avx2_find_special};

#endif /* HAVE_X86 */

#if HAVE_NEON

/* One bit for each byte of four comparisons, whose bytes are all ones or 0. Byte
 * j of comparison k belongs to byte 4 * j + k of the block. Shifting right and
 * inserting collects four such bytes into half a byte. */
ALWAYS_INLINE uint64_t neon_mask(uint8x16_t is_0, uint8x16_t is_1,
                                 uint8x16_t is_2, uint8x16_t is_3) {
  uint8x16_t low = vsriq_n_u8(is_1, is_0, 1);
  uint8x16_t high = vsriq_n_u8(is_3, is_2, 1);
  uint8x16_t half = vsriq_n_u8(high, low, 2); /* in the upper four bits */
  uint8x16_t both = vsriq_n_u8(half, half, 4);
  uint8x8_t mask = vshrn_n_u16(vreinterpretq_u16_u8(both), 4);
  return vget_lane_u64(vreinterpret_u64_u8(mask), 0);
}

ALWAYS_INLINE uint64_t neon_equal(uint8x16x4_t v, uint8_t value) {
  uint8x16_t x = vdupq_n_u8(value);
  return neon_mask(vceqq_u8(v.val[0], x), vceqq_u8(v.val[1], x),
                   vceqq_u8(v.val[2], x), vceqq_u8(v.val[3], x));
}

ALWAYS_INLINE uint64_t neon_below(uint8x16x4_t v, uint8_t limit) {
  uint8x16_t x = vdupq_n_u8(limit);
  return neon_mask(vcltq_u8(v.val[0], x), vcltq_u8(v.val[1], x),
                   vcltq_u8(v.val[2], x), vcltq_u8(v.val[3], x));
}

ALWAYS_INLINE void classify_neon(kin__block_masks *masks, const char *block) {
  /* Every fourth byte in one register, as neon_mask takes them. */
  uint8x16x4_t raw = vld4q_u8((const uint8_t *)block);
  uint8x16_t fold = vdupq_n_u8(0x20);
  uint8x16x4_t folded = {
      {vorrq_u8(raw.val[0], fold), vorrq_u8(raw.val[1], fold),
       vorrq_u8(raw.val[2], fold), vorrq_u8(raw.val[3], fold)}};
  masks->quote = neon_equal(raw, '"');
  masks->backslash = neon_equal(raw, '\\');
  masks->open = neon_equal(folded, '{');
  masks->close = neon_equal(folded, '}');
  masks->control = neon_below(raw, 0x20);
}

/* The compiler counts in a vector register. Not every processor multiplies
 * without carries, and a shift with XOR is one instruction. */
ALWAYS_INLINE unsigned popcount_neon(uint64_t bits) {
  return (unsigned)__builtin_popcountll(bits);
}

static const primitives neon_primitives = {classify_neon, prefix_xor_shifts,
                                           popcount_neon};

static void neon_classify(kin__block_masks *masks, const char *block) {
  classify_neon(masks, block);
}

static kin__skip_result neon_skip(kin__skip *skip, const char *bytes,
                                  size_t length, size_t *used) {
  return skip_span(skip, bytes, length, used, &neon_primitives);
}

static size_t neon_find_special(const char *bytes, size_t length) {
  size_t at = 0;
  for (; length - at >= 16; at += 16) {
    uint8x16_t v = vld1q_u8((const uint8_t *)bytes + at);
    uint8x16_t quote = vceqq_u8(v, vdupq_n_u8('"'));
    uint8x16_t backslash = vceqq_u8(v, vdupq_n_u8('\\'));
    uint8x16_t control = vcltq_u8(v, vdupq_n_u8(0x20));
    uint8x16_t special = vorrq_u8(vorrq_u8(quote, backslash), control);
    /* Four bits for each byte. */
    uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(special), 4);
    uint64_t found = vget_lane_u64(vreinterpret_u64_u8(halves), 0);
    if (found != 0) {
      return at + (size_t)__builtin_ctzll(found) / 4;
    }
  }
  return find_special_bytewise(bytes, length, at);
}

static const kin__scanner neon = {"neon", neon_classify, neon_skip,
                                  neon_find_special};

#endif /* HAVE_NEON */

enum { MAX_USABLE = 4 };

/* Lists the scanners that this machine can run, the best last, and returns
 * their number. */
static size_t list_usable(const kin__scanner *usable[MAX_USABLE]) {
  size_t count = 0;
  usable[count++] = &portable;
#if HAVE_X86
  unsigned features = kin__cpu_features();
  if ((features & KIN__CPU_SSE2) != 0) {
    usable[count++] = &sse2;
  }
  if ((features & KIN__CPU_AVX2) != 0) {
    usable[count++] = &avx2;
  }
  if ((features & KIN__CPU_AVX512) != 0) {
    usable[count++] = &avx512;
  }
#endif
#if HAVE_NEON
  usable[count++] = &neon;
#endif
  return count;
}

const kin__scanner *kin__scanner_at(size_t index) {
  const kin__scanner *usable[MAX_USABLE];
  size_t count = list_usable(usable);
  return index < count ? usable[index] : NULL;
}

const kin__scanner *kin__scanner_best(void) {
  const kin__scanner *usable[MAX_USABLE];
  return usable[list_usable(usable) - 1];
}
