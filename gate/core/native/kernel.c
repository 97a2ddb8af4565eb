/*
 * The hot loops of signing in C: what numpy does in gate/core, bit for bit, for a batch of texts a call.
 *
 * The Python modules define every number here and are run where this library is not; tests compare the two.
 * C11 and nothing of Python: loaded with ctypes, so that the interpreter's lock is free during a call. No state and
 * no static buffers: any number of threads may call at once.
 *
 *   gate_fold               text.normalise          case, compatibility, invisible characters, white space
 *   gate_folded_lengths     text.folded_lengths     how long texts become
 *   gate_content_ids        text.content_ids        BLAKE2b of the UTF-8 of each text
 *   gate_tokens             tokenizers.token_hashes words, or their Soundex codes
 *   gate_token_windows      shingles.features       k-grams of tokens
 *   gate_character_windows  shingles.features       k-grams of characters
 *   gate_fingerprints       simhash.fingerprints    64 bits a document
 *   gate_signatures         minhash.signatures      one byte a bin, and the number of distinct features
 *
 * Texts lie back to back: text i is points[starts[i]] to points[starts[i + 1]], bytes of ASCII, or, where `wide`, code
 * points of 32 bits. Anything else that goes by document has the same shape.
 *
 *   tokens                                   fmix(h) = the finaliser of MurmurHash3
 *     plain    h = 0; for each 8 bytes c of the UTF-8, zeros behind the last:  h = fmix(h ^ c)
 *     keyed    t = 0; for each 7 bytes c, n of them:  t = t w + c + n 2^56  mod p,  p = 2^61 - 1
 *   features of k tokens t[0] .. t[k-1]
 *     plain    fmix(t[0] + Q t[1] + ... + Q^(k-1) t[k-1])  mod 2^64
 *     keyed    SipHash-1-3 of t[0] + g t[1] + ... + g^(k-1) t[k-1]  mod p
 *
 * No call reads or writes outside the arrays that it is given, whatever is in them: code points and places in a table
 * are checked before they are used. What a call cannot do itself it says, and Python does it:
 *   gate_fold marks texts that numpy has to fold (they hold what composes, or a code point not met before).
 * Below 0 a result is an error, and what was written then means nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "hashes are made of little-endian numbers"
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;
typedef unsigned __int128 u128;

#define EXPORT __attribute__((visibility("default")))
#define VERSION 1 /* of the calls: their arguments and what they mean */
#ifndef SOURCE_DIGEST
#define SOURCE_DIGEST ""
#endif

enum { NO_MEMORY = -1, OUT_OF_RANGE = -2, UNKNOWN_CLASS = -3 };

#define LAST_POINT 0x10FFFFu
#define BLOCK 64         /* points to look at together: a bit of a number each */
#define LONGEST_WORD 64  /* code points */
#define LONGEST_FOLD 6   /* code points that one can become */
#define MOST_BINS 1024
#define CODE_BYTES 4     /* of a Soundex code */

EXPORT int32_t gate_version(void) { return VERSION; }
EXPORT const char *gate_source_digest(void) { return SOURCE_DIGEST; }

static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }
static inline u64 rotl(u64 x, int bits) { return x << bits | x >> (64 - bits); }
static inline u32 load4(const u8 *p) { u32 v; memcpy(&v, p, 4); return v; }
static inline u64 load8(const u8 *p) { u64 v; memcpy(&v, p, 8); return v; }

static inline u64 fmix(u64 h)
{
    h ^= h >> 33;
    h *= 0xFF51AFD7ED558CCDull;
    h ^= h >> 33;
    h *= 0xC4CEB9FE1A85EC53ull;
    return h ^ h >> 33;
}

/* The code point in the UTF-8 at `out`, where four bytes are free: how many it takes. Branches only beyond 2^16. */
static inline i64 put_utf8(u8 *out, u32 p)
{
    u32 two = 0x80C0u | p >> 6 | (p & 63) << 8;
    u32 three = 0x8080E0u | p >> 12 | (p >> 6 & 63) << 8 | (p & 63) << 16;
    u32 bytes = p < 0x80 ? p : p < 0x800 ? two : three;
    i64 size = 1 + (p >= 0x80) + (p >= 0x800);
    if (p >= 0x10000) {
        bytes = 0x808080F0u | p >> 18 | (p >> 12 & 63) << 8 | (p >> 6 & 63) << 16 | (p & 63) << 24;
        size = 4;
    }
    memcpy(out, &bytes, 4);
    return size;
}

/* A block of bytes that are 0 or 1, as bits. */
static inline u64 bits_of(const u8 *flags)
{
    u64 bits = 0;
    for (int i = 0; i < BLOCK / 8; i++) bits |= (load8(flags + 8 * i) * 0x0102040810204080ull >> 56) << 8 * i;
    return bits;
}

/* ---- Folding ------------------------------------------------------------------------------------------------- */

/* An entry of the fold table, as text.py lays it out. */
#define FOLDED 0x1FFFFFu      /* what the code point becomes, or where in `expansions` that begins */
#define COMPOSES (1u << 29)   /* with what precedes it, perhaps */
#define EXPANDS (1u << 30)    /* into as many as bits 28 .. 21 say, none included */
#define UNSEEN (1u << 31)
#define CLASS(entry) ((entry) >> 21 & 0xFF) /* combining class, or the number of an expansion */

static inline u8 ascii_is_white(u8 c) { return (u8)(((u8)(c - 9) < 5) | ((u8)(c - 28) < 5)); } /* str.isspace */
static inline u8 ascii_is_dropped(u8 c) { return (u8)(((c < 32) | (c == 127)) & !ascii_is_white(c)); }

