/* SPDX-License-Identifier: MIT */
#include "gzip.h"

#include <string.h>

enum { BLOCK_MAX = 65535 };

static uint32_t crc_of_byte(uint32_t value) {
  for (int bit = 0; bit < 8; bit++) {
    value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320u : value >> 1;
  }
  return value;
}

static uint32_t update_crc(uint32_t crc, const char *bytes, size_t len) {
  static uint32_t table[256];
  for (uint32_t i = 0; table[255] == 0 && i < 256; i++) {
    table[i] = crc_of_byte(i);
  }
  crc = ~crc;
  for (size_t i = 0; i < len; i++) {
    crc = table[(crc ^ (unsigned char)bytes[i]) & 255] ^ crc >> 8;
  }
  return ~crc;
}

void gzip_begin(gzip *gz, segq *to) {
  static const char HEADER[] = "\x1f\x8b\x08\0\0\0\0\0\0\xff";
  *gz = (gzip){0};
  segq_push(to, NULL, HEADER, sizeof HEADER - 1);
}

static void put_block_head(size_t len, bool last, segq *to) {
  char head[5];
  head[0] = last ? 1 : 0;
  head[1] = (char)(len & 255);
  head[2] = (char)(len >> 8);
  head[3] = (char)(~len & 255);
  head[4] = (char)(~len >> 8 & 255);
  segq_push_copy(to, head, sizeof head);
}

void gzip_put(gzip *gz, segq *from, segq *to) {
  for (size_t i = 0; i < from->count; i++) {
    const seg *s = segq_at(from, i);
    gz->crc = update_crc(gz->crc, s->ptr, s->len);
    gz->size += (uint32_t)s->len;
  }
  while (from->bytes != 0) {
    size_t len = from->bytes < BLOCK_MAX ? from->bytes : BLOCK_MAX;
    put_block_head(len, false, to);
    segq_move(to, from, len);
  }
}

/* Bits, the lowest of a byte first (RFC 1951, 3.1.1). */
typedef struct bits {
  blob *to;
  size_t at;
} bits;

static void put_bits(bits *b, unsigned value, unsigned count) {
  for (unsigned i = 0; i < count; i++, b->at++) {
    b->to->data[b->at / 8] |= (char)((value >> i & 1) << b->at % 8);
  }
}

/* A Huffman code: its highest bit first. */
static void put_code(bits *b, unsigned code, unsigned count) {
  while (count-- > 0) {
    put_bits(b, code >> count & 1, 1);
  }
}

enum { BLANK = 0x50, LONGEST = 0xc5, LONGEST_LEN = 258 };

void gzip_put_blanks(gzip *gz, size_t count, segq *to) {
  static const char blanks[] = "                                ";
  for (size_t left = count; left != 0;) {
    size_t len = left < sizeof blanks - 1 ? left : sizeof blanks - 1;
    gz->crc = update_crc(gz->crc, blanks, len);
    left -= len;
  }
  gz->size += (uint32_t)count;
  size_t single = count != 0 ? 1 + (count - 1) % LONGEST_LEN : 0;
  size_t most = (3 + single * 8 + count / LONGEST_LEN * 13 + 7 + 3) / 8 + 2;
  bits b = {blob_new(most), 0};
  memset(b.to->data, 0, most);
  put_bits(&b, 2, 3); // not the last one, fixed codes
  for (size_t i = 0; i < single; i++) {
    put_code(&b, BLANK, 8);
  }
  for (size_t i = 0; i < (count - single) / LONGEST_LEN; i++) {
    put_code(&b, LONGEST, 8);
    put_code(&b, 0, 5); // one byte back
  }
  put_code(&b, 0, 7); // the block's end
  put_bits(&b, 0, 3); // an empty stored one, which begins on the next byte
  segq_push(to, b.to, b.to->data, (b.at + 7) / 8);
  blob_unref(b.to);
  static const char EMPTY[] = "\0\0\xff\xff";
  segq_push(to, NULL, EMPTY, sizeof EMPTY - 1);
}

void gzip_end(const gzip *gz, segq *to) {
  char trailer[8];
  for (int i = 0; i < 4; i++) {
    trailer[i] = (char)(gz->crc >> (8 * i) & 255);
    trailer[4 + i] = (char)(gz->size >> (8 * i) & 255);
  }
  put_block_head(0, true, to);
  segq_push_copy(to, trailer, sizeof trailer);
}
