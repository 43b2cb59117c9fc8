/* SPDX-License-Identifier: MIT */

/* zstd's functions for allocators, parameters and frames without a head are
 * declared for static linking only. Their forms are those of zstd 1.4.0 and
 * later; kin__pack_library refuses other versions. */
#define ZSTD_STATIC_LINKING_ONLY
#define ZDICT_STATIC_LINKING_ONLY

#include "object/dictionary.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <kin/error.h>

#include "base/alloc.h"
#include "base/fork.h"
#include "base/hash.h"
#include "base/memory.h"
#include "object/binary.h"
#include "object/label_table.h"
#include "object/object.h"
#include "object/strip.h"

#define SELECTED_BYTES 1024u /* of a piece that a thorough training selects */
/* From here on KIN_COMPACT_SMALL packs as KIN_COMPACT_FAST, because such texts
 * would take more than a millisecond. */
#define LONG_TEXT_BYTES (16u << 10)
#define HALVES_BYTES 256u /* that two frames may need more than one */

struct kin__packing {
  kin_allocator allocator;
  atomic_uint refs;
  atomic_uint dictionaries;
  atomic_size_t inflated_bytes;
  _Atomic(ZSTD_DCtx *) spare; /* for the next text that is inflated */
  _Atomic(kin__inflated *) noted;
  kin__hash_seed seed; /* of halves and labels */
  _Atomic(kin__inflated *) late[KIN__LATE_TEXTS];
  atomic_uint late_texts;   /* that were kept so far */
  atomic_uint callers;      /* threads that may be calling on_noted */
  uint8_t last_number;      /* of a dictionary */
  kin__fork_mark fork_mark; /* of the process that has these threads */
  void (*on_noted)(void *ctx, bool is_first);
  void *ctx;
};

/* Packing needs these. NULL: not there, or retired. */
typedef struct tables {
  const ZSTD_CDict *pack;
  void *memory; /* pack lies here */
} tables;

struct kin__dictionary {
  kin__packing *packing; /* a reference */
  atomic_uint refs;
  tables tables;
  tables long_tables;  /* for LONG_TEXT_BYTES, if is_small */
  atomic_uint packers; /* that use it now */
  ZSTD_DDict *unpack;
  kin__label_table labels;
  kin__binary_known known; /* if is_small */
  bool is_small;
  uint8_t number;
  size_t length;
  char bytes[];
};

struct kin__packer {
  const kin_allocator *allocator;
  ZSTD_CCtx *context;
  kin__dictionary *dictionary;
  const ZSTD_CDict *pack;         /* of the dictionary: in use */
  char text[KIN__PACK_MAX_BYTES]; /* see kin__packer_room */
  size_t used;                    /* of the frames */
  bool has_failed;
  bool lacks_memory; /* one reason of has_failed */
  char frames[ZSTD_COMPRESSBOUND(KIN__PACK_MAX_BYTES) + HALVES_BYTES];
};

static kin__inflated closed_mark;
#define CLOSED (&closed_mark)

/* --- Library -------------------------------------------------------------- */

bool kin__pack_is_supported(void) {
  return true;
}

/* The functions for static linking have no promise beyond a minor version; they
 * have not changed from 1.4 to 1.5. */
kin__library kin__pack_library(void) {
  unsigned found = ZSTD_versionNumber();
  kin__library library = {.name = "zstd",
                          .built_for = "1.4.0 to 1.5",
                          .fits = found >= 10400 && found < 10600};
  snprintf(library.found, sizeof library.found, "%s", ZSTD_versionString());
  return library;
}

static void *take(void *opaque, size_t size) {
  return kin__malloc(opaque, size);
}

static void release(void *opaque, void *address) {
  kin__free(opaque, address);
}

/* The allocator outlives all its memory. */
static ZSTD_customMem memory_of(const kin_allocator *allocator) {
  return (ZSTD_customMem){take, release, (void *)allocator};
}

/* --- What dictionaries share ---------------------------------------------- */

kin__packing *kin__packing_new(const kin_allocator *allocator,
                               void (*on_noted)(void *ctx, bool is_first),
                               void *ctx) {
  kin__packing *packing = kin__malloc(allocator, sizeof *packing);
  if (packing != NULL) {
    packing->allocator = *allocator;
    atomic_init(&packing->refs, 1);
    atomic_init(&packing->dictionaries, 0);
    atomic_init(&packing->inflated_bytes, 0);
    atomic_init(&packing->spare, NULL);
    atomic_init(&packing->noted, NULL);
    for (unsigned i = 0; i < KIN__LATE_TEXTS; i++) {
      atomic_init(&packing->late[i], NULL);
    }
    atomic_init(&packing->late_texts, 0);
    atomic_init(&packing->callers, 0);
    kin__fork_mark_init(&packing->fork_mark);
    packing->last_number = 0;
    packing->seed = kin__hash_make_seed(packing);
    packing->on_noted = on_noted;
    packing->ctx = ctx;
  }
  return packing;
}