/* The normal form of ASCII: at most `size` bytes. */
static i64 fold_ascii(const u8 *in, i64 size, u8 *out)
{
    i64 n = 0;
    for (i64 at = 0; at < size; at += BLOCK) {
        i64 here = least(BLOCK, size - at);
        u8 block[2 * BLOCK], space[BLOCK + 1], doubled[BLOCK], any_dropped = 0, any_doubled = 0;
        memset(block, 'x', BLOCK);
        memcpy(block, in + at, (size_t)here);
        space[0] = n == 0 || out[n - 1] == ' ';
        for (int i = 0; i < BLOCK; i++) {
            u8 c = block[i], white = ascii_is_white(c), dropped = ascii_is_dropped(c);
            c |= (u8)(((u8)(c - 'A') < 26) << 5);
            space[i + 1] = white;
            block[i] = (u8)(white ? ' ' : dropped ? 0 : c);
            any_dropped |= dropped;
        }
        for (int i = 0; i < BLOCK; i++) any_doubled |= doubled[i] = space[i] & space[i + 1];
        if (any_dropped) {
            u8 last = space[0] ? ' ' : 'x';
            for (i64 i = 0; i < here; i++)
                if (block[i] && !(block[i] == ' ' && last == ' ')) out[n++] = last = block[i];
        } else if (any_doubled) { /* the pieces between the spaces that go, each moved by a whole block */
            u8 packed[2 * BLOCK];
            i64 from = 0, size_packed = 0;
            for (u64 gone = bits_of(doubled); gone; gone &= gone - 1) {
                i64 to = __builtin_ctzll(gone);
                memcpy(packed + size_packed, block + from, BLOCK);
                size_packed += to - from;
                from = to + 1;
            }
            memcpy(packed + size_packed, block + from, BLOCK);
            size_packed += here - from;
            memcpy(out + n, packed, (size_t)size_packed);
            n += size_packed;
        } else {
            memcpy(out + n, block, (size_t)here);
            n += here;
        }
    }
    return n && out[n - 1] == ' ' ? n - 1 : n;
}

typedef struct {
    const u32 *table, *expansions;
    i64 pool; /* how many code points `expansions` holds */
} Folding;

enum { LEFT = -100 }; /* a text that numpy has to fold */

/* The normal form of code points (four bytes each, anywhere in memory), LEFT, or OUT_OF_RANGE. */
static i64 fold_points(const Folding *folding, const u8 *in, i64 size, u32 *out, i64 room)
{
    i64 n = 0;
    u32 last = ' ', last_class = 0;
    for (i64 at = 0; at < size; at += BLOCK) {
        i64 here = least(BLOCK, size - at), m = n;
        u32 block[BLOCK], seen = 0, before = last;
        if (room - n < LONGEST_FOLD * BLOCK) return LEFT;
        for (i64 i = 0; i < here; i++) {
            u32 point = load4(in + 4 * (at + i));
            if (point > LAST_POINT) return OUT_OF_RANGE;
            u32 entry = folding->table[point];
            block[i] = entry;
            seen |= entry;
            out[m] = entry;
            m += !((entry == ' ') & (last == ' '));
            last = entry;
        }
        if (seen <= FOLDED) { /* each becomes one, and none is a mark */
            n = m;
            last_class = 0;
            continue;
        }
        last = before;
        for (i64 i = 0; i < here; i++) {
            u32 entry = block[i], count = 1;
            if (entry & UNSEEN) return LEFT;
            const u32 *part = 0;
            if (entry & EXPANDS) {
                count = CLASS(entry);
                if (count > LONGEST_FOLD || (i64)(entry & FOLDED) + count > folding->pool) return LEFT;
                part = folding->expansions + (entry & FOLDED);
            }
            for (u32 j = 0; j < count; j++) {
                if (part) {
                    if (part[j] > LAST_POINT) return OUT_OF_RANGE;
                    entry = folding->table[part[j]];
                }
                if (entry & (UNSEEN | EXPANDS | COMPOSES)) return LEFT;
                u32 class = CLASS(entry), point = entry & FOLDED;
                if (class && class < last_class) return LEFT; /* marks in the wrong order */
                last_class = class;
                if (point != ' ' || last != ' ') out[n++] = last = point;
            }
        }
    }
    return n && out[n - 1] == ' ' ? n - 1 : n;
}

/*
 * Fold texts i = raw[begins[i]] to raw[begins[i + 1]]: ASCII, or UTF-32 where widths[i] is 1. The normal forms go to
 * `out`, of 32 bits each if `wide`, which it must be if any of widths is; starts[i] says where. left[i] is 1 for a text
 * that is left to numpy, and takes no place. Returns how many are left. *most: a number no less than any code point.
 */
EXPORT i64 gate_fold(const u32 *table, const u32 *expansions, i64 pool, const u8 *raw, const i64 *begins,
                     const u8 *widths, i64 count, void *out, i64 room, i64 wide, i64 *starts, u8 *left, u32 *most)
{
    Folding folding = {table, expansions, pool};
    i64 n = 0, undone = 0;
    u32 all = 0;
    starts[0] = 0;
    for (i64 d = 0; d < count; d++) {
        const u8 *in = raw + begins[d];
        i64 size = begins[d + 1] - begins[d], length;
        left[d] = 0;
        if (wide && widths[d]) {
            u32 *to = (u32 *)out + n;
            length = fold_points(&folding, in, size / 4, to, room - n);
            if (length == OUT_OF_RANGE) return OUT_OF_RANGE;
            if (length == LEFT) {
                left[d] = 1;
                undone++;
                length = 0;
            }
            for (i64 i = 0; i < length; i++) all |= to[i];
        } else if (wide) { /* folded at the end of its own room, then widened from the front */
            u8 *bytes = (u8 *)((u32 *)out + n) + 3 * size;
            if (room - n < size) {
                left[d] = 1;
                undone++;
                length = 0;
            } else {
                length = fold_ascii(in, size, bytes);
                u32 *to = (u32 *)out + n;
                for (i64 i = 0; i < length; i++) to[i] = bytes[i];
            }
        } else {
            if (room - n < size) return NO_MEMORY;
            length = fold_ascii(in, size, (u8 *)out + n);
        }
        starts[d + 1] = n += length;
    }
    *most = all;
    return undone;
}