void kin__packing_unref(kin__packing *packing) {
  if (packing != NULL &&
      atomic_fetch_sub_explicit(&packing->refs, 1, memory_order_acq_rel) == 1) {
    kin_allocator allocator = packing->allocator;
    kin__fork_mark_finish(&packing->fork_mark);
    for (unsigned i = 0; i < KIN__LATE_TEXTS; i++) {
      kin__inflated_free(packing, atomic_load(&packing->late[i]));
    }
    ZSTD_freeDCtx(atomic_load(&packing->spare));
    kin__free(&allocator, packing);
  }
}

unsigned kin__packing_dictionaries(const kin__packing *packing) {
  return atomic_load_explicit(&packing->dictionaries, memory_order_relaxed);
}

/* --- Making a dictionary -------------------------------------------------- */

/* Fast: pods of 5.4 KB get to a ninth in 7 us. Small: to a fourteenth, in 60.
 * The chains and matches are as long as these pay for texts of a few KB. */
static ZSTD_compressionParameters parameters_of(bool is_small) {
  return is_small
             ? (ZSTD_compressionParameters){19, 17, 15, 4, 4, 16, ZSTD_btlazy2}
             : (ZSTD_compressionParameters){18, 13, 14, 1, 6, 0, ZSTD_dfast};
}

/* Without zstd's tables of frequencies, which it does not make of samples that
 * differ in little but their names. */
static size_t take_last(char *to, size_t room, const kin__samples *samples,
                        size_t total) {
  size_t content = total < room ? total : room;
  memcpy(to, samples->bytes + total - content, content);
  return content;
}

/* The content from the samples; returns its length. */
static size_t train(char *to, size_t room, const kin__samples *samples,
                    bool is_thorough) {
  size_t total = 0;
  for (unsigned i = 0; i < samples->count; i++) {
    total += samples->sizes[i];
  }
  if (is_thorough) {
    ZDICT_fastCover_params_t cover = {.k = SELECTED_BYTES,
                                      .d = 8,
                                      .f = 20,
                                      .steps = 1,
                                      .accel = 5,
                                      .zParams = {.compressionLevel = 3}};
    size_t length = ZDICT_trainFromBuffer_fastCover(
        to, room, samples->bytes, samples->sizes, samples->count, cover);
    if (!ZDICT_isError(length)) {
      return length;
    }
  }
  ZDICT_params_t last = {.compressionLevel = 3};
  size_t content_room = room - ZDICT_DICTSIZE_MIN * 4;
  size_t content = total < content_room ? total : content_room;
  size_t length = ZDICT_finalizeDictionary(
      to, room, samples->bytes + total - content, content, samples->bytes,
      samples->sizes, samples->count, last);
  return ZDICT_isError(length) ? take_last(to, room, samples, total) : length;
}

static void free_tables(kin__dictionary *dictionary, tables *t) {
  kin__free(&dictionary->packing->allocator, t->memory);
  *t = (tables){0};
}

/* Frees an incomplete dictionary, too. */
static void free_dictionary(kin__dictionary *dictionary) {
  kin__packing *packing = dictionary->packing;
  free_tables(dictionary, &dictionary->tables);
  free_tables(dictionary, &dictionary->long_tables);
  ZSTD_freeDDict(dictionary->unpack);
  kin__label_table_finish(&dictionary->labels, &packing->allocator);
  kin__binary_known_finish(&dictionary->known, &packing->allocator);
  kin__free(&packing->allocator, dictionary);
  atomic_fetch_sub_explicit(&packing->dictionaries, 1, memory_order_relaxed);
  kin__packing_unref(packing);
}

/* In memory of our own: ZSTD_createCDict_advanced of zstd 1.5 crashes if its
 * allocator fails. */
static bool make_tables(kin__dictionary *dictionary, tables *t, bool is_small) {
  ZSTD_compressionParameters parameters = parameters_of(is_small);
  size_t size = ZSTD_estimateCDictSize_advanced(dictionary->length, parameters,
                                                ZSTD_dlm_byRef);
  t->memory = kin__malloc(&dictionary->packing->allocator, size);
  if (t->memory != NULL) {
    t->pack = ZSTD_initStaticCDict(t->memory, size, dictionary->bytes,
                                   dictionary->length, ZSTD_dlm_byRef,
                                   ZSTD_dct_auto, parameters);
  }
  return t->pack != NULL;
}