/* How many code points each text has with every one replaced by what it folds to; texts as gate_fold takes them. Returns
 * how many code points were not met before: the lengths are wrong then. */
EXPORT i64 gate_folded_lengths(const u32 *table, const u8 *raw, const i64 *begins, const u8 *widths, i64 count,
                               i64 *lengths)
{
    i64 unseen = 0;
    for (i64 d = 0; d < count; d++) {
        const u8 *in = raw + begins[d];
        i64 size = begins[d + 1] - begins[d];
        if (!widths[d]) {
            lengths[d] = size;
            for (i64 i = 0; i < size; i++) lengths[d] -= ascii_is_dropped(in[i]);
            continue;
        }
        i64 points = size / 4, growth = 0;
        for (i64 i = 0; i < points; i++) {
            u32 point = load4(in + 4 * i);
            if (point > LAST_POINT) return OUT_OF_RANGE;
            u32 entry = table[point];
            unseen += entry >> 31;
            growth += entry & EXPANDS ? (i64)CLASS(entry) - 1 : 0;
        }
        lengths[d] = points + growth;
    }
    return unseen;
}

/* ---- Content ids --------------------------------------------------------------------------------------------- */

/* BLAKE2b (RFC 7693) with a digest of 16 bytes and a key of at most 64. */
#define BLAKE_BLOCK 128
#define BLAKE_DIGEST 16