/* Samples become what is left of texts that are packed. */
static int read_samples(kin__dictionary *dictionary, kin__samples *samples) {
  const kin__packing *packing = dictionary->packing;
  int err = kin__label_table_init(&dictionary->labels, &packing->allocator,
                                  &packing->seed, samples);
  if (err != 0) {
    return err;
  }
  kin__strip_samples(samples);
  if (dictionary->is_small) {
    err = kin__binary_known_init(&dictionary->known, &packing->allocator,
                                 &packing->seed, samples);
  }
  if (dictionary->is_small && err == 0) {
    kin__binary_shorten_samples(samples, &dictionary->known);
  }
  return err;
}

static bool make_contexts(kin__dictionary *dictionary) {
  dictionary->unpack = ZSTD_createDDict_advanced(
      dictionary->bytes, dictionary->length, ZSTD_dlm_byRef, ZSTD_dct_auto,
      memory_of(&dictionary->packing->allocator));
  return dictionary->unpack != NULL &&
         make_tables(dictionary, &dictionary->tables, dictionary->is_small) &&
         (!dictionary->is_small ||
          make_tables(dictionary, &dictionary->long_tables, false));
}

int kin__dictionary_new(kin__dictionary **out, kin__packing *packing,
                        kin__samples *samples, bool is_small,
                        bool is_thorough) {
  *out = NULL;
  const kin_allocator *allocator = &packing->allocator;
  size_t room = is_small && is_thorough ? KIN__LARGE_DICTIONARY_BYTES
                                        : KIN__DICTIONARY_BYTES;
  kin__dictionary *dictionary =
      kin__calloc(allocator, 1, sizeof *dictionary + room);
  if (dictionary == NULL) {
    return KIN_ENOMEM;
  }
  atomic_init(&dictionary->refs, 1);
  atomic_init(&dictionary->packers, 0);
  atomic_fetch_add_explicit(&packing->refs, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&packing->dictionaries, 1, memory_order_relaxed);
  dictionary->packing = packing;
  dictionary->is_small = is_small;
  packing->last_number = (uint8_t)(packing->last_number % UINT8_MAX + 1);
  dictionary->number = packing->last_number;
  int err = read_samples(dictionary, samples);
  if (err == 0) {
    dictionary->length = train(dictionary->bytes, room, samples, is_thorough);
    err = make_contexts(dictionary) ? 0 : KIN_ENOMEM;
  }
  if (err != 0) {
    free_dictionary(dictionary);
    return err;
  }
  *out = dictionary;
  return 0;
}

kin__dictionary *kin__dictionary_ref(kin__dictionary *dictionary) {
  atomic_fetch_add_explicit(&dictionary->refs, 1, memory_order_relaxed);
  return dictionary;
}

void kin__dictionary_unref(kin__dictionary *dictionary) {
  if (dictionary != NULL &&
      atomic_fetch_sub_explicit(&dictionary->refs, 1, memory_order_acq_rel) ==
          1) {
    free_dictionary(dictionary);
  }
}

kin__packing *kin__dictionary_packing(const kin__dictionary *dictionary) {
  return dictionary->packing;
}

uint8_t kin__dictionary_number(const kin__dictionary *dictionary) {
  return dictionary->number;
}

size_t kin__dictionary_encode_labels(const kin__dictionary *dictionary,
                                     kin_str labels, char *to, size_t size) {
  return kin__label_table_encode(&dictionary->labels, labels, to, size);
}

const kin__label_table *
kin__dictionary_labels(const kin__dictionary *dictionary) {
  return &dictionary->labels;
}

bool kin__dictionary_label(const kin__dictionary *dictionary, kin_str codes,
                           kin_str name, kin_str *value) {
  return kin__label_table_find(&dictionary->labels, codes, name, value);
}

/* --- Packing -------------------------------------------------------------- */

kin__packer *kin__packer_new(const kin_allocator *allocator) {
  kin__packer *packer = kin__malloc(allocator, sizeof *packer);
  if (packer == NULL) {
    return NULL;
  }
  packer->allocator = allocator;
  packer->dictionary = NULL;
  packer->pack = NULL;
  packer->context = ZSTD_createCCtx_advanced(memory_of(allocator));
  if (packer->context == NULL) {
    kin__free(allocator, packer);
    return NULL;
  }
  /* These cannot fail: the values are constants. */
  ZSTD_CCtx *context = packer->context;
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_format, ZSTD_f_zstd1_magicless);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0);
  (void)ZSTD_CCtx_setParameter(context, ZSTD_c_dictIDFlag, 0);
  return packer;
}