static const u64 BLAKE_IV[8] = {
    0x6A09E667F3BCC908ull, 0xBB67AE8584CAA73Bull, 0x3C6EF372FE94F82Bull, 0xA54FF53A5F1D36F1ull,
    0x510E527FADE682D1ull, 0x9B05688C2B3E6C1Full, 0x1F83D9ABFB41BD6Bull, 0x5BE0CD19137E2179ull,
};
static const u8 BLAKE_ORDER[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

typedef struct {
    u64 h[8], done; /* bytes hashed */
    u8 block[BLAKE_BLOCK + 8];
    i64 waiting; /* bytes in `block`; a full one waits too, since the last one is hashed in another way */
} Blake;

#define MIX(a, b, c, d, x, y)                                                                                          \
    do {                                                                                                               \
        a += b + (x); d = rotl(d ^ a, 32); c += d; b = rotl(b ^ c, 40);                                                \
        a += b + (y); d = rotl(d ^ a, 48); c += d; b = rotl(b ^ c, 1);                                                 \
    } while (0)

static void blake_compress(Blake *b, const u8 *block, int is_last)
{
    u64 m[16], v[16];
    for (int i = 0; i < 16; i++) m[i] = load8(block + 8 * i);
    for (int i = 0; i < 8; i++) {
        v[i] = b->h[i];
        v[i + 8] = BLAKE_IV[i];
    }
    v[12] ^= b->done;
    if (is_last) v[14] = ~v[14];
#pragma GCC unroll 12
    for (int r = 0; r < 12; r++) {
        const u8 *s = BLAKE_ORDER[r];
        MIX(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
        MIX(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
        MIX(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
        MIX(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
        MIX(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
        MIX(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
        MIX(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
        MIX(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++) b->h[i] ^= v[i] ^ v[i + 8];
}

static void blake_begin(Blake *b, const u8 *key, i64 key_size)
{
    memcpy(b->h, BLAKE_IV, sizeof b->h);
    b->h[0] ^= 0x01010000u ^ (u64)key_size << 8 ^ BLAKE_DIGEST;
    b->done = 0;
    b->waiting = 0;
    if (key_size) { /* the key, filled up with zeros, is the first block */
        memset(b->block, 0, BLAKE_BLOCK);
        memcpy(b->block, key, (size_t)key_size);
        b->waiting = BLAKE_BLOCK;
    }
}

static inline void blake_flush(Blake *b)
{
    b->done += BLAKE_BLOCK;
    blake_compress(b, b->block, 0);
    b->waiting = 0;
}

static void blake_bytes(Blake *b, const u8 *data, i64 size)
{
    while (size > 0) {
        if (b->waiting == BLAKE_BLOCK) blake_flush(b);
        while (b->waiting == 0 && size > BLAKE_BLOCK) {
            b->done += BLAKE_BLOCK;
            blake_compress(b, data, 0);
            data += BLAKE_BLOCK;
            size -= BLAKE_BLOCK;
        }
        i64 taken = least(size, BLAKE_BLOCK - b->waiting);
        memcpy(b->block + b->waiting, data, (size_t)taken);
        b->waiting += taken;
        data += taken;
        size -= taken;
    }
}

static void blake_end(Blake *b, u8 *out)
{
    memset(b->block + b->waiting, 0, (size_t)(BLAKE_BLOCK - b->waiting));
    b->done += (u64)b->waiting;
    blake_compress(b, b->block, 1);
    memcpy(out, b->h, BLAKE_DIGEST);
}

/* The content id of each text, 16 bytes. */
EXPORT i64 gate_content_ids(const void *points, i64 wide, const i64 *starts, i64 count, const u8 *key, i64 key_size,
                            u8 *out)
{
    for (i64 d = 0; d < count; d++, out += BLAKE_DIGEST) {
        Blake b;
        blake_begin(&b, key, key_size);
        i64 begin = starts[d], end = starts[d + 1];
        if (!wide) {
            blake_bytes(&b, (const u8 *)points + begin, end - begin);
        } else {
            u8 encoded[4 * BLOCK + 4];
            for (const u32 *p = (const u32 *)points + begin, *last = (const u32 *)points + end; p < last;) {
                i64 size = 0;
                for (const u32 *stop = p + least(BLOCK, last - p); p < stop; p++) {
                    if (*p > LAST_POINT) return OUT_OF_RANGE;
                    size += put_utf8(encoded + size, *p);
                }
                blake_bytes(&b, encoded, size);
            }
        }
        blake_end(&b, out);
    }
    return 0;
}

/* ---- Hashes -------------------------------------------------------------------------------------------------- */

#define PRIME ((1ull << 61) - 1)
#define Q 0x9E3779B97F4A7C13ull

typedef struct { u64 token_point, window_point, window_inverse, sip[2]; } Key;

/* a b + c mod p, of numbers below p */
static inline u64 times_plus(u64 a, u64 b, u64 c)
{
    u128 product = (u128)a * b;
    u64 sum = ((u64)product & PRIME) + (u64)(product >> 61) + c; /* below 3 p, which is below 2^63 */
    sum = (sum & PRIME) + (sum >> 61);
    return sum >= PRIME ? sum - PRIME : sum;
}

/* `size` bytes, 1 .. 8, as a number; eight can be read from p on. */
static inline u64 chunk(const u8 *p, i64 size) { return load8(p) & ~0ull >> (64 - 8 * size); }

/* The same of bytes that the array's end may follow. */
static inline u64 last_chunk(const u8 *p, i64 size, const u8 *end)
{
    if (end - p >= 8) return chunk(p, size);
    u64 value = 0;
    memcpy(&value, p, (size_t)size);
    return value;
}

static inline u64 plain_token(const u8 *p, i64 size, const u8 *end)
{
    u64 h = 0;
    for (; size > 8; p += 8, size -= 8) h = fmix(h ^ load8(p));
    return fmix(h ^ last_chunk(p, size, end));
}

/* The same of 1 .. 16 bytes, without a branch: most words have about eight, and a guess would often be wrong. Sixteen
 * bytes can be read from p on. */
static inline u64 short_token(const u8 *p, i64 size)
{
    i64 rest = size > 8 ? size - 8 : 0;
    u64 first = fmix(chunk(p, size - rest));
    u64 both = fmix(first ^ (load8(p + 8) & ~0ull >> ((64 - 8 * rest) & 63)));
    return rest ? both : first;
}

static u64 keyed_token(const u8 *p, i64 size, const u8 *end, const Key *key)
{
    u64 value = 0;
    for (; size > 0; p += 7, size -= 7) {
        i64 bytes = least(size, 7);
        value = times_plus(value, key->token_point, last_chunk(p, bytes, end) | (u64)bytes << 56);
    }
    return value;
}

static inline u64 hash_token(const u8 *p, i64 size, const u8 *end, const Key *key)
{
    return key ? keyed_token(p, size, end, key) : plain_token(p, size, end);
}

#define SIP_ROUND                                                                                                      \
    do {                                                                                                               \
        v0 += v1; v2 += v3; v1 = rotl(v1, 13); v3 = rotl(v3, 16); v1 ^= v0; v3 ^= v2; v0 = rotl(v0, 32);               \
        v2 += v1; v0 += v3; v1 = rotl(v1, 17); v3 = rotl(v3, 21); v1 ^= v2; v3 ^= v0; v2 = rotl(v2, 32);               \
    } while (0)

/* SipHash-1-3 of a number as eight bytes */
static inline u64 siphash(u64 value, const Key *key)
{
    u64 v0 = 0x736F6D6570736575ull ^ key->sip[0], v1 = 0x646F72616E646F6Dull ^ key->sip[1];
    u64 v2 = 0x6C7967656E657261ull ^ key->sip[0], v3 = 0x7465646279746573ull ^ key->sip[1];
    v3 ^= value;
    SIP_ROUND;
    v0 ^= value;
    v3 ^= 8ull << 56; /* the last block: the length of the message */
    SIP_ROUND;
    v0 ^= 8ull << 56;
    v2 ^= 0xFF;
    SIP_ROUND;
    SIP_ROUND;
    SIP_ROUND;
    return v0 ^ v1 ^ v2 ^ v3;
}

/* ---- Tokens -------------------------------------------------------------------------------------------------- */

/* Classes of code points, as tokenizers.py has them; 0 was not met before. */
enum { OTHER = 1, WORD = 2, MARK = 3, ALONE = 4 };

/* What a code point is to Soundex: a small letter of ASCII, or one of these. */
enum { UNKNOWN_LETTER = 0, IGNORED_LETTER = 1, NO_LETTER = 2 };

typedef struct {
    const u8 *bytes;   /* ASCII: all texts, and where they end */
    const u8 *end;
    const u32 *points; /* or code points */
    const u8 *letters; /* for Soundex, or null */
    const Key *key;    /* or null */
    u64 *tokens;
    i64 count;
} Tokenizing;

/* The Soundex code of a word as a number, or 0: it has other letters than those of ASCII. */
static u64 soundex(const Tokenizing *t, i64 begin, i64 end)
{
    static const char CODES[] = "01230120022455012623010202"; /* a .. z; vowels, h and w are 0 */
    char code[CODE_BYTES] = "0000", last = 0;
    int size = 0, letters = 0;
    for (i64 i = begin; i < end; i++) {
        u8 letter = t->letters[t->points ? t->points[i] : t->bytes[i]];
        if (letter == IGNORED_LETTER) continue;
        if (letter < 'a' || letter > 'z') return 0;
        letters++;
        char digit = CODES[letter - 'a'];
        if (size == 0) {
            code[size++] = (char)(letter - 'a' + 'A');
            last = digit;
        } else if (digit != '0') {
            if (digit != last && size < CODE_BYTES) code[size++] = digit;
            last = digit;
        } else if (letter != 'h' && letter != 'w') {
            last = '0';
        }
    }
    return letters ? load4((const u8 *)code) : 0;
}

/* The token of one word of at most LONGEST_WORD code points. */
static inline void put_token(Tokenizing *t, i64 begin, i64 end)
{
    if (t->letters) {
        u8 code[8] = {0};
        u64 value = soundex(t, begin, end);
        if (value) {
            memcpy(code, &value, CODE_BYTES);
            t->tokens[t->count++] = hash_token(code, CODE_BYTES, code + sizeof code, t->key);
            return;
        }
    }
    if (!t->points) {
        t->tokens[t->count++] = hash_token(t->bytes + begin, end - begin, t->end, t->key);
        return;
    }
    u8 word[4 * LONGEST_WORD + 16];
    i64 size = 0;
    for (i64 i = begin; i < end; i++) size += put_utf8(word + size, t->points[i]);
    memset(word + size, 0, 16);
    t->tokens[t->count++] =
        !t->key && size <= 16 ? short_token(word, size) : hash_token(word, size, word + sizeof word, t->key);
}

static inline void put_word(Tokenizing *t, i64 begin, i64 end)
{
    for (; end - begin > LONGEST_WORD; begin += LONGEST_WORD) put_token(t, begin, begin + LONGEST_WORD);
    put_token(t, begin, end);
}

/* The words whose ends are among 64 points; bit i of `inside`: point at + i is part of a word. *open: where the word
 * begins that is not at its end yet, or -1. */
static inline void put_words(Tokenizing *t, u64 inside, i64 at, i64 *open)
{
    u64 shifted = inside << 1 | (*open >= 0), begins = inside & ~shifted, ends = shifted & ~inside;
    for (; ends; ends &= ends - 1) {
        if (*open < 0) {
            *open = at + __builtin_ctzll(begins);
            begins &= begins - 1;
        }
        put_word(t, *open, at + __builtin_ctzll(ends));
        *open = -1;
    }
    if (begins) *open = at + __builtin_ctzll(begins);
}

static inline u64 ascii_word_bits(const u8 *text, i64 size)
{
    u8 block[BLOCK] = {0}, inside[BLOCK];
    memcpy(block, text, (size_t)size);
    for (int i = 0; i < BLOCK; i++) {
        u8 c = block[i];
        inside[i] = (u8)(((u8)(c - 'a') < 26) | ((u8)(c - '0') < 10) | (c == '_'));
    }
    return bits_of(inside);
}

static void ascii_tokens(Tokenizing *t, i64 begin, i64 end)
{
    i64 open = -1;
    for (i64 at = begin; at < end; at += BLOCK)
        put_words(t, ascii_word_bits(t->bytes + at, least(BLOCK, end - at)), at, &open);
    if (open >= 0) put_word(t, open, end);
}

/* The same of words alone, without a key: what most texts take. Words of up to 16 bytes are hashed without a branch. */
static void plain_ascii_tokens(Tokenizing *t, i64 begin, i64 end)
{
    const u8 *bytes = t->bytes, *safe = t->end - 16;
    u64 *out = t->tokens + t->count;
    i64 open = -1;
    for (i64 at = begin; at < end; at += BLOCK) {
        u64 inside = ascii_word_bits(bytes + at, least(BLOCK, end - at));
        u64 shifted = inside << 1 | (open >= 0), begins = inside & ~shifted, ends = shifted & ~inside;
        for (; ends; ends &= ends - 1) {
            if (open < 0) {
                open = at + __builtin_ctzll(begins);
                begins &= begins - 1;
            }
            const u8 *p = bytes + open;
            i64 size = at + __builtin_ctzll(ends) - open;
            if (size <= 16 && p <= safe) {
                *out++ = short_token(p, size);
            } else {
                for (; size > LONGEST_WORD; p += LONGEST_WORD, size -= LONGEST_WORD)
                    *out++ = plain_token(p, LONGEST_WORD, t->end);
                *out++ = plain_token(p, size, t->end);
            }
            open = -1;
        }
        if (begins) open = at + __builtin_ctzll(begins);
    }
    t->count = out - t->tokens;
    if (open >= 0) put_word(t, open, end);
}

static i64 point_tokens(Tokenizing *t, const u8 *classes, i64 begin, i64 end)
{
    i64 open = -1;
    int after_alone = 0; /* the open word is a letter that stands alone, with its marks */
    for (i64 at = begin; at < end; at += BLOCK) {
        i64 here = least(BLOCK, end - at);
        u8 class[BLOCK], inside[BLOCK] = {0}, seen = 0;
        for (i64 i = 0; i < here; i++) {
            u32 point = t->points[at + i];
            if (point > LAST_POINT) return OUT_OF_RANGE;
            class[i] = classes[point];
            if (t->letters && t->letters[point] == UNKNOWN_LETTER) return UNKNOWN_CLASS;
            inside[i] = class[i] > OTHER;
            seen |= (u8)(1u << (class[i] & 7));
        }
        if (seen & 1 || seen >= 1 << (ALONE + 1)) return UNKNOWN_CLASS;
        if (!(seen & 1 << ALONE) && !after_alone) {
            put_words(t, bits_of(inside), at, &open);
            continue;
        }
        /* A word ends before what is not in it, before a letter that stands alone, and before what follows such a
         * letter and its marks. */
        for (i64 i = 0; i < here; i++) {
            if (class[i] == OTHER || class[i] == ALONE || (after_alone && class[i] != MARK)) {
                if (open >= 0) put_word(t, open, at + i);
                open = class[i] == OTHER ? -1 : at + i;
                after_alone = class[i] == ALONE;
            } else if (open < 0) {
                open = at + i;
            }
        }
    }
    if (open >= 0) put_word(t, open, end);
    return 0;
}

/*
 * The tokens of each text: of words, or with `letters` (a letter for each code point) of their Soundex codes. `tokens`
 * has room for one of every code point, or of every second byte of ASCII. Returns how many there are; UNKNOWN_CLASS: a
 * code point that was not met before.
 */
EXPORT i64 gate_tokens(const u8 *classes, const u8 *letters, const Key *key, const void *points, i64 wide,
                       const i64 *starts, i64 count, u64 *tokens, i64 *token_starts)
{
    Tokenizing t = {.letters = letters, .key = key, .tokens = tokens};
    if (wide) {
        t.points = points;
    } else {
        t.bytes = points;
        t.end = t.bytes + starts[count];
    }
    token_starts[0] = 0;
    for (i64 d = 0; d < count; d++) {
        if (wide) {
            i64 error = point_tokens(&t, classes, starts[d], starts[d + 1]);
            if (error) return error;
        } else {
            if (letters || key) ascii_tokens(&t, starts[d], starts[d + 1]);
            else plain_ascii_tokens(&t, starts[d], starts[d + 1]);
        }
        token_starts[d + 1] = t.count;
    }
    return t.count;
}

/* ---- Windows ------------------------------------------------------------------------------------------------- */

/* A window's polynomial from that of the one before: less the first value, divided by the point, plus the new value
 * times the point's highest power. Q is odd and p is prime, so both have inverses. */

static u64 inverse_of_q(void)
{
    u64 x = Q; /* right in the lowest three bits; each step of Newton's doubles them */
    for (int i = 0; i < 5; i++) x *= 2 - Q * x;
    return x;
}

static void plain_windows(const u64 *t, i64 windows, i64 gram, u64 *out)
{
    if (gram == 3) {
        for (i64 i = 0; i < windows; i++) out[i] = fmix(t[i] + Q * t[i + 1] + Q * Q * t[i + 2]);
        return;
    }
    if (windows <= 0) return;
    u64 sum = 0, top = 1, inverse = inverse_of_q();
    for (i64 j = gram - 1; j >= 0; j--) sum = sum * Q + t[j];
    for (i64 j = 1; j < gram; j++) top *= Q;
    for (i64 i = 0;;) {
        out[i] = fmix(sum);
        if (++i == windows) return;
        sum = (sum - t[i - 1]) * inverse + top * t[i + gram - 1];
    }
}

/* Of numbers below p, given as 8, 32 or 64 bits each. */
#define KEYED_WINDOWS(NAME, TYPE)                                                                                      \
    static void NAME(const TYPE *t, i64 windows, i64 gram, const Key *key, u64 *out)                                   \
    {                                                                                                                  \
        if (windows <= 0) return;                                                                                      \
        u64 sum = 0, top = 1, g = key->window_point;                                                                   \
        for (i64 j = gram - 1; j >= 0; j--) sum = times_plus(sum, g, t[j]);                                            \
        for (i64 j = 1; j < gram; j++) top = times_plus(top, g, 0);                                                    \
        for (i64 i = 0;;) {                                                                                            \
            out[i] = siphash(sum, key);                                                                                \
            if (++i == windows) return;                                                                                \
            u64 rest = sum >= t[i - 1] ? sum - t[i - 1] : sum + PRIME - t[i - 1];                                      \
            sum = times_plus(top, t[i + gram - 1], times_plus(rest, key->window_inverse, 0));                          \
            if (!g) sum = t[i]; /* no inverse: only the first value counts */                                          \
        }                                                                                                              \
    }
KEYED_WINDOWS(keyed_byte_windows, u8)
KEYED_WINDOWS(keyed_point_windows, u32)
KEYED_WINDOWS(keyed_token_windows, u64)

static inline i64 windows_of(i64 size, i64 gram) { return size >= gram ? size - gram + 1 : 0; }

/* The features of each text by its tokens. `out` has room for as many as there are tokens. Returns how many. */
EXPORT i64 gate_token_windows(const Key *key, const u64 *tokens, const i64 *starts, i64 count, i64 gram, u64 *out,
                              i64 *bounds)
{
    bounds[0] = 0;
    for (i64 d = 0; d < count; d++) {
        i64 windows = windows_of(starts[d + 1] - starts[d], gram);
        if (key) keyed_token_windows(tokens + starts[d], windows, gram, key, out + bounds[d]);
        else plain_windows(tokens + starts[d], windows, gram, out + bounds[d]);
        bounds[d + 1] = bounds[d] + windows;
    }
    return bounds[count];
}

#define STRETCH 1024 /* windows to hash from one buffer of UTF-8 */
#define MOST_GRAM 64

/* Features without a key of the windows that begin in a stretch; `points` or `bytes`. */
static i64 character_stretch(const u8 *bytes, const u32 *points, i64 windows, i64 gram, u64 *out)
{
    u8 text[4 * (STRETCH + MOST_GRAM) + 8];
    i64 size = windows + gram - 1;
    if (bytes) {
        memcpy(text, bytes, (size_t)size);
        memset(text + size, 0, 8);
        if (gram <= 8) for (i64 i = 0; i < windows; i++) out[i] = fmix(chunk(text + i, gram));
        else for (i64 i = 0; i < windows; i++) out[i] = plain_token(text + i, gram, text + sizeof text);
        return 0;
    }
    u16 offsets[STRETCH + MOST_GRAM];
    i64 end = 0;
    for (i64 i = 0; i < size; i++) {
        if (points[i] > LAST_POINT) return OUT_OF_RANGE;
        offsets[i] = (u16)end;
        end += put_utf8(text + end, points[i]);
    }
    offsets[size] = (u16)end;
    memset(text + end, 0, 8);
    for (i64 i = 0; i < windows; i++)
        out[i] = plain_token(text + offsets[i], offsets[i + gram] - offsets[i], text + sizeof text);
    return 0;
}

/* The features of each text by its characters, at most MOST_GRAM together. `out` has room for as many as there are
 * code points. Returns how many. */
EXPORT i64 gate_character_windows(const Key *key, const void *points, i64 wide, const i64 *starts, i64 count, i64 gram,
                                  u64 *out, i64 *bounds)
{
    if (gram < 1 || gram > MOST_GRAM) return OUT_OF_RANGE;
    bounds[0] = 0;
    for (i64 d = 0; d < count; d++) {
        const u8 *bytes = wide ? 0 : (const u8 *)points + starts[d];
        const u32 *wides = wide ? (const u32 *)points + starts[d] : 0;
        i64 size = starts[d + 1] - starts[d], windows = windows_of(size, gram);
        u64 *to = out + bounds[d];
        bounds[d + 1] = bounds[d] + windows;
        if (key) {
            for (i64 i = 0; wide && i < size; i++)
                if (wides[i] > LAST_POINT) return OUT_OF_RANGE;
            if (wide) keyed_point_windows(wides, windows, gram, key, to);
            else keyed_byte_windows(bytes, windows, gram, key, to);
            continue;
        }
        for (i64 at = 0; at < windows; at += STRETCH) {
            i64 here = least(STRETCH, windows - at);
            i64 error = character_stretch(wide ? 0 : bytes + at, wide ? wides + at : 0, here, gram, to + at);
            if (error) return error;
        }
    }
    return bounds[count];
}

/* ---- Distinct features --------------------------------------------------------------------------------------- */

/* Of random hashes one in a million is left after so many rounds; hashes that were made to collide are sorted. */
#define ROUNDS 6

typedef struct { u64 hash; u32 place; } Placed;

typedef struct {
    u32 *cells;    /* a power of two, at least twice the features */
    i64 size;      /* how many there are */
    u32 *left;     /* places of features that another one displaced */
    u32 *distinct; /* places of the features, one of each */
    u32 *times;    /* how often a feature occurs besides, at the place that stands for it */
} Scratch;

static i64 scratch_of(const i64 *starts, i64 count, Scratch *s)
{
    i64 most = 0;
    for (i64 d = 0; d < count; d++) most = starts[d + 1] - starts[d] > most ? starts[d + 1] - starts[d] : most;
    int bits = 6;
    while ((1ll << bits) < (most < 4096 ? 4 : 2) * most) bits++; /* more cells make fewer rounds, while they fit a cache */
    memset(s, 0, sizeof *s);
    if (most > INT32_MAX / 2) return NO_MEMORY;
    u32 *block = malloc(((1ull << bits) + 3 * (u64)most + 1) * sizeof *block);
    if (!block) return NO_MEMORY;
    s->cells = block;
    s->size = 1ll << bits;
    s->left = block + (1ull << bits);
    s->distinct = s->left + most;
    s->times = s->distinct + most;
    return 0;
}

static int by_hash(const void *a, const void *b)
{
    u64 x = ((const Placed *)a)->hash, y = ((const Placed *)b)->hash;
    return (x > y) - (x < y);
}

/*
 * Find the distinct ones of n hashes: s->distinct gets a place of each, and with `counted` s->times[place] how often it
 * occurs besides. Returns how many. In each round all are written to cells by their upper bits; what is found in a cell
 * stands for its equals, and those that are not equal go through the next round, their bits mixed.
 */
static i64 find_distinct(const u64 *h, i64 n, Scratch *s, int counted)
{
    i64 found = 0, left = 0;
    u64 mix = 1;
    int shift = 64 - 6;
    while ((1ll << (64 - shift)) < 4 * n && (1ll << (64 - shift)) < s->size) shift--;
    if (counted) memset(s->times, 0, (size_t)n * sizeof *s->times);
    for (i64 i = 0; i < n; i++) s->cells[h[i] >> shift] = (u32)i;
    for (i64 i = 0; i < n; i++) {
        u32 keeper = s->cells[h[i] >> shift];
        int equal = h[keeper] == h[i], own = keeper == (u32)i;
        s->distinct[found] = (u32)i;
        found += own;
        s->left[left] = (u32)i;
        left += !equal;
        if (counted) s->times[keeper] += (u32)(equal & !own);
    }
    for (int round = 1; left && round < ROUNDS; round++) {
        i64 still = 0;
        mix *= 0x9E3779B97F4A7C15ull;
        for (i64 j = 0; j < left; j++) s->cells[h[s->left[j]] * mix >> shift] = s->left[j];
        for (i64 j = 0; j < left; j++) {
            u32 i = s->left[j], keeper = s->cells[h[i] * mix >> shift];
            if (keeper == i) s->distinct[found++] = i;
            else if (h[keeper] != h[i]) s->left[still++] = i;
            else if (counted) s->times[keeper]++;
        }
        left = still;
    }
    if (!left) return found;
    Placed *placed = malloc((size_t)left * sizeof *placed);
    if (!placed) return NO_MEMORY;
    for (i64 j = 0; j < left; j++) placed[j] = (Placed){h[s->left[j]], s->left[j]};
    qsort(placed, (size_t)left, sizeof *placed, by_hash);
    for (i64 j = 0; j < left; j++) {
        if (!j || placed[j].hash != placed[j - 1].hash) s->distinct[found++] = placed[j].place;
        else if (counted) s->times[s->distinct[found - 1]]++;
    }
    free(placed);
    return found;
}

/* ---- SimHash ------------------------------------------------------------------------------------------------- */

enum { BY_COUNT = 0, BY_LOG = 1, BY_SET = 2 };

/* 64 counters, bit-sliced: bit b of plane[i] is bit i of the count of features with bit b set. */
#define PLANES 40

typedef struct {
    u64 plane[PLANES], total, waiting[16];
    int waits;
} Counters;

/* A full adder of 64 columns: the sum of three bits. */
#define ADD(carry, sum, a, b, c)                                                                                       \
    do {                                                                                                               \
        u64 a_ = (a), b_ = (b), c_ = (c), ab = a_ ^ b_;                                                                \
        carry = (a_ & b_) | (ab & c_);                                                                                 \
        sum = ab ^ c_;                                                                                                 \
    } while (0)

static inline void add_sixteen(Counters *c, const u64 *h)
{
    u64 ones = c->plane[0], twos = c->plane[1], fours = c->plane[2], eights = c->plane[3];
    u64 two_a, two_b, four_a, four_b, eight_a, eight_b, carry;
    ADD(two_a, ones, ones, h[0], h[1]);
    ADD(two_b, ones, ones, h[2], h[3]);
    ADD(four_a, twos, twos, two_a, two_b);
    ADD(two_a, ones, ones, h[4], h[5]);
    ADD(two_b, ones, ones, h[6], h[7]);
    ADD(four_b, twos, twos, two_a, two_b);
    ADD(eight_a, fours, fours, four_a, four_b);
    ADD(two_a, ones, ones, h[8], h[9]);
    ADD(two_b, ones, ones, h[10], h[11]);
    ADD(four_a, twos, twos, two_a, two_b);
    ADD(two_a, ones, ones, h[12], h[13]);
    ADD(two_b, ones, ones, h[14], h[15]);
    ADD(four_b, twos, twos, two_a, two_b);
    ADD(eight_b, fours, fours, four_a, four_b);
    ADD(carry, eights, eights, eight_a, eight_b);
    c->plane[0] = ones;
    c->plane[1] = twos;
    c->plane[2] = fours;
    c->plane[3] = eights;
    for (int i = 4; carry; i++) {
        u64 next = c->plane[i] & carry;
        c->plane[i] ^= carry;
        carry = next;
    }
    c->total += 16;
}

static inline void add_feature(Counters *c, u64 hash)
{
    c->waiting[c->waits++] = hash;
    if (c->waits == 16) {
        add_sixteen(c, c->waiting);
        c->waits = 0;
    }
}

/* The bits that more than half of the features have. */
static u64 majority(Counters *c)
{
    if (c->waits) { /* filled up with zeros, which count nowhere but in the total */
        u64 total = c->total + (u64)c->waits;
        memset(c->waiting + c->waits, 0, (size_t)(16 - c->waits) * sizeof *c->waiting);
        add_sixteen(c, c->waiting);
        c->total = total;
    }
    u64 half = c->total / 2, greater = 0, equal = ~0ull;
    for (int i = PLANES - 1; i >= 0; i--) {
        u64 limit = half >> i & 1 ? ~0ull : 0;
        greater |= equal & c->plane[i] & ~limit;
        equal &= ~(c->plane[i] ^ limit);
    }
    return greater;
}

/* The fingerprint of each document. */
EXPORT i64 gate_fingerprints(const u64 *hashes, const i64 *starts, i64 count, i64 weights, u64 *out)
{
    Scratch s = {0};
    if (weights != BY_COUNT && scratch_of(starts, count, &s)) return NO_MEMORY;
    for (i64 d = 0; d < count; d++) {
        const u64 *h = hashes + starts[d];
        i64 n = starts[d + 1] - starts[d], i = 0;
        Counters c;
        memset(&c, 0, sizeof c);
        if (weights == BY_COUNT) {
            for (; i + 16 <= n; i += 16) add_sixteen(&c, h + i);
            for (; i < n; i++) add_feature(&c, h[i]);
        } else {
            i64 distinct = find_distinct(h, n, &s, weights == BY_LOG);
            if (distinct < 0) {
                free(s.cells);
                return distinct;
            }
            for (; i < distinct; i++) {
                u64 hash = h[s.distinct[i]];
                if (weights == BY_SET) add_feature(&c, hash);
                else for (u32 times = s.times[s.distinct[i]] + 1; times; times >>= 1) add_feature(&c, hash);
            }
        }
        out[d] = majority(&c);
    }
    free(s.cells);
    return 0;
}

/* ---- MinHash ------------------------------------------------------------------------------------------------- */

/* The least hash of each bin; an empty one takes that of the first that is not, in its own order of `lenders`. */
static void signature_of(const u64 *h, i64 n, i64 bins, const u16 *lenders, u8 *out)
{
    u64 minima[MOST_BINS];
    u8 empty[MOST_BINS];
    int has_greatest = 0; /* a feature whose hash is that of an empty bin */
    for (i64 b = 0; b < bins; b++) minima[b] = ~0ull;
    for (i64 i = 0; i < n; i++) {
        u64 bin = (h[i] >> 32) * (u64)bins >> 32, so_far = minima[bin];
        minima[bin] = h[i] < so_far ? h[i] : so_far;
    }
    for (i64 i = 0; minima[bins - 1] == ~0ull && i < n; i++) has_greatest |= h[i] == ~0ull;
    for (i64 b = 0; b < bins; b++) empty[b] = minima[b] == ~0ull;
    if (has_greatest) empty[bins - 1] = 0;
    for (i64 b = 0; b < bins; b++) {
        i64 lender = b;
        for (const u16 *order = lenders + b * bins; empty[lender]; order++) lender = *order;
        out[b] = (u8)(fmix(minima[lender]) >> 56);
    }
}

/* The signature of each document, `bins` bytes, and its number of distinct features. lenders[b]: all bins, in the
 * order in which bin b turns to them. */
EXPORT i64 gate_signatures(const u64 *hashes, const i64 *starts, i64 count, i64 bins, const u16 *lenders, u8 *out,
                           u32 *sizes)
{
    Scratch s;
    if (bins < 1 || bins > MOST_BINS) return OUT_OF_RANGE;
    if (scratch_of(starts, count, &s)) return NO_MEMORY;
    for (i64 d = 0; d < count; d++, out += bins) {
        const u64 *h = hashes + starts[d];
        i64 n = starts[d + 1] - starts[d], distinct = find_distinct(h, n, &s, 0);
        if (distinct < 0) {
            free(s.cells);
            return distinct;
        }
        sizes[d] = (u32)distinct;
        if (n) signature_of(h, n, bins, lenders, out);
        else memset(out, 0, (size_t)bins);
    }
    free(s.cells);
    return 0;
}