/* Memory that only packing needs goes with the last packer. */
static void let_go(kin__dictionary *dictionary) {
  if (dictionary != NULL) {
    if (atomic_fetch_sub_explicit(&dictionary->packers, 1,
                                  memory_order_acq_rel) == 1) {
      free_tables(dictionary, &dictionary->tables);
      free_tables(dictionary, &dictionary->long_tables);
    }
    kin__dictionary_unref(dictionary);
  }
}

void kin__packer_free(kin__packer *packer) {
  if (packer != NULL) {
    ZSTD_freeCCtx(packer->context);
    let_go(packer->dictionary);
    kin__free(packer->allocator, packer);
  }
}

static void use_tables(kin__packer *packer, const ZSTD_CDict *pack) {
  if (packer->pack != pack) {
    packer->pack = pack;
    (void)ZSTD_CCtx_reset(packer->context, ZSTD_reset_session_only);
    (void)ZSTD_CCtx_refCDict(packer->context, pack);
  }
}

void kin__packer_use(kin__packer *packer, kin__dictionary *dictionary) {
  kin__dictionary *before = packer->dictionary;
  if (before == dictionary) {
    return;
  }
  packer->dictionary = kin__dictionary_ref(dictionary);
  packer->pack = NULL; /* new tables may lie where old ones did */
  atomic_fetch_add_explicit(&dictionary->packers, 1, memory_order_relaxed);
  use_tables(packer, dictionary->tables.pack);
  let_go(before);
}

kin__dictionary *kin__packer_dictionary(const kin__packer *packer) {
  return packer->dictionary;
}

char *kin__packer_room(kin__packer *packer) {
  return packer->text;
}

void kin__packer_begin(kin__packer *packer) {
  packer->used = 0;
  packer->has_failed = false;
  packer->lacks_memory = false;
}

void kin__packer_put(kin__packer *packer, kin_str bytes) {
  if (bytes.length > sizeof packer->frames - packer->used) {
    packer->has_failed = true;
    return;
  }
  memcpy(packer->frames + packer->used, bytes.data, bytes.length);
  packer->used += bytes.length;
}

size_t kin__packer_put_frame(kin__packer *packer, kin_str text) {
  const kin__dictionary *dictionary = packer->dictionary;
  bool is_long = dictionary->is_small && text.length >= LONG_TEXT_BYTES;
  use_tables(packer,
             (is_long ? dictionary->long_tables : dictionary->tables).pack);
  /* With less room than zstd's bound it may give up on what would fit. */
  size_t length = ZSTD_compress2(packer->context, packer->frames + packer->used,
                                 sizeof packer->frames - packer->used,
                                 text.data, text.length);
  if (ZSTD_isError(length)) {
    packer->has_failed = true;
    packer->lacks_memory =
        packer->lacks_memory ||
        ZSTD_getErrorCode(length) == ZSTD_error_memory_allocation;
    return 0;
  }
  packer->used += length;
  return length;
}

kin_str kin__packer_end(kin__packer *packer, size_t text_length) {
  bool is_of_use =
      !packer->has_failed && packer->used <= KIN__PACK_BOUND(text_length);
  return is_of_use ? kin__str(packer->frames, packer->used) : kin__str(NULL, 0);
}

bool kin__packer_lacks_memory(const kin__packer *packer) {
  return packer->lacks_memory;
}

kin_str kin__packer_pack(kin__packer *packer, kin_str text) {
  if (packer->dictionary == NULL || text.length > KIN__PACK_MAX_BYTES) {
    return kin__str(NULL, 0);
  }
  kin__packer_begin(packer);
  (void)kin__packer_put_frame(packer, text);
  return kin__packer_end(packer, text.length);
}

const kin__binary_known *kin__packer_known(const kin__packer *packer) {
  return packer->dictionary->is_small ? &packer->dictionary->known : NULL;
}

uint64_t kin__packer_hash(const kin__packer *packer, kin_str text) {
  return kin__hash_long(&packer->dictionary->packing->seed, text);
}

/* --- Inflating ------------------------------------------------------------ */

static ZSTD_DCtx *take_context(kin__packing *packing) {
  ZSTD_DCtx *context =
      atomic_exchange_explicit(&packing->spare, NULL, memory_order_acquire);
  if (context == NULL) {
    context = ZSTD_createDCtx_advanced(memory_of(&packing->allocator));
    if (context != NULL) {
      (void)ZSTD_DCtx_setParameter(context, ZSTD_d_format,
                                   ZSTD_f_zstd1_magicless);
    }
  }
  return context;
}

static void give_context(kin__packing *packing, ZSTD_DCtx *context) {
  ZSTD_DCtx *none = NULL;
  if (!atomic_compare_exchange_strong_explicit(&packing->spare, &none, context,
                                               memory_order_release,
                                               memory_order_relaxed)) {
    ZSTD_freeDCtx(context);
  }
}

int kin__dictionary_inflate(kin__dictionary *dictionary, kin_str frame,
                            char *to, size_t length) {
  kin__packing *packing = dictionary->packing;
  ZSTD_DCtx *context = take_context(packing);
  if (context == NULL) {
    return KIN_ENOMEM;
  }
  size_t got = ZSTD_decompress_usingDDict(context, to, length, frame.data,
                                          frame.length, dictionary->unpack);
  give_context(packing, context);
  return got == length ? 0 : KIN_EUNEXPECTED;
}

/* --- Texts held by objects ------------------------------------------------ */

kin__inflated *kin__inflated_new(kin__packing *packing, size_t length) {
  size_t bytes = atomic_fetch_add_explicit(&packing->inflated_bytes, length,
                                           memory_order_relaxed);
  kin__inflated *inflated =
      bytes + length <= KIN__INFLATED_MAX_BYTES
          ? kin__malloc(&packing->allocator, sizeof *inflated + length)
          : NULL;
  if (inflated == NULL) {
    atomic_fetch_sub_explicit(&packing->inflated_bytes, length,
                              memory_order_relaxed);
    return NULL;
  }
  inflated->next = NULL;
  inflated->object = NULL;
  inflated->older = NULL;
  inflated->length = length;
  return inflated;
}

void kin__inflated_free(kin__packing *packing, kin__inflated *inflated) {
  while (inflated != NULL) {
    kin__inflated *older = inflated->older;
    atomic_fetch_sub_explicit(&packing->inflated_bytes, inflated->length,
                              memory_order_relaxed);
    kin__free(&packing->allocator, inflated);
    inflated = older;
  }
}

/* In the one order of these operations, either the caller is counted when the
 * owner asks after its close, or the caller sees that the owner has closed. */
static void tell_owner(kin__packing *packing, bool is_first) {
  atomic_fetch_add(&packing->callers, 1);
  if (atomic_load(&packing->noted) != CLOSED) {
    packing->on_noted(packing->ctx, is_first);
  }
  atomic_fetch_sub(&packing->callers, 1);
}

bool kin__inflated_note(kin__packing *packing, kin__inflated *inflated) {
  kin__inflated *first =
      atomic_load_explicit(&packing->noted, memory_order_relaxed);
  do {
    if (first == CLOSED) {
      return false;
    }
    inflated->next = first;
  } while (!atomic_compare_exchange_weak_explicit(
      &packing->noted, &first, inflated, memory_order_release,
      memory_order_relaxed));
  tell_owner(packing, first == NULL);
  return true;
}

bool kin__inflated_is_noted(const kin__packing *packing) {
  const kin__inflated *first =
      atomic_load_explicit(&packing->noted, memory_order_relaxed);
  return first != NULL && first != CLOSED;
}

kin__inflated *kin__inflated_take(kin__packing *packing) {
  return atomic_exchange_explicit(&packing->noted, NULL, memory_order_acquire);
}

kin__inflated *kin__inflated_close(kin__packing *packing) {
  kin__inflated *first = NULL;
  bool is_closed =
      atomic_compare_exchange_strong(&packing->noted, &first, CLOSED) ||
      first == CLOSED;
  return is_closed ? NULL : kin__inflated_take(packing);
}

bool kin__inflated_is_closed(const kin__packing *packing) {
  return atomic_load(&packing->noted) == CLOSED;
}

bool kin__inflated_has_callers(const kin__packing *packing) {
  return atomic_load(&packing->callers) > 0 &&
         !kin__fork_mark_is_child(&packing->fork_mark);
}

void kin__inflated_keep(kin__packing *packing, kin__inflated *inflated) {
  unsigned place = atomic_fetch_add(&packing->late_texts, 1) % KIN__LATE_TEXTS;
  kin__inflated_free(packing, atomic_exchange(&packing->late[place], inflated));
}
